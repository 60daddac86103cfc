"""`policrf bench solvers`: every solver on the same synthetic scenes, held against proven optima.

All solves run one after the other in one process, so that times are comparable; on a Ray cluster
every solve has a core of its own, and times are those of its nodes. Each result is
appended to `results.jsonl` as it comes; a run that was killed goes on where it stopped. The gap of
a labeling is (energy − reference) / |reference|, where the reference is the proven optimum, or,
where `exact` ran out of its budget, the lowest energy that any solver found (marked "≥": the true
gap may be larger by as much as the reference is above the bound).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policrf.bench.peers import PEERS, available_peers
from policrf.bench.result_log import Result, ResultLog
from policrf.bench.rows import GRID
from policrf.crf.instance import Instance
from policrf.crf.io.json_text import as_json
from policrf.crf.io.outputs import claimed
from policrf.errors import UnsupportedPotential
from policrf.evaluation.tables import Table
from policrf.execution.executor import Executor, each
from policrf.execution.processes import Processes
from policrf.scenes import make_scene
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec

ENERGIES = ("u+p", "u+p+hop1", "u+p+hop1+hop2")


@dataclass(frozen=True)
class SolverGrid:
    """Every solver on synthetic scenes, with gaps to proven optima; resumes after a kill."""

    regimes: tuple[str, ...] = ("A", "B")
    """Presets of the scenes."""
    sizes: tuple[int, ...] = (50, 250, 500, 1000, 2000, 10_000)
    """Numbers of nodes."""
    energies: tuple[str, ...] = ENERGIES
    """Which terms."""
    seeds: int = 3
    """Scenes for each cell."""
    seconds: float = 60.0
    """Budget of each solve."""
    exact_seconds: float = 60.0
    """Budget of the exact solver."""
    exact_up_to: int = 2000
    """Largest scene that the exact solver is tried on."""
    solvers: tuple[str, ...] = GRID
    """Solvers and policies (names or files), with options as NAME:option=value,…"""
    peers: bool = True
    """Also measure gco-wrapper and PyMaxflow where they are installed (U+P only)."""


def run_grid(
    grid: SolverGrid, folder: Path, progress: Callable[[Result], None],
    executor: Executor | None = None,
) -> list[Result]:  # fmt: skip
    """All results of the grid; those already in `folder` are not measured again."""
    for row in grid.solvers:
        SolverSpec.parse(row)
    with claimed(folder):
        return _fill(grid, folder, progress, executor or Processes())


def _fill(
    grid: SolverGrid, folder: Path, progress: Callable[[Result], None], executor: Executor
) -> list[Result]:
    log = ResultLog(folder, {key: as_json(grid)[key] for key in ("seconds", "exact_seconds")})
    tasks = log.missing(_tasks(grid), _key)
    for result in each(_solve_task, grid, tasks, executor):
        log.append(result)
        progress(result)
    return log.results


def count_tasks(grid: SolverGrid) -> int:
    """How many solves the grid has."""
    return sum(1 for _ in _tasks(grid))


def _tasks(grid: SolverGrid) -> Iterator[Result]:
    peers = available_peers() if grid.peers else []
    for n_nodes in grid.sizes:
        for regime in grid.regimes:
            for energy in grid.energies:
                for seed in range(grid.seeds):
                    for row in (*grid.solvers, *peers):
                        if row.startswith("exact") and n_nodes > grid.exact_up_to:
                            continue
                        if row in PEERS and energy != "u+p":
                            continue
                        if "hop2=" in row and "hop2" not in energy:
                            continue
                        yield {
                            "n": n_nodes,
                            "regime": regime,
                            "energy": energy,
                            "seed": seed,
                            "row": row,
                        }


def _key(task: Result) -> tuple[Any, ...]:
    return task["n"], task["regime"], task["energy"], task["seed"], task["row"]


def _scene(task: Result) -> Instance:
    return make_scene(
        task["n"], task["regime"], seed=1000 + task["seed"], potentials=task["energy"]
    )


def _solve_task(grid: SolverGrid, task: Result, cache: dict[str, Any]) -> Result:
    """One solve; before the first of its kind in a process every kernel is compiled or loaded."""
    kind = f"{task['row']} {task['energy']}"
    if kind not in cache:
        _measure(make_scene(40, "A", seed=0, potentials=task["energy"]), task["row"], grid)
        cache[kind] = True
    return task | _measure(_scene(task), task["row"], grid)


def _measure(scene: Instance, row: str, grid: SolverGrid) -> Result:
    truth = scene.true_labels
    known = truth >= 0
    if row in PEERS:
        labels, seconds = PEERS[row](scene.crf)
        bound, optimal, value = -np.inf, False, scene.crf.energy(labels)
    else:
        spec = SolverSpec.parse(row)
        budget = grid.exact_seconds if spec.name == "exact" else grid.seconds
        try:
            solution = solve(scene, spec, seconds=budget, go_on=False)
        except UnsupportedPotential as refusal:
            return {"refused": str(refusal)}
        labels, seconds, value = solution.labels, solution.seconds, solution.energy
        bound, optimal = solution.lower_bound, solution.optimal
    return {
        "value": value,
        "bound": bound if np.isfinite(bound) else None,
        "optimal": bool(optimal),
        "seconds": seconds,
        "accuracy": float((labels == truth)[known].mean()),
    }


def references(results: Iterable[Result]) -> dict[tuple[Any, ...], tuple[float, bool]]:
    """For each scene and energy: the proven optimum, or the lowest energy found (and False)."""
    lowest: dict[tuple[Any, ...], tuple[float, bool]] = {}
    for result in results:
        if "value" not in result:
            continue
        key = _key(result)[:4]
        value, proven = lowest.get(key, (np.inf, False))
        lowest[key] = min(value, result["value"]), proven or result["optimal"]
    return lowest


def tabulate(results: list[Result], grid: SolverGrid) -> list[Table]:
    """One table an energy: mean gap, accuracy and seconds for each regime and size."""
    found = references(results)
    tables = []
    for energy in grid.energies:
        groups = [(regime, n) for regime in grid.regimes for n in grid.sizes]
        rows = []
        names = list(dict.fromkeys(r["row"] for r in results))
        for name in names:
            cells: list[Any] = [name]
            for regime, n in groups:
                mine = [
                    r for r in results
                    if (r["n"], r["regime"], r["energy"], r["row"]) == (n, regime, energy, name)
                    and "value" in r
                ]  # fmt: skip
                cells.append(_cell(mine, found))
            if any(cells[1:]):
                rows.append(tuple(cells))
        columns = ("solver", *(f"{regime} {n:,}" for regime, n in groups))
        note = (
            "mean gap in % to the proven optimum (≥: to the best energy found, if none is proven) "
            "/ accuracy in % / seconds, over the seeds"
        )
        tables.append(Table(energy.upper(), columns, tuple(rows), note))
    return tables


def _cell(mine: list[Result], found: dict[tuple[Any, ...], tuple[float, bool]]) -> str | None:
    if not mine:
        return None
    gaps, proven = [], True
    for result in mine:
        reference, known = found[_key(result)[:4]]
        gaps.append(100 * (result["value"] - reference) / max(abs(reference), 1e-12))
        proven &= known
    accuracy = 100 * float(np.mean([r["accuracy"] for r in mine]))
    seconds = float(np.mean([r["seconds"] for r in mine]))
    sign = "" if proven else "≥"
    return f"{sign}{np.mean(gaps):.2f} / {accuracy:.1f} / {seconds:.2g}"
