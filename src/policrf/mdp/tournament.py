"""A tournament tree: the largest of N values, kept while single values change.

Every inner node holds the winning leaf of its two children, so the maximum is read at the root and
a change climbs at most log2 N levels; it stops at the first match whose winner is another leaf and
remains so. Among equal values the lowest leaf wins, as in `numpy.argmax`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.types import FloatArray, IntArray


class Tournament(NamedTuple):
    """Leaves 0 … N−1; winners[1] is the root, the children of n are 2 n and 2 n + 1."""

    values: FloatArray  # [N]; −inf takes a leaf out
    winners: IntArray  # [S]; S the power of two ≥ max(N, 2); −1 above no leaf at all


def new_tournament(n_leaves: int) -> Tournament:
    """All values −inf."""
    size = 2
    while size < n_leaves:
        size *= 2
    tree = Tournament(np.full(n_leaves, -np.inf), np.full(size, -1, np.int64))
    rebuild(tree)
    return tree


@inner
def winner_of_leaves(values: FloatArray, i: int) -> int:
    """The winner of the lowest match that leaf i plays in; −1 if there is no such leaf."""
    first = i - i % 2
    if first >= len(values):
        return -1
    if first + 1 < len(values) and values[first + 1] > values[first]:
        return first + 1
    return first


@leaf
def better(values: FloatArray, one: int, other: int) -> int:
    """The winner of two leaves, either of which may be missing (−1)."""
    if other < 0:
        return one
    if one < 0 or values[other] > values[one]:
        return other
    if values[other] == values[one] and other < one:
        return other
    return one


@leaf
def rebuild(t: Tournament) -> None:
    """Play all matches again, after any number of changes to `values`: O(N)."""
    size = len(t.winners)
    for n in range(size - 1, 0, -1):
        if 2 * n >= size:
            t.winners[n] = winner_of_leaves(t.values, 2 * n - size)
        else:
            t.winners[n] = better(t.values, t.winners[2 * n], t.winners[2 * n + 1])


@leaf
def update(t: Tournament, i: int, value: float) -> None:
    """Give leaf i another value."""
    t.values[i] = value
    n = (len(t.winners) + i) // 2
    winner = winner_of_leaves(t.values, i)
    while True:
        settled = t.winners[n] == winner and winner != i
        t.winners[n] = winner
        if settled or n == 1:
            return
        winner = better(t.values, winner, t.winners[n ^ 1])
        n //= 2


@leaf
def champion(t: Tournament) -> int:
    """The leaf of the largest value; with all values −inf, leaf 0."""
    return int(t.winners[1])
