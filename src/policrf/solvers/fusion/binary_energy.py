"""The energy of labelings between two: x_i = 0 keeps node i's label, x_i = 1 takes the proposal's.

Every term becomes a polynomial over its x: differences of its entries (a Möbius transform). An
axis along which both labelings agree has no difference, so that its x drops out by itself. A cubic
term gets an auxiliary z (Ishikawa, PAMI 2011), s = x_1 + x_2 + x_3:

    t x_1 x_2 x_3  =  min over z of  t z (s − 2)                               t < 0
                   =  min over z of  t [z (1 − s) + x_1 x_2 + x_2 x_3 + x_3 x_1]    t > 0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.types import FloatArray, IntArray

ORDER = 3  # members of the largest tables that are taken


class BinaryEnergy(NamedTuple):
    """Σ_i linear_i x_i + Σ_k weight_k x_i x_j, up to a constant; n variables, P products."""

    linear: FloatArray  # [n]; the nodes first, then the auxiliary variables
    pairs: IntArray  # [P, 2]; each pair once
    weights: FloatArray  # [P]


def between(a: Arrays, labels: IntArray, proposal: IntArray) -> BinaryEnergy:
    """The energy between two labelings [N] of Potts edges and tables of up to three nodes.

    What is forbidden costs more than all that is allowed can differ by.
    """
    nodes = np.arange(len(labels))
    terms = [(nodes[:, None], a.unary[nodes[:, None], np.stack([labels, proposal], axis=1)])]
    moves = labels != proposal
    edges = moves[a.edges].any(axis=1)
    terms.append((a.edges[edges], _potts(a, edges, labels, proposal)))
    touched = np.zeros(len(a.clique_kind), np.bool_)
    touched[np.repeat(np.arange(len(touched)), np.diff(a.clique_ptr))[moves[a.clique_nodes]]] = True
    sizes = np.diff(a.clique_ptr)
    for order in range(1, ORDER + 1):
        some = np.flatnonzero(touched & (sizes == order))
        terms.append(_tables(a, some, order, labels, proposal))
    return _joined(len(labels), [(scope, _finite(terms, values)) for scope, values in terms])


def _potts(a: Arrays, edges: IntArray, labels: IntArray, proposal: IntArray) -> FloatArray:
    """The four entries of every edge, `[E, 4]`, the second node's choice first to change."""
    first, second = a.edges[edges].T
    ends = [
        (one[first], other[second]) for one in (labels, proposal) for other in (labels, proposal)
    ]
    return np.stack([a.edge_weights[edges] * (x != y) for x, y in ends], axis=1)


def _tables(
    a: Arrays, cliques: IntArray, order: int, labels: IntArray, proposal: IntArray
) -> tuple[IntArray, FloatArray]:
    """Scopes `[T, order]` and entries `[T, 2^order]` of tables; the last node changes first."""
    entries = a.clique_ptr[cliques][:, None] + np.arange(order)
    scope, stride = a.clique_nodes[entries], a.clique_stride[entries]
    at = a.data_start[cliques][:, None] + np.zeros((1, 1), np.int64)
    for axis in range(order):
        own = np.stack([labels[scope[:, axis]], proposal[scope[:, axis]]], axis=1)
        steps = stride[:, axis, None] * own
        at = (at[:, :, None] + steps[:, None, :]).reshape(len(cliques), 2 ** (axis + 1))
    return scope, a.clique_weight[cliques][:, None] * a.data[at]


def _finite(terms: list[tuple[IntArray, FloatArray]], values: FloatArray) -> FloatArray:
    """`values` with a finite cost for +inf, far above the sum of all finite differences."""
    if np.isfinite(values).all():
        return values
    total = 1.0
    for _, entries in terms:
        finite = np.where(np.isfinite(entries), entries, np.nan)
        if finite.size and not np.isnan(finite).all():
            known = finite[~np.isnan(finite).all(axis=1)]
            total += float((np.nanmax(known, axis=1) - np.nanmin(known, axis=1)).sum())
    least = np.where(np.isfinite(values), values, np.inf).min(axis=1, keepdims=True)
    least = np.where(np.isfinite(least), least, 0.0)
    return np.where(np.isfinite(values), values, least + 2 * total)


def _joined(n_nodes: int, terms: list[tuple[IntArray, FloatArray]]) -> BinaryEnergy:
    linear = np.zeros(n_nodes)
    pairs, weights = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    for scope, values in terms:
        order = scope.shape[1]
        parts = _coefficients(values, order)
        for axis in range(order):
            np.add.at(linear, scope[:, axis], parts[(axis,)])
        for one in range(order):
            for other in range(one + 1, order):
                pairs.append(scope[:, [one, other]])
                weights.append(parts[(one, other)])
        if order == ORDER:
            linear, pair, weight = _without_cubics(linear, scope, parts[(0, 1, 2)])
            pairs.append(pair)
            weights.append(weight)
    return _added_up(linear, np.concatenate(pairs), np.concatenate(weights))


def _coefficients(values: FloatArray, order: int) -> dict[tuple[int, ...], FloatArray]:
    """The polynomial of tables `[T, 2^order]`: the factor `[T]` of the product of some axes."""
    cube = values.reshape(len(values), *([2] * order))
    for axis in range(1, order + 1):
        low, high = np.take(cube, 0, axis), np.take(cube, 1, axis)
        cube = np.stack([low, high - low], axis)
    found = {}
    for corner in np.ndindex(*([2] * order)):
        axes = tuple(axis for axis in range(order) if corner[axis])
        found[axes] = cube[(slice(None), *corner)]
    return found


def _without_cubics(
    linear: FloatArray, scope: IntArray, cubic: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """`linear` with auxiliary variables, and products instead of the cubic terms."""
    kept = cubic != 0.0
    scope, cubic = scope[kept], cubic[kept]
    z = len(linear) + np.arange(len(cubic))
    linear = np.append(linear, np.where(cubic < 0, -2.0 * cubic, cubic))
    toward = np.where(cubic < 0, cubic, -cubic)  # of z x_i, whichever the sign
    pairs = [np.stack([scope[:, axis], z], axis=1) for axis in range(ORDER)]
    weights = [toward] * ORDER
    for one, other in ((0, 1), (1, 2), (0, 2)):
        up = cubic > 0
        pairs.append(scope[up][:, [one, other]])
        weights.append(cubic[up])
    return linear, np.concatenate(pairs), np.concatenate(weights)


def _added_up(linear: FloatArray, pairs: IntArray, weights: FloatArray) -> BinaryEnergy:
    """One product for each pair; those that vanish are left out."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    key, position = np.unique(low * len(linear) + high, return_inverse=True)
    total = np.bincount(position.reshape(-1), weights, len(key)).astype(np.float64)
    key, total = key[total != 0.0], total[total != 0.0]
    return BinaryEnergy(linear, np.stack([key // len(linear), key % len(linear)], axis=1), total)
