"""Errors of functions that compiled code calls: each belongs to the thread and run it happened in.

An exception cannot cross C code. It is kept here by the thread that the kernel runs in, and
`raise_if_failed` raises it in the same thread once the kernel is back. `own_failures` is the room
of one run: what happened before it, or beside it in an outer run, is neither seen nor lost.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from policrf.errors import PolicrfError


class _Kept(threading.local):
    def __init__(self) -> None:
        self.failures: list[PolicrfError] = []


_kept = _Kept()


def keep_failure(failure: PolicrfError) -> None:
    """Keep an error of a function that was called from compiled code, for `raise_if_failed`."""
    _kept.failures.append(failure)


def has_failed() -> bool:
    """Whether this run has an error to raise already; the first one is told."""
    return bool(_kept.failures)


def raise_if_failed() -> None:
    """Raise the first error that a function called from compiled code had since the last call."""
    if _kept.failures:
        first = _kept.failures[0]
        _kept.failures.clear()
        if isinstance(first.__cause__, KeyboardInterrupt):
            raise first.__cause__
        raise first


@contextmanager
def own_failures() -> Iterator[None]:
    """A run of its own: it hears of its own errors only, and of all of them at its end."""
    outer, _kept.failures = _kept.failures, []
    try:
        yield
        raise_if_failed()
    finally:
        _kept.failures = outer
