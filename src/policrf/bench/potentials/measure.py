"""One solve of the benchmark: energy, calls of custom functions, wall and CPU seconds.

A budget is `seconds=` of a solve, which is wall time. CPU time is that of all threads and of child
processes, so that no solver gains by having more of them.
"""

from __future__ import annotations

import os
import time

from policrf.bench.potentials.grid import seconds_of
from policrf.bench.potentials.problem import Problem
from policrf.bench.potentials.rows import Row
from policrf.bench.result_log import Result
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.solvers import solve
from policrf.types import Solution

WHOLE_CORE = 0.9  # share of CPU time in wall time from which on a solve was not disturbed
STOPPED = 0.8  # share of its budget below which a solver has stopped by itself


def measure_undisturbed(problem: Problem, row: str, budget: float, tries: int) -> Result:
    """The try that had most of a core: a budget is wall time, and others may use the machine."""
    best = measure(problem, row, budget)
    for _ in range(tries - 1):
        if "refused" in best or cpu_share(best) >= WHOLE_CORE:
            break
        best = max(best, measure(problem, row, budget), key=cpu_share)
    return best


def cpu_share(result: Result) -> float:
    """CPU time of a solve / its wall time."""
    return float(result["cpu_seconds"] / max(result["wall_seconds"], 1e-9))


def measure(problem: Problem, row: str, budget: float | None) -> Result:
    """One solve, or why it was refused.

    Parameters
    ----------
    problem
        The CRF.
    row
        One of `rows.Row`, as a text.
    budget
        Milliseconds for 144 nodes; None: no limit.
    """
    parsed = Row.parse(row)
    crf = problem.complete if parsed.complete else problem.crf
    # A policy's file is read, and arrays are built, before the clock runs.
    _, steps = crf.arrays, [(spec.solver, spec.options) for spec in parsed.steps]
    seconds = None if budget is None else seconds_of(budget, crf.n_nodes)
    cpu, wall = cpu_time(), time.perf_counter()
    found: Solution | None = None
    calls = 0
    try:
        for solver, options in steps:
            left = seconds
            if seconds is not None and found is not None:
                left = max(0.0, seconds - (time.perf_counter() - wall))
            labels = None if found is None else found.labels
            found = solve(crf, solver, seconds=left, initial=labels, **options)
            calls += found.calls
    except (UnsupportedPotential, TooLarge) as refusal:
        return {"refused": str(refusal)}
    wall_seconds, cpu_seconds = time.perf_counter() - wall, cpu_time() - cpu
    assert found is not None
    return {
        "energy": found.energy,
        "proven": found.optimal,
        "calls": calls,
        "wall_seconds": wall_seconds,
        "cpu_seconds": cpu_seconds,
        "stopped": seconds is None or wall_seconds < STOPPED * seconds,
    }


def cpu_time() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
