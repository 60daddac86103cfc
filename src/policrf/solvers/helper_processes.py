"""Processes that work for a solver, and the CPU time they have used so far.

The operating system tells a process the time of its children when they have ended. Whoever counts
CPU time (`evaluation.cpu_time`) needs it while they work, or a budget would not hold for them.
"""

from __future__ import annotations

import sys
import time

_PROCESS_CLOCK = 2  # of Linux's clocks: all threads of a process, scheduled

_working: set[int] = set()


def begin(process: int) -> None:
    """From now on, the process of this number works for this one."""
    _working.add(process)


def end(process: int) -> None:
    """It has ended, and been waited for: the operating system tells its time from now on."""
    _working.discard(process)


def cpu_seconds() -> float:
    """What those at work have used; 0 where the operating system does not tell (all but Linux)."""
    return sum(_used(process) for process in tuple(_working))


def _used(process: int) -> float:
    if sys.platform != "linux":
        return 0.0
    try:
        return time.clock_gettime((~process << 3) | _PROCESS_CLOCK)
    except OSError:
        return 0.0
