"""The run of `policrf bench large`: one solve after the other in one process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from policrf.bench.large.graph_network import graph_network
from policrf.bench.large.grid import (
    PEERS,
    LargeGrid,
    check_grid,
    key_of,
    make_field,
    tasks,
    threads_of,
)
from policrf.bench.large.plain_annealing import plain_annealing
from policrf.bench.large.planar import ising_minimum
from policrf.bench.large.toulbar2_peer import toulbar2
from policrf.bench.result_log import Result, ResultLog
from policrf.crf.io.outputs import claimed
from policrf.crf.model import CRF
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.scenes import make_frustrated
from policrf.solvers import solve
from policrf.types import IntArray

PATIENCE = 100  # wall time / CPU time from which on time runs in any case


def run_large(
    grid: LargeGrid, folder: Path, progress: Callable[[Result], None], minutes: float = math.inf
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
    minutes
        By the clock, after which no solve begins.
    """
    end = time.perf_counter() + 60 * minutes
    with claimed(folder):
        log = _open(grid, folder)
        missing = log.missing(tasks(grid), key_of)
        if minutes > 0:
            _warm_up({(task["row"], task["field"].split(":")[0]) for task in missing})
        for task in missing:
            if time.perf_counter() >= end:
                break
            crf = make_field(task["field"], task["seed"])
            result = task | measure(crf, task["row"], task["budget"], task["seed"])
            log.append(result)
            progress(result)
    wanted = {key_of(task) for task in tasks(grid)}
    return [result for result in log.results if key_of(result) in wanted]


def measure(crf: CRF, row: str, budget: float, seed: int) -> Result:
    """One solve: energy and seconds; or why there is none."""
    wall = time.perf_counter()
    with cpu_budgets(PATIENCE):
        start = time.perf_counter()
        try:
            if row in PEERS:
                labels = _peer_labels(crf, row, budget, seed)
                found = None if labels is None else {"energy": crf.energy(labels)}
                if found is not None and row == "matching":
                    found["proven"] = True
            else:
                solution = solve(crf, row, seconds=budget * threads_of(row), seed=seed)
                found = {"energy": solution.energy, "proven": solution.optimal}
        except (UnsupportedPotential, TooLarge) as refusal:
            return {"refused": str(refusal)}
        cpu_seconds = time.perf_counter() - start
    if found is None:
        return {"refused": "no answer"}
    return found | {"cpu_seconds": cpu_seconds, "wall_seconds": time.perf_counter() - wall}


def _peer_labels(crf: CRF, row: str, budget: float, seed: int) -> IntArray | None:
    if row == "plain_annealing":
        return plain_annealing(crf, budget, seed)
    if row == "matching":
        return ising_minimum(crf)
    if row == "graph_network":
        return graph_network(crf, budget, seed)
    return toulbar2(crf, budget, seed, vns=row == "toulbar2_vns")


def _warm_up(used: set[tuple[str, str]]) -> None:
    """Load every kernel before anything is timed."""
    for row, family in sorted(used):
        if not row.startswith("toulbar2"):
            measure(make_frustrated(family, 64, 2 if family == "ising" else 4, 4), row, 0.2, 0)


class Plan(NamedTuple):
    """What is left to do."""

    solves: int
    seconds: float  # of CPU time, about


def _cpu_seconds(task: Result) -> float:
    return float(task["budget"] * threads_of(task["row"]))


def plan(grid: LargeGrid, folder: Path) -> Plan:
    """How many solves are left, and how long they will take."""
    missing = _open(grid, folder).missing(tasks(grid), key_of)
    return Plan(len(missing), sum(_cpu_seconds(task) for task in missing))


def _open(grid: LargeGrid, folder: Path) -> ResultLog:
    check_grid(grid)
    return ResultLog(folder, {"clock": "CPU seconds"})
