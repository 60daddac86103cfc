"""A budget of inference: CPU seconds a node, as a number or as text such as "10us"."""

from __future__ import annotations

import math
import re

from policrf.errors import InvalidOption

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_TEXT = re.compile(r"\s*(?P<number>[0-9.]+(?:[eE][-+]?\d+)?)\s*(?P<unit>ns|us|µs|ms|s)?\s*")


def read_budget(budget: str | float) -> float:
    """CPU seconds a node.

    >>> read_budget("10us"), read_budget(2e-6)
    (1e-05, 2e-06)
    """
    value: float = math.nan
    if isinstance(budget, str):
        match = _TEXT.fullmatch(budget)
        if match is not None and match["number"].count(".") <= 1 and match["number"] != ".":
            value = float(f"{float(match['number']) * UNITS[match['unit'] or 's']:.12g}")
    elif isinstance(budget, int | float) and not isinstance(budget, bool):
        value = float(budget)
    if not 0 < value < math.inf:
        raise InvalidOption(
            f"budget is {budget!r}; it must be CPU time a node at inference, above 0: "
            '"10us", "1ms", or a number of seconds'
        )
    return value


def budget_text(budget: float) -> str:
    """For people.

    >>> budget_text(1e-05)
    '10 µs'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if budget >= 0.999 * size:
            return f"{budget / size:.3g} {unit}"
    return f"{budget * 1e9:.3g} ns"
