"""Checks of options that several solvers share; each error names the option and what it takes."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from policrf.errors import InvalidOption


def require_whole_numbers(*, at_least: int = 1, **options: int) -> None:
    """Refuse options that are no whole numbers, or below `at_least`.

    >>> require_whole_numbers(sweeps=0)
    Traceback (most recent call last):
    policrf.errors.InvalidOption: sweeps must be a whole number ≥ 1, not 0
    """
    for option, value in options.items():
        is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not is_whole or value < at_least:
            raise InvalidOption(f"{option} must be a whole number ≥ {at_least}, not {value!r}")


def require_share_below_one(**options: float) -> None:
    """Refuse options outside 0 ≤ value < 1, such as a damping."""
    for option, value in options.items():
        if not 0 <= value < 1:
            raise InvalidOption(f"{option} must be at least 0 and below 1, not {value}")


def require_share_above_zero(**options: float) -> None:
    """Refuse options outside 0 < value ≤ 1."""
    for option, value in options.items():
        if not 0 < value <= 1:
            raise InvalidOption(f"{option} must be above 0 and not above 1, not {value}")


def require_choice(option: str, value: str, choices: Any) -> None:
    """Refuse a value that is none of the strings of the `Literal` type `choices`."""
    names = get_args(choices)
    if value not in names:
        raise InvalidOption(f"{option} must be one of {', '.join(names)}, not {value!r}")
