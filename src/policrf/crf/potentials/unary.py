"""The unary energies [N, L], and which labels a node has at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_floats, as_integers, frozen
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


def checked_unary(unary: ArrayLike) -> FloatArray:
    """Read-only `[N, L]`; +inf forbids a label, but every node keeps one that is allowed."""
    array = as_floats("unary", "unary", unary)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidPotential(
            f"unary: it must have shape [N, L] with N, L ≥ 1, not {list(array.shape)}"
        )
    lowest = array.min(axis=1)
    if not np.isfinite(lowest).all():
        _explain(array)
    return array


def _explain(array: FloatArray) -> None:
    bad = np.argwhere(np.isnan(array) | np.isneginf(array))
    if len(bad):
        node, label = bad[0]
        raise InvalidPotential(
            f"unary: node {node}, label {label} is {array[node, label]}; "
            "energies are finite, or +inf where a label is forbidden"
        )
    empty = np.flatnonzero(np.isposinf(array).all(axis=1))
    if empty.size:
        raise InvalidPotential(f"unary: node {empty[0]} has no allowed label (all are +inf)")


def checked_cardinalities(cardinalities: ArrayLike | None, unary: FloatArray) -> IntArray:
    """Number of labels of every node, `[N]`; labels beyond it must be +inf in `unary`."""
    n_nodes, n_labels = unary.shape
    if cardinalities is None:
        return frozen(np.full(n_nodes, n_labels, np.int64))
    array = as_integers("cardinalities", "cardinalities", cardinalities)
    if array.shape != (n_nodes,):
        raise InvalidPotential(
            f"cardinalities: shape {array.shape}, but the unary has {n_nodes} nodes"
        )
    bad = np.flatnonzero((array < 1) | (array > n_labels))
    if bad.size:
        raise InvalidPotential(
            f"cardinalities: node {bad[0]} has {array[bad[0]]}, outside 1 … {n_labels}"
        )
    beyond = np.arange(n_labels) >= array[:, None]
    wrong = np.argwhere(beyond & ~np.isposinf(unary))
    if len(wrong):
        node, label = wrong[0]
        raise InvalidPotential(
            f"unary: node {node} has {array[node]} labels, so label {label} must be +inf, "
            f"not {unary[node, label]}"
        )
    return array
