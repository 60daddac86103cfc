"""Grids: a CRF over the pixels of an image, from unaries `[H, W, L]`.

Node (y, x) is number y · W + x, so that `solution.labels.reshape(H, W)` is the labeled image.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from policrf.argument_types import typed
from policrf.crf.checks import as_floats
from policrf.crf.model import CRF
from policrf.crf.potentials import Pairwise, Potential, Potts
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray

STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (down, right) from a pixel to its later neighbours
NEIGHBOURS = {4: 2, 8: 4}  # connectivity -> how many of the steps


@typed(InvalidPotential)
def grid(
    unary: ArrayLike,
    weights: ArrayLike = 1.0,
    *,
    connectivity: int = 4,
    table: ArrayLike | None = None,
) -> CRF:
    """A CRF whose nodes are pixels and whose edges tie neighbours.

    Parameters
    ----------
    unary
        `[H, W, L]`; +inf forbids a label.
    weights
        Of the edges: one number, or an image `[H, W]`, of which an edge takes the mean of its ends.
        Diagonal edges count 1 / √2.
    connectivity
        4, or 8 with diagonals.
    table
        What a pair of labels costs, `[L, L]`, times the weight; 1 for different ones without it.

    >>> import numpy as np, policrf as pc
    >>> noisy = np.array([[0.1, 0.2, 0.9], [0.3, 0.8, 1.0]])
    >>> crf = pc.grid(np.stack([noisy, 1 - noisy], axis=2), 0.2)
    >>> pc.solve(crf, "exact").labels.reshape(2, 3).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    costs = unary if isinstance(unary, np.ndarray) else as_floats("grid", "unary", unary)
    if costs.ndim != 3 or 0 in costs.shape:
        raise InvalidPotential(f"unary has shape {costs.shape}; a grid takes [H, W, L]")
    if connectivity not in NEIGHBOURS:
        raise InvalidPotential(f"connectivity is {connectivity}; it must be 4 or 8")
    shape = costs.shape[:2]
    given = as_floats("grid", "weights", weights)
    if given.shape not in ((), shape):
        raise InvalidPotential(f"weights has shape {given.shape}; give a number, or {list(shape)}")
    edges, values = grid_edges(np.broadcast_to(given, shape), NEIGHBOURS[connectivity])
    term: Potential = Potts(edges, values) if table is None else Pairwise(edges, table, values)
    return CRF(costs.reshape(-1, costs.shape[2]), term)


def grid_edges(weights: FloatArray, steps: int) -> tuple[IntArray, FloatArray]:
    """The edges `[E, 2]` of the first steps, and their weights `[E]`."""
    nodes = np.arange(weights.size).reshape(weights.shape)
    pairs, values = [], []
    for down, right in STEPS[:steps]:
        rows = slice(0, weights.shape[0] - down), slice(down, None)
        if right >= 0:
            columns = slice(0, weights.shape[1] - right), slice(right, None)
        else:
            columns = slice(1, None), slice(0, weights.shape[1] - 1)
        ends = [nodes[r, c].ravel() for r, c in zip(rows, columns, strict=True)]
        pairs.append(np.stack(ends, axis=1))
        mean = weights.ravel()[pairs[-1]].mean(axis=1)
        values.append(mean / np.hypot(down, right))
    return np.concatenate(pairs), np.concatenate(values)
