"""Cost functions with a name, as toulbar2's files have them: predicates and global functions.

Those that count labels become `CountFunction` groups of any size, the others tables of up to
`TABLE_LIMIT` entries. Costs of at least the file's top forbid. Each function here takes the costs
as numbers and labels as label numbers; `wcsp` and `cfn` parse their own way of writing them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from policrf.crf.io.factors import Factor
from policrf.crf.potentials import CountFunction, Potential
from policrf.types import FloatArray, IntArray

TABLE_LIMIT = 2**20  # entries of a named function that is written out
ARITHMETIC = (">=", ">", "<=", "<", "=", "disj", "sdisj")
GLOBALS = (
    "salldiff", "salldiffdp", "sgcc", "sgccdp", "samong", "samongdp", "clique", "knapsack",
    "knapsackp",
)  # fmt: skip
SUPPORTED = ", ".join((*ARITHMETIC, *GLOBALS))


class Counted(NamedTuple):
    """Energies of how many nodes of a scope have a label, for some labels."""

    scope: tuple[int, ...]
    labels: tuple[int, ...] | None  # None: all
    values: FloatArray  # [labels, size + 1], or [size + 1] for all alike


class TooWide(ValueError):
    """A named function that cannot be counted and is too large for a table."""


def forbid(costs: FloatArray, top: float) -> FloatArray:
    """+inf where a cost reaches the top."""
    return np.where(costs >= top, np.inf, costs)


def arithmetic(
    name: str, scope: Sequence[int], cards: IntArray, numbers: Sequence[float], top: float
) -> Factor:
    """A soft relation of two numbers x, y: what it is short by, up to `delta`; then forbidden."""
    x = np.arange(cards[scope[0]], dtype=float)[:, None]
    y = np.arange(cards[scope[1]], dtype=float)[None, :]
    if name == "disj":
        after, before, penalty = numbers[1], numbers[0], numbers[2]
        apart = (x >= y + after) | (y >= x + before)
        return Factor(tuple(scope), forbid(np.where(apart, 0.0, penalty), top))
    if name == "sdisj":
        before, after, x_end, y_end, x_cost, y_cost = numbers
        apart = (x >= y + after) | (y >= x + before) | (x >= x_end) | (y >= y_end)
        costs = np.where(x == x_end, x_cost, 0.0) + np.where(y == y_end, y_cost, 0.0)
        costs = np.where(apart & (x <= x_end) & (y <= y_end), costs, np.inf)
        return Factor(tuple(scope), forbid(costs, top))
    shift, delta = numbers
    short = {
        ">=": y + shift - x,
        ">": y + shift + 1 - x,
        "<=": x - shift - y,
        "<": x - shift + 1 - y,
        "=": np.abs(y + shift - x),
    }[name]
    short = np.maximum(short, 0.0)
    return Factor(tuple(scope), forbid(np.where(short <= delta, short, np.inf), top))


def all_different(
    scope: Sequence[int], cards: IntArray, metric: str, cost: float, top: float
) -> Factor | Counted:
    """`cost` for every node beyond the first with a label ("var"), or for every equal pair."""
    count = np.arange(len(scope) + 1, dtype=float)
    excess = np.maximum(count - 1, 0.0) if metric == "var" else count * (count - 1) / 2
    return _counted(scope, cards, None, _times(excess, cost, top), top)


def cardinality(
    scope: Sequence[int], cards: IntArray, metric: str, cost: float, top: float,
    bounds: Mapping[int, tuple[float, float]],
) -> Factor | Counted:  # fmt: skip
    """`cost` for every node too few or too many of a label, by `bounds`."""
    count, labels = np.arange(len(scope) + 1, dtype=float), tuple(bounds)
    ends = np.array(list(bounds.values())).reshape(-1, 2)
    short = np.maximum(ends[:, :1] - count, 0.0)
    over = np.maximum(count - ends[:, 1:], 0.0)
    if metric == "var" and cost < top:
        # A relabel mends one that is short and one that is over: the larger sum counts.
        def energy(label: list[IntArray]) -> FloatArray:
            sums = [np.zeros(label[0].shape), np.zeros(label[0].shape)]
            for row, value in enumerate(labels):
                have = sum((axis == value).astype(np.int64) for axis in label)
                sums[0] = sums[0] + short[row][have]
                sums[1] = sums[1] + over[row][have]
            return cost * np.maximum(*sums)

        return tabulated(scope, cards, energy, top)
    return _counted(scope, cards, labels, _times(short + over, cost, top), top)


def among(
    scope: Sequence[int], cards: IntArray, cost: float, top: float, low: float, high: float,
    labels: Sequence[int],
) -> Factor | Counted:  # fmt: skip
    """`cost` for every node too few or too many with one of the labels."""
    count = np.arange(len(scope) + 1, dtype=float)
    off = _times(np.maximum(np.maximum(low - count, count - high), 0.0), cost, top)
    if len(labels) == 1:
        return _counted(scope, cards, tuple(labels), off[None], top)

    def energy(label: list[IntArray]) -> FloatArray:
        return np.asarray(off[sum(np.isin(axis, labels).astype(np.int64) for axis in label)])

    return tabulated(scope, cards, energy, top)


def at_most_one(
    scope: Sequence[int], cards: IntArray, labels: Sequence[Sequence[int]]
) -> Factor | Counted:
    """Forbidden where two nodes have a label of their own list."""
    forbidden = np.where(np.arange(len(scope) + 1) > 1, np.inf, 0.0)
    if all(list(own) == list(labels[0]) and len(own) == 1 for own in labels):
        return _counted(scope, cards, tuple(labels[0]), forbidden[None], np.inf)

    def energy(label: list[IntArray]) -> FloatArray:
        listed = [
            np.isin(axis, own).astype(np.int64) for axis, own in zip(label, labels, strict=True)
        ]
        return np.asarray(forbidden[sum(listed)])

    return tabulated(scope, cards, energy, np.inf)


def knapsack(
    scope: Sequence[int], cards: IntArray, capacity: float, weights: Sequence[Mapping[int, float]]
) -> Factor | Counted:
    """Forbidden where the weights of the labels, 0 where none is given, sum to less."""
    rows = [
        np.array([own.get(label, 0.0) for label in range(cards[node])])
        for node, own in zip(scope, weights, strict=True)
    ]

    def energy(label: list[IntArray]) -> FloatArray:
        total: FloatArray = np.zeros(label[0].shape)
        for row, axis in zip(rows, label, strict=True):
            total = total + row[axis]
        return np.where(total >= capacity, 0.0, np.inf)

    return tabulated(scope, cards, energy, np.inf)


def tabulated(
    scope: Sequence[int],
    cards: IntArray,
    energy: Callable[[list[IntArray]], FloatArray],
    top: float,
) -> Factor:
    """The function as a table; `energy` gets the labels of every node of the scope."""
    shape = tuple(cards[list(scope)].tolist())
    if float(np.prod(np.array(shape, float))) > TABLE_LIMIT:
        raise TooWide(f"over {len(scope)} nodes needs a table of more than {TABLE_LIMIT} entries")
    axes = list(np.indices(shape))
    return Factor(tuple(scope), forbid(np.broadcast_to(energy(axes), shape), top))


def _times(counts: FloatArray, cost: float, top: float) -> FloatArray:
    """cost · counts, forbidden where that reaches the top."""
    return forbid(counts * cost, top)


def _counted(
    scope: Sequence[int], cards: IntArray, labels: tuple[int, ...] | None, values: FloatArray,
    top: float,
) -> Factor | Counted:  # fmt: skip
    """A pair as a table, which every solver takes; else a function of counts.

    Beyond pairs, no sum over labels is compared with the top: each label's cost is.
    """
    if len(scope) > 2 and values.size:
        return Counted(tuple(scope), labels, values)
    rows = np.atleast_2d(values)

    def energy(label: list[IntArray]) -> FloatArray:
        total: FloatArray = np.zeros(label[0].shape)
        for row, value in enumerate(range(int(cards.max())) if labels is None else labels):
            have = sum((axis == value).astype(np.int64) for axis in label)
            total = total + rows[row if labels is not None else 0][have]
        return total

    return tabulated(scope, cards, energy, top)


def count_groups(counted: Sequence[Counted]) -> list[Potential]:
    """One group for all functions of counts that are alike."""
    alike: dict[tuple[object, ...], list[Counted]] = {}
    for one in counted:
        key = (one.labels, one.values.shape, one.values.tobytes())
        alike.setdefault(key, []).append(one)
    return [
        CountFunction([one.scope for one in ones], ones[0].values, labels=ones[0].labels)
        for ones in alike.values()
    ]
