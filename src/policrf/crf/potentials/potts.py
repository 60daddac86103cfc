"""Potts: Σ over edges of w_ij [y_i ≠ y_j] (the paper's section "Energy Function")."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_integers, per_clique
from policrf.crf.potentials.base import Fields, Potential
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray

MANY_NODES = 2**31  # below it, two nodes fit into one integer


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
        self.edges: IntArray = checked_edges(self.name, edges)
        self.weights: FloatArray = per_clique(self.name, "weights", weights, len(self.edges))
        self._seal()

    def fields(self) -> Fields:
        """The edges and their weights."""
        return {"edges": self.edges, "weights": self.weights}

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse an edge to a node that the CRF does not have."""
        checked_edges(self.name, self.edges, n_nodes)

    def __len__(self) -> int:
        return len(self.edges)

    def __repr__(self) -> str:
        return f"Potts({len(self)} edges)"


def checked_edges(group: str, edges: ArrayLike, n_nodes: int | None = None) -> IntArray:
    """Edges `[E, 2]` as integers, each once and between two nodes, of 0 … n_nodes − 1 if given."""
    array = as_integers(group, "edges", edges)
    if array.size == 0:
        array = as_integers(group, "edges", np.zeros((0, 2), np.int64))
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidPotential(f"{group}: edges must have shape [E, 2], not {array.shape}")
    bad = np.flatnonzero((array[:, 0] < 0) | (array[:, 1] < 0))
    if bad.size:
        raise InvalidPotential(
            f"{group}: edge {bad[0]} is {array[bad[0]].tolist()}; nodes count from 0"
        )
    if n_nodes is None:
        _refuse_repeated(group, array)
        return array
    bad = np.flatnonzero((array[:, 0] >= n_nodes) | (array[:, 1] >= n_nodes))
    if bad.size:
        raise InvalidPotential(
            f"{group}: edge {bad[0]} is {array[bad[0]].tolist()}, "
            f"but the CRF has nodes 0 … {n_nodes - 1}"
        )
    return array


def _refuse_repeated(group: str, edges: IntArray) -> None:
    # Not edges.min(axis=1): numpy is ten times slower along a short axis.
    low, high = np.minimum(*edges.T), np.maximum(*edges.T)
    if (low == high).any():
        at = int(np.argmax(low == high))
        raise InvalidPotential(f"{group}: edge {at} joins node {low[at]} to itself")
    if high.max(initial=0) < MANY_NODES:
        keys = low * MANY_NODES + high
        keys.sort()
        if not (keys[1:] == keys[:-1]).any():
            return
    order = np.lexsort((high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    if same.any():
        k = int(np.argmax(same))
        first, second = sorted((int(order[k]), int(order[k + 1])))
        raise InvalidPotential(
            f"{group}: edge {second} {edges[second].tolist()} repeats edge {first}; "
            "add their weights up and give the edge once"
        )
