"""Forbidden terms counted before energies: what a node does while something forbids its labels.

Infinite energies cannot be compared. The number of infinite terms, and among equal numbers the sum
of the finite ones, can: a move that mends one of two violations is a gain.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.changes import assign, relabel, unassign
from policrf.crf.state import State


@inner
def least_violating(a: Arrays, s: State, i: int, margin: float) -> int:
    """The label of the labeled node i with the fewest infinite terms, then the lowest finite sum.

    Its own, unless another one that its unary allows is better by more than `margin`.
    """
    own, total, forbidden = s.labels[i], s.total[0], s.forbidden[0]
    best, fewest, least = own, forbidden, total - margin
    for label in range(a.cardinalities[i]):
        if label == own or a.unary[i, label] == np.inf:
            continue
        relabel(a, s, i, label)
        found = s.forbidden[0]
        if found < fewest or (found == fewest and s.total[0] < least):
            best, fewest, least = label, found, s.total[0]
    if s.labels[i] != own:
        relabel(a, s, i, own)
    s.total[0], s.forbidden[0] = total, forbidden  # without the rounding of there and back
    return int(best)


@inner
def least_violating_first(a: Arrays, s: State, i: int) -> int:
    """The same for a node that has no label yet."""
    total, forbidden = s.total[0], s.forbidden[0]
    allowed = 0
    while a.unary[i, allowed] == np.inf and allowed < a.cardinalities[i] - 1:
        allowed += 1
    assign(a, s, i, allowed)
    best = least_violating(a, s, i, 0.0)
    unassign(a, s, i)
    s.total[0], s.forbidden[0] = total, forbidden
    return int(best)
