"""Says that kernels are compiled, how many, and about how long it takes: a line, or a bar.

On a terminal the line is written again after every kernel, with the time that is left at the pace
so far; elsewhere it is written once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from policrf.ahead.plan import Kernel, seconds_of

WIDTH = 20
_said: list[bool] = []


def announce(of_a_plan: str = "") -> None:
    """Say once in a process that kernels are compiled."""
    if not _said:
        _said.append(True)
        text = f"compiling kernels for this machine, once{of_a_plan}"
        hint = "`policrf warmup` does it ahead for all solvers"
        print(f"policrf: {text} ({hint})", file=sys.stderr, flush=True)


class Announcement:
    """Of the kernels of one call.

    Parameters
    ----------
    kernels
        Those of the plan; there may be others.
    processes
        That compile at once.
    """

    def __init__(self, kernels: Sequence[Kernel], processes: int) -> None:
        self._sizes = {kernel.key: kernel.megabytes for kernel in kernels}
        self._all = sum(self._sizes.values())
        self._count, self._finished, self._compiled = len(kernels), 0, 0.0
        self._began, self._shown = time.monotonic(), False
        self._bar = sys.stderr.isatty() and self._count > 0
        others = f" in {processes} processes" if processes > 1 else ""
        announce(f"{others}, about {seconds_of(kernels, processes):.0f} s" if self._count else "")

    def done(self, key: str) -> None:
        """One kernel is there."""
        if key not in self._sizes:
            return
        self._finished += 1
        self._compiled += self._sizes.pop(key)
        if self._bar:
            print("\r" + self._line(), end="", file=sys.stderr, flush=True)
            self._shown = True

    def end(self) -> None:
        """Leave the line behind."""
        if self._shown:
            print(file=sys.stderr, flush=True)
        self._shown, self._bar = False, False

    def _line(self) -> str:
        share = self._compiled / self._all if self._all else 1.0
        full = round(WIDTH * share)
        left = (time.monotonic() - self._began) * (1 - share) / max(share, 1e-9)
        bar = "█" * full + "░" * (WIDTH - full)
        return f"policrf: {bar} {self._finished} of {self._count}, about {left:.0f} s left  "
