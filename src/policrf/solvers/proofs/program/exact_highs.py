"""HiGHS on a `Milp`: single-threaded, interruptible, reporting its bound and better solutions.

HiGHS runs in a thread of its own, without the GIL; the caller's thread looks after it twenty times
a second, so that Ctrl-C, the budget and the caller's callback are heard while it works.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from policrf.solvers.proofs.program.milp import Milp
from policrf.types import FloatArray

POLL = (0.001, 0.05)  # seconds between two looks at the clock, at least and at most
LAST_WORDS = 0.35  # seconds a cancelled solver gets to answer; then it is left to end by itself
AT_EXIT = 10.0  # seconds that it gets for that when the program ends
TOLERANCE = 1e-9  # feasibility, integrality and cutoff
DUAL_TOLERANCE = 1e-10  # of reduced costs; HiGHS takes no less
LARGEST = 1024.0  # the largest cost that HiGHS is told: its tolerance is that much finer


_left_behind: list[threading.Thread] = []


@atexit.register
def _wait_for_threads() -> None:
    """A solver that is cancelled but still at work must not meet an interpreter that is gone."""
    for thread in _left_behind:
        thread.join(AT_EXIT)


class MilpResult(NamedTuple):
    """What is known at the end."""

    values: FloatArray | None  # [K]; the best solution
    bound: float  # no solution is below it by more than the margin
    margin: float  # reduced costs may be off by the tolerance, in all columns that are 1
    finished: bool  # proven to optimality (or to be infeasible: then values is None)


class Limits(NamedTuple):
    """When to stop."""

    seconds: float  # of work, before it is asked for its last words
    gap: float  # relative distance of bound and solution
    remaining: Callable[[], float]  # seconds until nobody waits for an answer any more


class _Watch:
    """What the solver's thread tells the caller's."""

    def __init__(self) -> None:
        self.stop = False
        self.bound = -np.inf
        self.solutions: list[FloatArray] = []
        self.error: BaseException | None = None


def solve_milp(
    milp: Milp, limits: Limits, *, upper: float, margin: float, seed: int,
    on_bound: Callable[[float, float], None], on_solution: Callable[[FloatArray], None],
) -> MilpResult:  # fmt: skip
    """Minimise, given a solution `milp.start` of value `upper` (+inf: it is none).

    `margin` is what `upper` and the program may be off by.
    """
    import highspy

    milp = milp.without_expensive_columns(upper, margin)
    unit = float(np.abs(milp.cost).max(initial=0.0)) / LARGEST
    off = margin + unit * (DUAL_TOLERANCE * milp.active + 2 * TOLERANCE)
    scale = unit or 1.0
    highs = _load(highspy, milp, scale, seconds=limits.seconds, seed=seed, gap=limits.gap)
    if upper < np.inf:
        _start_from(highspy, highs, milp.start)
    watch = _Watch()
    _listen(highspy, highs, watch)
    thread = threading.Thread(target=_work, args=(highs, watch), daemon=True)
    thread.start()

    def true(value: float) -> float:
        return milp.constant + scale * value

    deadline = time.perf_counter() + limits.seconds
    try:
        while thread.is_alive():
            thread.join(max(POLL[0], min(POLL[1], deadline - time.perf_counter())))
            if watch.bound > -np.inf:
                on_bound(true(watch.bound), off)
            while watch.solutions:
                on_solution(watch.solutions.pop(0))
            if time.perf_counter() >= deadline or limits.remaining() == 0.0:
                break
    finally:
        watch.stop = True
        thread.join(min(LAST_WORDS, limits.remaining()))
    if watch.error is not None:
        raise watch.error
    if thread.is_alive():
        _left_behind.append(thread)
        return MilpResult(None, true(watch.bound), off, False)
    info, status = highs.getInfo(), highs.getModelStatus()
    known = highspy.HighsModelStatus
    if status == known.kInfeasible:
        return MilpResult(None, np.inf, 0.0, True)
    has_values = info.primal_solution_status == 2  # feasible
    values = np.asarray(highs.getSolution().col_value) if has_values else None
    bound = max(watch.bound, float(info.mip_dual_bound))
    return MilpResult(values, true(bound), off, status == known.kOptimal)


def _load(highspy: Any, milp: Milp, scale: float, *, seconds: float, seed: int, gap: float) -> Any:
    highs = highspy.Highs()
    options = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "random_seed": seed % 2**31,
        "mip_rel_gap": gap,
        "mip_abs_gap": 0.0,
        "mip_feasibility_tolerance": TOLERANCE,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": DUAL_TOLERANCE,
        "time_limit": min(seconds, 1e7),
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(milp.cost), len(milp.lower)
    lp.col_cost_ = milp.cost / scale
    lp.col_lower_ = np.zeros(len(milp.cost))
    lp.col_upper_ = milp.ceiling
    lp.row_lower_, lp.row_upper_ = milp.lower, milp.upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = milp.row_ptr
    lp.a_matrix_.index_ = milp.row_column
    lp.a_matrix_.value_ = milp.row_value
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[flag] for flag in milp.integer.astype(int).tolist()]
    highs.passModel(lp)
    return highs


def _start_from(highspy: Any, highs: Any, values: FloatArray) -> None:
    solution = highspy.HighsSolution()
    solution.col_value = values.tolist()
    highs.setSolution(solution)


def _listen(highspy: Any, highs: Any, watch: _Watch) -> None:
    kinds = highspy.cb.HighsCallbackType

    def tell(kind: Any, message: str, output: Any, answer: Any, data: Any) -> None:
        if kind == kinds.kCallbackMipImprovingSolution:
            watch.solutions.append(np.array(output.mip_solution))
            return
        if kind == kinds.kCallbackMipInterrupt:
            watch.bound = max(watch.bound, output.mip_dual_bound)
        if watch.stop:
            answer.user_interrupt = True

    highs.setCallback(tell, None)
    for kind in (
        kinds.kCallbackMipInterrupt,
        kinds.kCallbackSimplexInterrupt,
        kinds.kCallbackMipImprovingSolution,
    ):
        highs.startCallback(kind)


def _work(highs: Any, watch: _Watch) -> None:
    try:
        highs.run()
    except BaseException as error:
        watch.error = error
