"""The run of `policrf bench potentials`: one solve after the other in one process.

A solver that stops by itself before its budget is over stands with that result at all larger
budgets. The long runs are left out where a row has proven its energy to be the minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from policrf.bench.potentials.cp_sat import CpSat
from policrf.bench.potentials.grid import (
    PotentialGrid,
    check_grid,
    instance_of,
    key_of,
    seconds_of,
    tasks,
)
from policrf.bench.potentials.measure import measure
from policrf.bench.potentials.problem import Problem, make_problem, small_problem
from policrf.bench.potentials.rows import CP_SAT, Row
from policrf.bench.result_log import Result, ResultLog
from policrf.crf.io.outputs import claimed

ANYTIME = ("annealing", "refine", "auto", "exact")  # solvers that use all the time they are given


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
    check_grid(grid)
    with claimed(folder):
        return _fill(grid, _open(grid, folder), progress)


def _fill(grid: PotentialGrid, log: ResultLog, progress: Callable[[Result], None]) -> list[Result]:
    missing = log.missing(tasks(grid), key_of)
    warm_up(grid, missing)
    with CpSat() as peer:
        for instance, group in groupby(missing, instance_of):
            problem = make_problem(grid, *instance)
            done = [result for result in log.results if instance_of(result) == instance]
            for task in group:
                result = task | _result(problem, task, done, grid, peer)
                log.append(result)
                done.append(result)
                progress(result)
    wanted = {key_of(task) for task in tasks(grid)}
    return [result for result in log.results if key_of(result) in wanted]


def _open(grid: PotentialGrid, folder: Path) -> ResultLog:
    check_grid(grid)
    return ResultLog(folder, {"labels": grid.labels})


def _result(
    problem: Problem, task: Result, done: list[Result], grid: PotentialGrid, peer: CpSat
) -> Result:
    """Measured, or known from what has been measured of the same CRF."""
    if task.get("reference") and any(result.get("proven") for result in done):
        return {"left_out": "a row has proven its energy to be the minimum"}
    mine = [result for result in done if result["row"] == task["row"]]
    for earlier in mine:
        if "refused" in earlier:
            return {"refused": earlier["refused"]}
        if earlier.get("stopped") and earlier["budget"] < task["budget"]:
            return {name: earlier[name] for name in MEASURED} | {"stands": True}
    if task["row"] == CP_SAT:
        budgets = grid.budgets_at(task["n"])
        seconds = [seconds_of(budget, problem.crf.n_nodes) for budget in budgets]
        return peer.result(problem.crf, task["family"], seconds, budgets.index(task["budget"]))
    return measure(problem, task["row"], task["budget"])


MEASURED = ("energy", "proven", "calls", "wall_seconds", "cpu_seconds", "stopped")


def warm_up(grid: PotentialGrid, missing: Iterable[Result]) -> None:
    """Load every kernel before anything is timed; without a limit, so that none is left out."""
    for row, family in dict.fromkeys((task["row"], task["family"]) for task in missing):
        if row != CP_SAT:
            problem = small_problem(family, grid.labels)
            measure(problem, row, None)
            if row == "auto":
                for budget in (1000.0, 1.0):  # with a limit it goes on to other solvers
                    measure(problem, row, budget)


class Plan(NamedTuple):
    """What is left to do."""

    solves: int
    seconds: float  # about; rows that overrun their budgets take longer


def plan(grid: PotentialGrid, folder: Path) -> Plan:
    """How many solves are left, and how long the anytime ones will take."""
    missing = _open(grid, folder).missing(tasks(grid), key_of)
    return Plan(len(missing), sum(map(_expected_seconds, missing)))


def _expected_seconds(task: dict[str, Any]) -> float:
    seconds = seconds_of(task["budget"], task["n"])
    if task["row"] == CP_SAT:
        return seconds
    steps = Row.parse(task["row"]).steps
    anytime = any(step.name in ANYTIME or step.options.get("refine") for step in steps)
    # `exact` refuses, or proves, most of what it gets long runs for.
    return seconds if anytime and task["row"] != "exact" else 0.0
