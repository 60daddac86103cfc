"""Frustrated fields: large sparse CRFs whose terms contradict each other.

No cut takes them, their bounds are far from their minima, and single relabels end in one of very
many local minima. Tables have entries uniform in [−1, 1], as unaries have.
"""

from __future__ import annotations

import math

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Potts, Tables
from policrf.errors import InvalidOption, UnknownName
from policrf.types import IntArray

FRUSTRATED: dict[str, str] = {
    "random": "Random tables on the edges of a random graph.",
    "glass": "Potts edges of a random graph, with normal weights of either sign.",
    "third_order": "Random tables of three random nodes each.",
    "ising": "The ±1 spin glass on a square grid: two labels, no unaries.",
    "grid": "Random tables on the edges of a square grid.",
}
"""What each family is, by name."""


def make_frustrated(
    name: str, n_nodes: int, n_labels: int = 4, degree: float = 8.0, seed: int = 0
) -> CRF:
    """A CRF of a family; the same one for the same arguments.

    Parameters
    ----------
    name
        One of `FRUSTRATED`.
    n_nodes
        Number of nodes, 9 or more; grids have the largest square in it.
    n_labels
        Number of labels, 2 or more; "ising" has two in any case.
    degree
        Terms of a node, on average; grids have four in any case.
    seed
        Of the graph and of all costs.

    >>> make_frustrated("random", 100, degree=4)
    CRF(100 nodes, 4 labels, Tables(200 cliques, sizes 2–2))
    """
    if name not in FRUSTRATED:
        raise UnknownName(
            f"no family of frustrated fields is called {name!r}; there are {', '.join(FRUSTRATED)}"
        )
    if n_nodes < 9 or n_labels < 2 or not 0 < degree <= (n_nodes - 1) / 2:
        raise InvalidOption(
            "a frustrated field needs 9 nodes or more, 2 labels or more, and a degree above 0 and "
            f"up to half of its nodes, not {n_nodes}, {n_labels} and {degree}"
        )
    rng = np.random.default_rng(seed)
    if name in ("ising", "grid"):
        side = math.isqrt(n_nodes)
        edges = grid_edges(side, side)
        n_nodes = side * side
    else:
        order = 3 if name == "third_order" else 2
        edges = random_scopes(n_nodes, round(n_nodes * degree / order), order, rng)
    if name == "ising":
        return CRF(np.zeros((n_nodes, 2)), Potts(edges, rng.choice([-1.0, 1.0], len(edges))))
    unary = rng.uniform(-1, 1, (n_nodes, n_labels))
    if name == "glass":
        return CRF(unary, Potts(edges, rng.normal(size=len(edges))))
    shape = (len(edges), *[n_labels] * edges.shape[1])
    return CRF(unary, Tables(edges, rng.uniform(-1, 1, shape)))


def grid_edges(height: int, width: int) -> IntArray:
    """The edges of a grid `[E, 2]`, its nodes numbered row by row."""
    nodes = np.arange(height * width).reshape(height, width)
    across = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], 1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], 1)
    return np.concatenate([across, down])


def random_scopes(n_nodes: int, count: int, order: int, rng: np.random.Generator) -> IntArray:
    """`count` different sets of `order` random nodes `[count, order]`, in ascending order."""
    found = np.zeros((0, order), np.int64)
    while len(found) < count:
        drawn = np.sort(rng.integers(n_nodes, size=(count + 10, order)), axis=1)
        drawn = drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]
        found = np.unique(np.concatenate([found, drawn]), axis=0)
    chosen = rng.permutation(len(found))[:count]
    return np.asarray(found[np.sort(chosen)])
