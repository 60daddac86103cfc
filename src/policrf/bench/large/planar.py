"""Proven minima of the two-dimensional Ising glass, by perfect matching (Bieche et al. 1980).

A square of the grid with an odd number of edges of negative weight is frustrated: whatever the
labels are, an odd number of its edges is not satisfied. In the dual graph, whose nodes are the
squares and the outside, the edges that are not satisfied are a set of paths that join frustrated
squares in pairs or lead outside. The cheapest such set is a perfect matching of least weight, which
pymatching finds exactly; its paths bound the two labels' domains.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from policrf.crf.model import CRF
from policrf.crf.potentials import Potts
from policrf.errors import UnsupportedPotential
from policrf.optional import need
from policrf.types import IntArray


def ising_minimum(crf: CRF) -> IntArray:
    """Labels [N] of least energy of a square grid of Potts edges, two labels and no unaries."""
    pymatching = need("pymatching", "pymatching", "peers")
    side, edges, weights = _square(crf)
    faces = _faces_of_edges(side, edges)
    negative = np.zeros((side - 1) ** 2 + 1, np.int64)
    for which in (0, 1):
        np.add.at(negative, faces[:, which], weights < 0)
    matching = pymatching.Matching()
    outside = len(negative) - 1
    led_outside = set()
    for number in np.argsort(np.abs(weights), kind="stable").tolist():
        inside, other = sorted(faces[number].tolist())
        weight = abs(float(weights[number]))
        if other < outside:
            matching.add_edge(inside, other, weight=weight, fault_ids=number)
        elif inside not in led_outside:  # of two edges outside, in a corner, the cheaper one
            led_outside.add(inside)
            matching.add_boundary_edge(inside, weight=weight, fault_ids=number)
    broken = np.asarray(matching.decode(negative[:-1] % 2), np.bool_)
    broken = np.concatenate([broken, np.zeros(len(edges) - len(broken), np.bool_)])
    return _labels(crf.n_nodes, edges, (weights >= 0) == broken)


def _square(crf: CRF) -> tuple[int, IntArray, NDArray[np.float64]]:
    """Side, edges and weights, if it is such a CRF."""
    side = math.isqrt(crf.n_nodes)
    groups = crf.potentials
    fits = (
        side * side == crf.n_nodes and crf.n_labels == 2 and len(groups) == 1
        and isinstance(groups[0], Potts) and not np.any(crf.unary)
        and len(groups[0].edges) == 2 * side * (side - 1)
    )  # fmt: skip
    if not fits:
        raise UnsupportedPotential(
            "matching takes a square grid of Potts edges with two labels and without unaries"
        )
    edges, weights = np.asarray(crf.arrays.edges), np.asarray(crf.arrays.edge_weights)
    if (weights != np.round(weights)).any():
        raise UnsupportedPotential("matching takes whole weights: others are rounded on its way")
    step = edges[:, 1] - edges[:, 0]
    if not (((step == 1) & (edges[:, 1] % side > 0)) | (step == side)).all():
        raise UnsupportedPotential("matching takes the edges of a square grid, row by row")
    return side, edges, weights


def _faces_of_edges(side: int, edges: IntArray) -> IntArray:
    """The two squares beside every edge `[E, 2]`; the outside is number (side − 1)²."""
    row, column = np.divmod(edges[:, 0], side)
    across = edges[:, 1] == edges[:, 0] + 1
    before = np.where(across, row - 1, row), np.where(across, column, column - 1)
    after = row, column

    def number(place: tuple[IntArray, IntArray]) -> IntArray:
        inside = np.all([(at >= 0) & (at < side - 1) for at in place], axis=0)
        return np.asarray(np.where(inside, place[0] * (side - 1) + place[1], (side - 1) ** 2))

    return np.stack([number(before), number(after)], axis=1)


def _labels(n_nodes: int, edges: IntArray, differ: NDArray[np.bool_]) -> IntArray:
    """Labels [N] whose ends differ exactly at the edges where `differ` [E]; node 0 has label 0."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import breadth_first_order

    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), (n_nodes, n_nodes)).tocsr()
    order, parents = breadth_first_order(graph, 0, directed=False)
    change = {(int(i), int(j)): bool(d) for (i, j), d in zip(edges.tolist(), differ, strict=True)}
    labels = np.zeros(n_nodes, np.int64)
    for i in order[1:].tolist():
        parent = int(parents[i])
        labels[i] = labels[parent] ^ change[min(i, parent), max(i, parent)]
    return labels
