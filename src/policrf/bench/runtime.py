"""Seconds to label an instance, by solver, size and energy: the paper's Table 4 ("Runtime").

Everything runs in one process on one thread, each cell best of several, and all cells of a size one
after the other, so that they are comparable. The policies are untrained: their time depends on the
sizes of the network, not on its numbers (K = 3, p = 32, L = 21, F = 85, the paper's appendix A).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from policrf.bench.peers import PEERS, available_peers
from policrf.bench.reproduce.published import SIZES, TABLE_4
from policrf.crf.instance import Instance
from policrf.errors import UnsupportedPotential
from policrf.evaluation.tables import Table
from policrf.policy.engine import label_many
from policrf.policy.policy import Policy
from policrf.scenes import make_scene
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec

ENERGIES = ("u+p", "u+p+hop1", "u+p+hop1+hop2")

# Solvers and policies, as in every command. The policies are untrained: time does not depend on it.
ROWS = (
    "untrained:kind=paper",
    "untrained",
    "untrained:refine=true",
    "alpha_expansion:hop2=ignore",
    "alpha_expansion",
    "belief_propagation",
    "tree_reweighted:schedule=parallel",
    "dual_decomposition",
    "lazy_flipper",
    "icm",
    "highest_confidence_first",
)


@dataclass(frozen=True)
class Runtime:
    """Seconds to label an instance: the paper's Table 4, its figures beside ours."""

    sizes: tuple[int, ...] = SIZES
    """Numbers of nodes."""
    energies: tuple[str, ...] = ENERGIES
    """Which terms."""
    preset: str = "B"
    """Synthetic scenes: "A" (easy) or "B" (hard)."""
    solvers: tuple[str, ...] = ROWS
    """Solvers and policies (names or files), with options as NAME:option=value,…"""
    repeats: int = 5
    """Runs of a cell, of which the best counts; fewer once it has taken --patience seconds."""
    patience: float = 3.0
    """Seconds after which a cell is not repeated again."""
    seconds: float = 120.0
    """Budget of a single solve."""
    peers: bool = True
    """Also gco-wrapper on U+P, if it is installed."""
    seed: int = 0
    """Seed of the scenes and of the solvers."""


Result = dict[str, Any]
Progress = Callable[[Result], None]


def measure(config: Runtime, progress: Progress | None = None) -> list[Result]:
    """One result a cell: n, terms, row, seconds, energy (None if the solver refuses the terms)."""
    for row in config.solvers:
        SolverSpec.parse(row)
    results = []
    warmed: set[tuple[str, str]] = set()
    for n_nodes in config.sizes:
        for terms in config.energies:
            scene = make_scene(n_nodes, config.preset, seed=config.seed, potentials=terms)
            for row, run in _runners(config, scene):
                if (row, terms) not in warmed:
                    warmed.add((row, terms))
                    small = make_scene(50, config.preset, seed=config.seed, potentials=terms)
                    dict(_runners(config, small))[row]()
                seconds, energy = _best_of(run, config)
                result = {"n": n_nodes, "terms": terms, "row": row}
                result |= {"seconds": seconds, "energy": energy}
                results.append(result)
                if progress is not None:
                    progress(result)
    return results


Runner = Callable[[], tuple[float, float] | None]


def _runners(config: Runtime, scene: Instance) -> Iterator[tuple[str, Runner]]:
    """A function a row that returns (seconds, energy), or None if it refuses the terms."""

    def by_text(text: str) -> Runner:
        spec = SolverSpec.parse(text)

        def run() -> tuple[float, float] | None:
            start = time.perf_counter()
            try:
                solution = solve(
                    scene, spec.solver, seconds=config.seconds, go_on=False, **spec.options
                )
            except UnsupportedPotential:
                return None
            return time.perf_counter() - start, solution.energy

        return run

    def by_peer(name: str) -> Runner:
        def run() -> tuple[float, float]:
            labels, seconds = PEERS[name](scene.crf)
            return seconds, scene.crf.energy(labels)

        return run

    for row in config.solvers:
        yield row, by_text(row)
    if config.peers and "gco-wrapper" in available_peers() and scene.source["potentials"] == "u+p":
        yield "gco-wrapper", by_peer("gco-wrapper")


