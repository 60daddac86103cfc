"""Stopwatch: what each step of a longer work took."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds by name; calling it books the time since the last call."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._start = self._last = time.perf_counter()

    def __call__(self, name: str) -> None:
        """Book the time since the last call under `name`."""
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now

    def total(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self._start
