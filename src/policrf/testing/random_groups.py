"""Random groups of the built-in potentials, by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from policrf.crf.potentials import (
    Connectivity,
    CoOccurrence,
    CountFunction,
    LabelCost,
    LabelOrder,
    Pairwise,
    Potential,
    RobustPotts,
)
from policrf.types import FloatArray, IntArray

Builder = Callable[[np.random.Generator, IntArray, int, float, float], Potential | None]


def random_edges(rng: np.random.Generator, n_nodes: int) -> IntArray:
    """Each pair of nodes with probability one half, `[E, 2]`."""
    pairs = np.stack(np.triu_indices(n_nodes, 1), axis=1)
    return np.asarray(pairs[rng.random(len(pairs)) < 0.5])


def random_cliques(
    rng: np.random.Generator, n_nodes: int, count: int, largest: int
) -> list[IntArray]:
    """`count` cliques of 1 to `largest` nodes."""
    sizes = rng.integers(1, largest + 1, count)
    return [rng.permutation(n_nodes)[:size].astype(np.int64) for size in sizes]


def _some(rng: np.random.Generator, cards: IntArray) -> list[IntArray]:
    return random_cliques(rng, len(cards), int(rng.integers(1, 4)), len(cards))


def _prices(rng: np.random.Generator, n_labels: int, scale: float, forbidden: float) -> FloatArray:
    """`[L, L]`, not negative, zeros on the diagonal; some infinite."""
    prices = rng.random((n_labels, n_labels)) * scale
    prices[rng.random(prices.shape) < forbidden / 2] = np.inf
    np.fill_diagonal(prices, 0.0)
    return prices


def _pairwise(
    rng: np.random.Generator, cards: IntArray, n_labels: int, scale: float, forbidden: float
) -> Potential | None:
    edges = random_edges(rng, len(cards))
    edges = edges[(cards[edges] == n_labels).all(axis=1)]
    table = rng.normal(size=(n_labels, n_labels)) * scale
    table[rng.random(table.shape) < forbidden / 2] = np.inf
    return Pairwise(edges, table, rng.random(len(edges)) + 0.1) if len(edges) else None


def _label_cost(
    rng: np.random.Generator, cards: IntArray, n_labels: int, scale: float, forbidden: float
) -> Potential:
    cliques = _some(rng, cards)
    shape = [(), (n_labels,), (len(cliques), n_labels)][rng.integers(3)]
    costs = np.asarray(rng.random(shape) * scale)
    if costs.ndim:
        costs[rng.random(shape) < forbidden / 2] = np.inf
    return LabelCost(cliques, costs)


def _counts(
    rng: np.random.Generator, cards: IntArray, n_labels: int, scale: float, forbidden: float
) -> Potential:
    cliques = _some(rng, cards)
    form = int(rng.integers(4))
    if form == 0:
        return CountFunction.size_prior(cliques, [0, 2], scale, 2 * scale)
    if form == 1:
        return CountFunction.parity(cliques, scale, labels=[int(rng.integers(n_labels))])
    if form == 2:
        return CountFunction.between(cliques, 1, 3, scale)
    width = int(rng.integers(1, len(cards) + 2))
    values = rng.normal(size=(len(cliques), n_labels, width)) * scale
    values[rng.random(values.shape) < forbidden / 2] = np.inf
    return CountFunction(cliques, values)


def _co_occurrence(
    rng: np.random.Generator, cards: IntArray, n_labels: int, scale: float, forbidden: float
) -> Potential:
    half = np.triu(_prices(rng, n_labels, scale, forbidden), 1)
    return CoOccurrence(_some(rng, cards), half + half.T)


def _robust_potts(
    rng: np.random.Generator, cards: IntArray, n_labels: int, scale: float, forbidden: float
) -> Potential:
    cliques = _some(rng, cards)
    own = rng.random(n_labels) * scale / 2
    penalties = (1 + rng.random(len(cliques))) * scale
    return RobustPotts(cliques, penalties, rng.integers(1, 4, len(cliques)), own)


def _connectivity(
    rng: np.random.Generator, cards: IntArray, n_labels: int, scale: float, forbidden: float
) -> Potential:
    cliques = _some(rng, cards)
    labels = None if rng.random() < 0.5 else [int(rng.integers(n_labels))]
    penalties = rng.random(len(cliques)) * scale
    return Connectivity(cliques, random_edges(rng, len(cards)), penalties, labels)


def _order(
    rng: np.random.Generator, cards: IntArray, n_labels: int, scale: float, forbidden: float
) -> Potential:
    cap = np.inf if rng.random() < 0.5 else 2 * scale
    return LabelOrder(_some(rng, cards), _prices(rng, n_labels, scale, forbidden), cap)


BUILT_IN: dict[str, Builder] = {
    "pairwise": _pairwise,
    "label_cost": _label_cost,
    "counts": _counts,
    "co_occurrence": _co_occurrence,
    "robust_potts": _robust_potts,
    "connectivity": _connectivity,
    "order": _order,
}
