"""Signals that wait for the end of a round, so that what was learned is saved first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def patient_signals(*, terminating: bool) -> Iterator[list[int]]:
    """Yields a list that a signal's number is put in; after the block the signal is passed on.

    A second signal is passed on at once. Plain Ctrl-C in Python is not passed on: the answer to it
    is the policy so far.

    Parameters
    ----------
    terminating
        Whether SIGTERM waits too; pointless where nothing is saved.
    """
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    numbers = (signal.SIGINT, signal.SIGTERM) if terminating else (signal.SIGINT,)

    def hear(number: int, frame: Any) -> None:
        if not heard:
            heard.append(number)
        elif callable(handler := before[number]):
            handler(number, frame)
        else:
            raise KeyboardInterrupt

    before: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, hear)
    try:
        yield heard
    finally:
        for number in numbers:
            signal.signal(number, before[number])
    if heard and signal.getsignal(heard[0]) is not signal.default_int_handler:
        signal.raise_signal(heard[0])