def _best_of(run: Runner, config: Runtime) -> tuple[float | None, float | None]:
    best: tuple[float, float] | None = None
    spent = 0.0
    for _ in range(config.repeats):
        timed = run()
        if timed is None:
            return None, None
        best = timed if best is None else min(best, timed)
        spent += timed[0]
        if spent > config.patience:
            break
    return best if best is not None else (None, None)


def tables(config: Runtime, results: list[Result]) -> list[Table]:
    """Per energy: seconds by row and size, the paper's own figures below; then energies reached."""
    out = []
    columns = ("solver", *(f"N = {n:,}" for n in config.sizes))
    for terms in config.energies:
        of_terms = {(r["row"], r["n"]): r for r in results if r["terms"] == terms}
        rows = list(dict.fromkeys(row for row, _ in of_terms))
        body = [(row, *(of_terms[row, n]["seconds"] for n in config.sizes)) for row in rows]
        for name, seconds in TABLE_4.get(terms, {}).items():
            known = dict(zip(SIZES, seconds, strict=True))
            body.append((f"{name} (paper's figure)", *(known.get(n) for n in config.sizes)))
        note = (
            f"Seconds, scenes of preset {config.preset}, one thread, best of {config.repeats}. "
            "The paper's figures are from another machine, its policies on a GPU."
        )
        out.append(Table(f"Run time, {terms}", columns, tuple(body), note))
        reached = [(row, *(of_terms[row, n]["energy"] for n in config.sizes)) for row in rows]
        out.append(
            Table(
                f"Energy reached, {terms}",
                columns,
                tuple(reached),
                "Policies are untrained here: the residual one labels the most certain node first, "
                "by expected costs; the paper's is random.",
            )
        )
    return out


def measure_growth(
    kind: str = "paper",
    sizes: tuple[int, ...] = (10_000, 100_000),
    repeats: int = 5,
    preset: str = "B",
) -> list[Result]:
    """Seconds, microseconds a step and peak memory (MB) of the greedy policy, by size.

    Each size in a process of its own: a peak can only rise in one.
    """
    results = []
    for n_nodes in sizes:
        command = [sys.executable, "-c", _GROWTH, kind, str(n_nodes), str(repeats), preset]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        results.append({"n": n_nodes, "kind": kind, **json.loads(done.stdout)})
    return results


_GROWTH = """
import json, pathlib, resource, sys, time
import policrf as pc
kind, n_nodes, repeats, preset = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
policy = pc.Policy.untrained(n_labels=21, n_features=85, kind=kind)
pc.solve(pc.make_scene(50, preset), policy)
scene = pc.make_scene(n_nodes, preset)
seconds = []
for _ in range(repeats):
    start = time.perf_counter()
    pc.solve(scene, policy)
    seconds.append(time.perf_counter() - start)
status = pathlib.Path("/proc/self/status")
if status.exists():
    # ru_maxrss would count the parent's memory too, from before this program was loaded.
    peak = int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
best = min(seconds)
print(json.dumps({"seconds": best, "us_per_step": best / n_nodes * 1e6, "peak_mb": peak}))
"""


def measure_threads(
    kind: str = "residual", n_nodes: int = 1000, count: int = 24, threads: int = 2,
    repeats: int = 5, preset: str = "B",
) -> Result:  # fmt: skip
    """How much faster a set of instances is labeled by several threads than by one."""
    scenes = [make_scene(n_nodes, preset, seed=seed) for seed in range(count)]
    policy = Policy.untrained(n_labels=21, n_features=85, kind=kind)
    label_many(policy, scenes[:1])
    best = {1: float("inf"), threads: float("inf")}
    for _ in range(repeats):
        for workers in best:
            start = time.perf_counter()
            label_many(policy, scenes, threads=workers)
            best[workers] = min(best[workers], time.perf_counter() - start)
    return {
        "kind": kind,
        "threads": threads,
        "seconds_one": best[1],
        "seconds_many": best[threads],
        "speedup": best[1] / best[threads],
    }


def measure_fresh(name: str = "labels", repeats: int = 3, preset: str = "B") -> Result:
    """Seconds of a fresh process, without torch, that loads a policy and labels 250 nodes."""
    best = float("inf")
    for _ in range(repeats + 1):  # the first fills the caches
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", _FRESH, name, preset], check=True)
        best = min(best, time.perf_counter() - start)
    return {"policy": name, "seconds": best}


_FRESH = """
import sys
sys.modules["torch"] = None
import policrf as pc
pc.solve(pc.make_scene(250, sys.argv[2]), pc.load_policy(sys.argv[1]))
"""
