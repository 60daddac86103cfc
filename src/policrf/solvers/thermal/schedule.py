"""How long cycles are, and how hot they begin and cold they end."""

from __future__ import annotations

import numpy as np

from policrf.solvers.thermal.kept_costs import Kept
from policrf.types import IntArray

SWEEPS = 10  # of the shortest cycles
LONGER = 4  # times as many in the next longer ones
BALLS_AFTER = 31  # cycles of all nodes, after which cycles of balls follow each
BALL_SHARE = 3  # looks at nodes of balls, in units of those of the cycle before
LARGE = 4_000  # nodes, from which on balls are small parts of a field
LARGE_SCALE = 4  # of the longest cycles of all nodes then
PART = 160  # most sweeps of balls between two meetings of replicas
MESSAGE_SWEEPS = 6  # of messages, a cycle so far
RATIO = 8.0  # of the highest temperature to the lowest, at least


def cycle_scale(number: int, n_nodes: int) -> int:
    """How long the number-th cycle is: 4 to this power as long as the shortest.

    In a large field balls do what longer ones would do; these end higher than what balls have found
    already, and are refused as a whole.

    >>> cycle_scale(63, 1000), cycle_scale(63, 10_000)
    (5, 4)
    """
    return luby(number) if n_nodes < LARGE else min(luby(number), LARGE_SCALE)


def ball_parts(number: int, n_nodes: int) -> list[int]:
    """Sweeps of the parts in which balls may follow the number-th cycle.

    >>> ball_parts(31, 100), ball_parts(32, 100), ball_parts(38, 100)
    ([], [30], [160, 160, 160])
    """
    sweeps = SWEEPS * LONGER ** cycle_scale(number, n_nodes)
    left = BALL_SHARE * sweeps if number > BALLS_AFTER else 0
    return [PART] * (left // PART) + ([left % PART] if left % PART else [])


def message_sweeps(number: int) -> int:
    """Sweeps of messages that may follow the number-th cycle: the longest so far has some.

    The first ones come before all cycles: number 0.

    They take about as long as all cycles before them where these are few, and ever less of the time
    where they are many.

    >>> [message_sweeps(number) for number in range(9)]
    [12, 0, 0, 24, 0, 0, 0, 48, 0]
    """
    if number & (number + 1) or number == 1:  # not one below a power of two
        return 0
    return MESSAGE_SWEEPS * max(number + 1, 2)


def luby(number: int) -> int:
    """The binary logarithm of the number-th entry (from 1) of 1, 1, 2, 1, 1, 2, 4, …

    >>> [luby(n) for n in range(1, 16)]
    [0, 0, 1, 0, 0, 1, 2, 0, 0, 1, 0, 0, 1, 2, 3]
    """
    while number & (number + 1):  # not one below a power of two
        number -= 2 ** (number.bit_length() - 1) - 1
    return number.bit_length() - 1


def sample(n_nodes: int) -> IntArray:
    """Up to 10,000 nodes from all over a field."""
    return np.linspace(0, n_nodes - 1, min(n_nodes, 10_000)).astype(np.int64)


def temperatures(kept: Kept, hot: float, cold: float) -> tuple[float, float]:
    """The highest and the lowest temperature, from what relabels of up to 10,000 nodes change."""
    some = sample(len(kept.labels))
    own = np.take_along_axis(kept.costs[some], kept.labels[some, None], axis=1)
    sizes = np.abs(kept.costs[some] - own)
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not len(sizes):
        return 1.0, 1.0
    high = hot * float(np.median(sizes))
    return high, min(high / RATIO, cold * float(np.quantile(sizes, 0.4)))
