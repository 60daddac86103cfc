"""What the comparisons of dead-end elimination may be off by, and what removals may have cost.

A label goes if another is at least as good, in sums that are rounded. Where the two are closer than
rounding can tell, the removal may raise the minimum by as much: these doubts are added up, and are
part of the margin of what is proven afterwards. Equal labels can go: that is what ties are.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import TABLE
from policrf.solvers.claims import UNIT
from policrf.types import FloatArray, IntArray


def comparison_doubts(a: Arrays) -> FloatArray:
    """`[N + 1, 2]`: what one comparison at node i rounds, and Σ|f_c| at most over its tables.

    The first column of row N is where lost energy is added up.
    """
    n_nodes = len(a.unary)
    doubt = np.zeros((n_nodes + 1, 2))
    operations = np.diff(a.adj_ptr) + a.unary.shape[1] * np.diff(a.node_ptr) + 4
    doubt[:n_nodes, 0] = 4 * UNIT * operations
    tables = np.flatnonzero(a.clique_kind == TABLE)
    if len(tables):
        largest = np.zeros(len(a.clique_kind))
        largest[tables] = _largest(a, tables)
        owner = np.repeat(np.arange(n_nodes), np.diff(a.node_ptr))
        doubt[:n_nodes, 1] = np.bincount(owner, 2 * largest[a.node_clique], n_nodes)
    return doubt


def _largest(a: Arrays, tables: IntArray) -> FloatArray:
    """The largest finite |f_c|."""
    first, index, which = np.unique(a.data_start[tables], return_index=True, return_inverse=True)
    ends = np.stack([first, first + a.data_size[tables][index]], axis=1).reshape(-1)
    sizes = np.append(np.where(np.isfinite(a.data), np.abs(a.data), 0.0), 0.0)
    largest = np.maximum.reduceat(sizes, ends)[::2][which.reshape(-1)]
    return np.asarray(np.abs(a.clique_weight[tables]) * largest)
