"""A planar graph like that of superpixels: a jittered lattice of N points, Delaunay edges."""

from __future__ import annotations

import numpy as np
from scipy.spatial import Delaunay

from policrf.types import FloatArray, IntArray

_JITTER = 0.35
"""Largest displacement of a point, in cells of the lattice."""
_LONGEST = 2.5
"""Longest edge kept, in cells. Neighbours in the lattice are at most 2.2 apart, so that the edges
of the minimum spanning tree, all of them Delaunay edges, stay: the graph is connected."""


def lattice_points(rng: np.random.Generator, n_nodes: int) -> FloatArray:
    """N points of the unit square `[N, 2]`, row by row as superpixels are numbered."""
    n_rows = max(1, round(np.sqrt(n_nodes)))
    row = (np.arange(n_nodes) * n_rows) // n_nodes
    per_row = np.bincount(row, minlength=n_rows)
    start = np.cumsum(per_row) - per_row
    column = np.arange(n_nodes) - start[row]
    jitter = rng.uniform(-_JITTER, _JITTER, (n_nodes, 2))
    x = (column + 0.5 + jitter[:, 0]) / per_row[row]
    y = (row + 0.5 + jitter[:, 1]) / n_rows
    return np.stack([x, y], axis=1)


def planar_edges(points: FloatArray) -> IntArray:
    """The Delaunay edges `[M, 2]`, each once with the smaller node first, in order."""
    triangles = Delaunay(points).simplices.astype(np.int64)
    ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    codes = np.unique(ends.min(axis=1) * len(points) + ends.max(axis=1))
    edges = np.stack([codes // len(points), codes % len(points)], axis=1)
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    return np.asarray(edges[lengths <= _LONGEST / np.sqrt(len(points))])
