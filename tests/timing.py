"""Claims about time, on machines that others use too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

TRIES = 3


def best_of_several(test: Callable[..., None]) -> Callable[..., None]:
    """Let a test that measures time fail only if it fails every time.

    A pause of the machine can spoil one measurement; a solver that idles or overruns spoils all.
    """

    @functools.wraps(test)
    def tried(*args: Any, **options: Any) -> None:
        for _ in range(TRIES - 1):
            try:
                return test(*args, **options)
            except AssertionError:
                pass
        return test(*args, **options)

    return tried
