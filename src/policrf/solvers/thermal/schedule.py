"""How long cycles are, and how hot they begin and cold they end."""

from __future__ import annotations

import numpy as np

from policrf.solvers.thermal.kept_costs import Kept

SWEEPS = 10  # of the shortest cycles
LONGER = 4  # times as many in the next longer ones
BALLS_AFTER = 31  # cycles of all nodes, after which cycles of balls follow each
BALL_SHARE = 3  # looks at nodes of balls, in units of those of the cycle before
PART = 160  # most sweeps of balls between two meetings of replicas
RATIO = 8.0  # of the highest temperature to the lowest, at least


def cycle_sweeps(number: int) -> int:
    """Sweeps of the number-th cycle."""
    return int(SWEEPS * LONGER ** luby(number))


def ball_parts(number: int) -> list[int]:
    """Sweeps of the parts in which balls may follow the number-th cycle.

    >>> ball_parts(31), ball_parts(32), ball_parts(38)
    ([], [30], [160, 160, 160])
    """
    left = BALL_SHARE * cycle_sweeps(number) if number > BALLS_AFTER else 0
    return [PART] * (left // PART) + ([left % PART] if left % PART else [])


def luby(number: int) -> int:
    """The binary logarithm of the number-th entry (from 1) of 1, 1, 2, 1, 1, 2, 4, …

    >>> [luby(n) for n in range(1, 16)]
    [0, 0, 1, 0, 0, 1, 2, 0, 0, 1, 0, 0, 1, 2, 3]
    """
    while number & (number + 1):  # not one below a power of two
        number -= 2 ** (number.bit_length() - 1) - 1
    return number.bit_length() - 1


def temperatures(kept: Kept, hot: float, cold: float) -> tuple[float, float]:
    """The highest and the lowest temperature, from what relabels of up to 10,000 nodes change."""
    some = np.linspace(0, len(kept.labels) - 1, min(len(kept.labels), 10_000)).astype(np.int64)
    own = np.take_along_axis(kept.costs[some], kept.labels[some, None], axis=1)
    sizes = np.abs(kept.costs[some] - own)
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not len(sizes):
        return 1.0, 1.0
    high = hot * float(np.median(sizes))
    return high, min(high / RATIO, cold * float(np.quantile(sizes, 0.4)))
