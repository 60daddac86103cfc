"""How much work a kernel call may do before the clock is looked at again."""

from __future__ import annotations

import time

from policrf.solvers.run import Run

SLICE = 0.001  # seconds between two looks at the clock
KEPT = 0.3  # share of the time left that a slice does not use: the next one may be slower
GROWTH = 4.0  # a slice is at most this many times as large as the one before


class Pace:
    """The size of the next slice, from how long the last one took.

    Parameters
    ----------
    run
        Whose clock it is.
    first
        Size of the first slice, in the unit of the caller's work.
    """

    def __init__(self, run: Run, first: int) -> None:
        self._run = run
        self.size = max(1, first)
        self._began = time.perf_counter()

    def begin(self) -> int:
        """A slice begins; returns its size."""
        self._began = time.perf_counter()
        return self.size

    def end(self) -> None:
        """The slice is done."""
        spent = max(time.perf_counter() - self._began, 1e-9)
        allowed = min(SLICE, (1 - KEPT) * self._run.remaining())
        self.size = max(1, int(self.size * min(GROWTH, allowed / spent)))
