"""Stopwatch: what each step of a longer work took."""

from __future__ import annotations

import time
from collections.abc import Callable

Timer = Callable[[], float]


class Stopwatch:
    """Seconds by name; calling it books the time since the last call.

    The timer is the wall clock, or `time.process_time` for CPU seconds.
    """

    def __init__(self, timer: Timer = time.perf_counter) -> None:
        self.seconds: dict[str, float] = {}
        self.timer = timer
        self._start = self._last = timer()

    def __call__(self, name: str) -> None:
        """Book the time since the last call under `name`."""
        now = self.timer()
        self.seconds[name] = now - self._last
        self._last = now

    def total(self) -> float:
        """Seconds since it was made."""
        return self.timer() - self._start
