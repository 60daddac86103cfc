"""Budgets of CPU time: the clock that solvers read tells the CPU time of the process.

Others who use the machine then take nothing from anybody's budget.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from policrf.ahead.foreman import alone
from policrf.solvers import helper_processes

SHORT = 0.05  # seconds of a solve that is over too soon to be measured once
PATIENCE = 10  # wall time / CPU time from which on a solver waits for something, and time runs
GRACE = 1.0  # seconds of waiting that are the machine's: others had the processor


@contextmanager
def cpu_budgets(patience: float = PATIENCE) -> Iterator[None]:
    """Within, `time.perf_counter` tells CPU time, of all threads and of processes that help.

    Wall time / `patience` after the first second counts at least: a solver that waits for a
    process comes to an end, and one that the machine let wait for a while loses nothing.
    Short solves have no children, and are not asked for them: that takes as long as some steps.
    """
    wall_clock, cpu_clock = time.perf_counter, time.process_time
    wall, cpu, before = wall_clock(), cpu_clock(), _children()

    def clock() -> float:
        waited = wall_clock() - wall
        children = _children() - before if waited > SHORT else 0.0
        return max(cpu_clock() - cpu + children, (waited - GRACE) / patience)

    time.perf_counter = clock
    try:
        with alone():  # helpers that compile are children, too
            yield
    finally:
        time.perf_counter = wall_clock


def _children() -> float:
    """CPU seconds of this process's children: those that have ended, and solvers' helpers."""
    if sys.platform == "win32":
        return 0.0
    import resource

    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + helper_processes.cpu_seconds()
