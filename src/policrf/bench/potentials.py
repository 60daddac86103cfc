"""`policrf bench potentials`: solvers on potentials that none of them knows from inside.

Families × sizes × seeds × rows × budgets, one solve after the other in one process. A budget is
`seconds=` of a solve, in milliseconds for 144 nodes, and grows with the number of nodes. The gap is
(energy − lowest) / |lowest|, where the lowest energy is that of any row at any budget, or of the
reference rows, which get a longer one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policrf.bench.result_log import Result, ResultLog
from policrf.bench.rows import POTENTIALS
from policrf.crf.model import CRF
from policrf.errors import InvalidOption, TooLarge, UnknownName, UnsupportedPotential
from policrf.scenes import FAMILIES, make_family
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec

UNIT = 144  # nodes that a budget is meant for
WHOLE_CORE = 0.9  # share of CPU time in wall time from which on a solve was not disturbed


@dataclass(frozen=True)
class PotentialGrid:
    """Solvers on families of hard potentials, at several budgets; resumes after a kill."""

    families: tuple[str, ...] = tuple(FAMILIES)
    """Families of potentials."""
    sizes: tuple[int, ...] = (64, 250, 1000)
    """Numbers of nodes."""
    labels: int = 6
    """Number of labels."""
    seeds: int = 3
    """CRFs for each family and size."""
    budgets: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
    """Milliseconds of a solve for 144 nodes; N nodes get N / 144 times as many."""
    solvers: tuple[str, ...] = POTENTIALS
    """Rows: solvers and policies, with options as NAME:option=value,…"""
    references: tuple[str, ...] = ("annealing", "untrained:refine=true")
    """Solvers of the long runs that gaps are measured from; rows are taken into account too."""
    reference_budget: float = 3000.0
    """Milliseconds of those runs for 144 nodes; 0 for none."""
    tries: int = 3
    """A solve that had less than 90 % of a core is measured again, this often in all."""


def run_potentials(
    grid: PotentialGrid, folder: Path, progress: Callable[[Result], None]
) -> list[Result]:
    """All results of the grid; those already in `folder` are not measured again.

    Parameters
    ----------
    grid
        What to measure.
    folder
        Where results.jsonl is kept.
    progress
        Called with every new result.
    """
    _check(grid)
    log = ResultLog(folder, {"labels": grid.labels})
    missing = log.missing(_tasks(grid), _key)
    _warm_up(grid, missing)
    instance: tuple[Any, ...] = ()
    for task in missing:
        if _key(task)[:3] != instance:
            instance = _key(task)[:3]
            crf = make_family(task["family"], task["n"], grid.labels, seed=1000 + task["seed"])
        result = task | _undisturbed(crf, task, grid.tries)
        log.append(result)
        progress(result)
    wanted = {_key(task) for task in _tasks(grid)}
    return [result for result in log.results if _key(result) in wanted]


def missing_tasks(grid: PotentialGrid, folder: Path) -> int:
    """How many solves are left to do."""
    _check(grid)
    return len(ResultLog(folder, {"labels": grid.labels}).missing(_tasks(grid), _key))


def _check(grid: PotentialGrid) -> None:
    for row in (*grid.solvers, *grid.references):
        SolverSpec.parse(row)
    for family in grid.families:
        if family not in FAMILIES:
            raise UnknownName(
                f"no family of potentials is called {family!r}; there are {', '.join(FAMILIES)}"
            )
    if grid.tries < 1:
        raise InvalidOption(f"tries must be 1 or more, not {grid.tries}")
    if not grid.budgets or min(grid.budgets) <= 0 or grid.reference_budget < 0:
        raise InvalidOption("budgets are milliseconds above 0; give one or more")


def _tasks(grid: PotentialGrid) -> Iterator[Result]:
    """What there is to solve; an instance's tasks follow each other."""
    cells = [(row, budget) for row in dict.fromkeys(grid.solvers) for budget in grid.budgets]
    if grid.reference_budget > 0:
        cells += [(row, grid.reference_budget) for row in grid.references]
    for n_nodes in grid.sizes:
        for family in grid.families:
            for seed in range(grid.seeds):
                for row, budget in dict.fromkeys(cells):
                    yield {
                        "family": family, "n": n_nodes, "seed": seed, "row": row, "budget": budget,
                    }  # fmt: skip


def _key(task: Result) -> tuple[Any, ...]:
    return task["family"], task["n"], task["seed"], task["row"], float(task["budget"])


def _undisturbed(crf: CRF, task: Result, tries: int) -> Result:
    """The try that had most of a core: a budget is wall time, and others may use the machine."""
    best = measure(crf, task["row"], task["budget"])
    for _ in range(tries - 1):
        if "refused" in best or cpu_share(best) >= WHOLE_CORE:
            break
        again = measure(crf, task["row"], task["budget"])
        best = max(best, again, key=cpu_share)
    return best


def cpu_share(result: Result) -> float:
    """CPU time of a solve / its wall time."""
    return float(result["cpu_seconds"] / max(result["wall_seconds"], 1e-9))


def measure(crf: CRF, row: str, budget: float | None) -> Result:
    """One solve: energy, calls of the function, wall and CPU seconds; or why it was refused.

    Parameters
    ----------
    crf
        The problem.
    row
        The solver, as a text.
    budget
        Milliseconds for 144 nodes; None: no limit.
    """
    spec = SolverSpec.parse(row)
    solver = spec.solver  # a policy's file is read here: no part of the solver's time
    seconds = None if budget is None else budget / 1000 * crf.n_nodes / UNIT
    start, wall = time.thread_time(), time.perf_counter()
    try:
        solution = solve(crf, solver, seconds=seconds, **spec.options)
    except (UnsupportedPotential, TooLarge) as refusal:
        return {"refused": str(refusal)}
    return {
        "energy": solution.energy,
        "calls": solution.calls,
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": time.thread_time() - start,
    }


def _warm_up(grid: PotentialGrid, missing: Iterable[Result]) -> None:
    """Load every kernel before anything is timed; without a limit, so that none is left out."""
    for row, family in dict.fromkeys((task["row"], task["family"]) for task in missing):
        measure(make_family(family, 16, grid.labels), row, None)


def lowest_energies(results: Iterable[Result]) -> dict[tuple[Any, ...], float]:
    """The lowest energy found for each (family, size, seed)."""
    lowest: dict[tuple[Any, ...], float] = {}
    for result in results:
        if "energy" in result:
            key = _key(result)[:3]
            lowest[key] = min(lowest.get(key, np.inf), result["energy"])
    return lowest
