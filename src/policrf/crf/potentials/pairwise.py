"""One table for all edges: Σ over edges of w_ij · T[y_i, y_j]."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import per_clique, require_label_axis, square_prices
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import TABLE, CliquePotential, Fields
from policrf.crf.potentials.co_occurrence import shared_data
from policrf.crf.potentials.potts import checked_edges
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class Pairwise(CliquePotential):
    """w_ij · table[y_i, y_j] for every edge; the table is kept once, not once an edge.

    All its nodes have as many labels as the table; where they differ, `Tables` says it.

    `truncated_linear` and `truncated_quadratic` build the usual tables; `Potts` is the simplest.

    Parameters
    ----------
    edges
        Integers `[E, 2]`, each edge once. The first node chooses the row of the table.
    table
        `[L, L]`; need not be symmetric; +inf forbids a pair, where all weights are above 0.
    weights
        w_ij, `[E]` or one number for all.

    >>> Pairwise([[0, 1], [1, 2]], [[0.0, 1.0], [1.0, 0.0]])
    Pairwise(2 edges, 2 labels)
    """

    term = "pairwise"
    short_name = "p"
    kind = TABLE

    def __init__(self, edges: ArrayLike, table: ArrayLike, weights: ArrayLike = 1.0) -> None:
        self.edges: IntArray = checked_edges(self.name, edges)
        self.cliques = Cliques.of_edges(self.edges)
        self.table: FloatArray = square_prices(self.name, table, field="table")
        self.weights: FloatArray = per_clique(self.name, "weights", weights, len(self.edges))
        bad = np.flatnonzero(self.weights <= 0)
        if bad.size and np.isinf(self.table).any():
            raise InvalidPotential(
                f"Pairwise: weights[{bad[0]}] is {self.weights[bad[0]]} and the table forbids "
                "pairs; weights must be above 0 then"
            )
        self._seal()

    @classmethod
    def truncated_linear(
        cls, edges: ArrayLike, n_labels: int, limit: float = np.inf, weights: ArrayLike = 1.0
    ) -> Self:
        """w_ij · min(|y_i − y_j|, limit)."""
        steps = np.arange(n_labels, dtype=float)
        return cls(edges, np.minimum(np.abs(steps[:, None] - steps), limit), weights)

    @classmethod
    def truncated_quadratic(
        cls, edges: ArrayLike, n_labels: int, limit: float = np.inf, weights: ArrayLike = 1.0
    ) -> Self:
        """w_ij · min((y_i − y_j)², limit)."""
        steps = np.arange(n_labels, dtype=float)
        return cls(edges, np.minimum((steps[:, None] - steps) ** 2, limit), weights)

    def columns(self, n_labels: int) -> Fields:
        """One table for all edges; the weights are its factors."""
        ones = np.ones(len(self), np.int64)
        strides = np.tile(np.array([n_labels, 1], np.int64), len(self))
        return {"weights": self.weights, "strides": strides, **shared_data(self.table, ones)}

    def fields(self) -> Fields:
        """The edges, the table and the weights."""
        return {"edges": self.edges, "table": self.table, "weights": self.weights}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The group whose `fields` these are."""
        return cls(**fields)

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse edges to nodes that the CRF does not have, and a table of other labels."""
        checked_edges(self.name, self.edges, n_nodes)
        require_label_axis(self.name, "table", len(self.table), int(cardinalities.max()))
        narrow = cardinalities < len(self.table)
        if narrow.any() and narrow[self.edges].any():
            fewer = int(np.argmax(narrow[self.edges].any(axis=1)))
            raise InvalidPotential(
                f"Pairwise: edge {fewer} {self.edges[fewer].tolist()} has a node with fewer "
                f"labels than the table's {len(self.table)}; give such edges as Tables"
            )

    def __repr__(self) -> str:
        return f"Pairwise({len(self)} edges, {len(self.table)} labels)"
