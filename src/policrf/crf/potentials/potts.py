"""Potts: Σ over edges of w_ij [y_i ≠ y_j] (the paper's section "Energy Function")."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_integers, per_clique
from policrf.crf.potentials.base import Fields, Potential
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class Potts(Potential):
    """w_ij for every edge whose ends have different labels.

    Parameters
    ----------
    edges
        Integers `[E, 2]`, each edge once, in either direction.
    weights
        w_ij, `[E]` or one number for all. Negative weights reward differing labels; some solvers
        refuse them.

    >>> Potts([[0, 1], [1, 2]], 1.0)
    Potts(2 edges)
    """

    term = "pairwise"
    short_name = "p"

    def __init__(self, edges: ArrayLike, weights: ArrayLike = 1.0) -> None:
        self.edges: IntArray = as_integers(self.name, "edges", edges)
        if self.edges.size == 0:
            self.edges = as_integers(self.name, "edges", np.zeros((0, 2), np.int64))
        if self.edges.ndim != 2 or self.edges.shape[1] != 2:
            raise InvalidPotential(f"Potts: edges must have shape [E, 2], not {self.edges.shape}")
        self.weights: FloatArray = per_clique(self.name, "weights", weights, len(self.edges))
        self._check_edges()
        self._seal()

    def fields(self) -> Fields:
        """The edges and their weights."""
        return {"edges": self.edges, "weights": self.weights}

    def _check_edges(self) -> None:
        low, high = self.edges.min(axis=1), self.edges.max(axis=1)
        if (low < 0).any():
            at = int(np.argmax(low < 0))
            raise InvalidPotential(
                f"Potts: edge {at} is {self.edges[at].tolist()}; nodes count from 0"
            )
        if (low == high).any():
            at = int(np.argmax(low == high))
            raise InvalidPotential(f"Potts: edge {at} joins node {low[at]} to itself")
        order = np.lexsort((high, low))
        same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
        if same.any():
            k = int(np.argmax(same))
            first, second = sorted((int(order[k]), int(order[k + 1])))
            raise InvalidPotential(
                f"Potts: edge {second} {self.edges[second].tolist()} repeats edge {first}; "
                "add their weights up and give the edge once"
            )

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse an edge to a node that the CRF does not have."""
        bad = np.flatnonzero((self.edges >= n_nodes).any(axis=1))
        if bad.size:
            raise InvalidPotential(
                f"Potts: edge {bad[0]} is {self.edges[bad[0]].tolist()}, "
                f"but the CRF has nodes 0 … {n_nodes - 1}"
            )

    def __len__(self) -> int:
        return len(self.edges)

    def __repr__(self) -> str:
        return f"Potts({len(self)} edges)"
