"""One solve of the benchmark: energy, calls of custom functions, wall and CPU seconds.

Budgets are CPU time (`evaluation.cpu_time`). A short solve is measured several times, and the
median counts: which caches are warm is a matter of luck.
"""

from __future__ import annotations

import time

from policrf.bench.potentials.grid import seconds_of
from policrf.bench.potentials.problem import Problem
from policrf.bench.potentials.rows import Row
from policrf.bench.result_log import Result
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.evaluation.cpu_time import SHORT, cpu_budgets
from policrf.solvers import solve
from policrf.types import Solution

STOPPED = 0.8  # share of its budget below which a solver has stopped by itself
REPEATS = 5  # of a short solve


def measure(problem: Problem, row: str, budget: float | None) -> Result:
    """One solve (of several short ones, that of the median energy), or why it was refused.

    Parameters
    ----------
    problem
        The CRF.
    row
        One of `rows.Row`, as a text.
    budget
        Milliseconds for 144 nodes; None: no limit.
    """
    short = budget is not None and seconds_of(budget, problem.crf.n_nodes) < SHORT
    solves = [_measure_once(problem, row, budget) for _ in range(REPEATS if short else 1)]
    solves.sort(key=lambda solve: solve.get("energy", 0.0))
    return solves[len(solves) // 2]


def _measure_once(problem: Problem, row: str, budget: float | None) -> Result:
    parsed = Row.parse(row)
    crf = problem.complete if parsed.complete else problem.crf
    # A policy's file is read, and arrays are built, before the clock runs.
    _, steps = crf.arrays, [(spec.solver, spec.options) for spec in parsed.steps]
    problems = [problem.known if parsed.known else crf] + [crf] * (len(steps) - 1)
    _ = problems[0].arrays
    seconds = None if budget is None else seconds_of(budget, crf.n_nodes)
    found: Solution | None = None
    calls, left, wall = 0, seconds, time.perf_counter()
    with cpu_budgets():
        start = time.perf_counter()
        try:
            for part, (solver, options) in zip(problems, steps, strict=True):
                labels = None if found is None else found.labels
                found = solve(part, solver, seconds=left, initial=labels, go_on=False, **options)
                calls += found.calls
                if seconds is not None:
                    left = max(0.0, seconds - (time.perf_counter() - start))
        except (UnsupportedPotential, TooLarge) as refusal:
            return {"refused": str(refusal)}
        cpu_seconds = time.perf_counter() - start
    assert found is not None
    return {
        "energy": found.energy,
        "proven": found.optimal,
        "calls": calls,
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": cpu_seconds,
        "stopped": seconds is None or cpu_seconds < STOPPED * seconds,
    }
