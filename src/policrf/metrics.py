"""Intersection over union by the VOC protocol: one confusion matrix over the whole data set.

A superpixel's truth is the majority label of its non-void pixels; pixel figures come from the exact
label counts of every superpixel, so no pixel map is needed. Void counts nowhere. Truth is always
counts `[N, L]`, predictions are labels `[N]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policrf.types import VOID, FloatArray, IntArray, LabelMap

FREQUENT = 10
"""Images that a class must occur in to count as frequent."""


def pixel_confusion(truth: IntArray, labels: IntArray) -> IntArray:
    """`[L, L]` pixels by (true label, predicted label), from label counts `[N, L]`."""
    n_labels = truth.shape[1]
    confusion = np.zeros((n_labels, n_labels), np.int64)
    np.add.at(confusion.T, labels, truth)
    return confusion


def node_confusion(truth: IntArray, labels: IntArray) -> IntArray:
    """`[L, L]` superpixels by (majority label, predicted label)."""
    n_labels = truth.shape[1]
    known = truth.sum(axis=1) > 0
    majority = truth[known].argmax(axis=1)
    return pair_counts(majority, labels[known], (n_labels, n_labels))


def map_confusion(truth: LabelMap, labels: LabelMap, n_labels: int) -> IntArray:
    """`[L, L]` pixels by (true label, label), from two label maps `[H, W]`; void is left out."""
    known = truth != VOID
    return pair_counts(truth[known], labels[known], (n_labels, n_labels))


def pair_counts(
    first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]], shape: tuple[int, int]
) -> IntArray:
    """`[rows, columns]`: how often each pair (first, second) occurs.

    >>> pair_counts(np.array([0, 1, 1]), np.array([2, 0, 0]), (2, 3)).tolist()
    [[0, 0, 1], [2, 0, 0]]
    """
    codes = first.astype(np.int64) * shape[1] + second
    return np.bincount(codes, minlength=shape[0] * shape[1]).reshape(shape)


def sparse_rows(matrix: IntArray) -> IntArray:
    """The nonzero entries of a matrix as rows (row, column, value), in order: the form on disk."""
    rows, columns = np.nonzero(matrix)
    return np.stack([rows, columns, matrix[rows, columns]], axis=1)


def dense_matrix(rows: ArrayLike, shape: tuple[int, int]) -> IntArray:
    """The matrix that `sparse_rows` made rows of."""
    entries = np.asarray(rows, np.int64).reshape(-1, 3)
    matrix = np.zeros(shape, np.int64)
    matrix[entries[:, 0], entries[:, 1]] = entries[:, 2]
    return matrix


def class_iou(confusion: NDArray[np.generic]) -> FloatArray:
    """IoU of every class, `[…, L]`; NaN where a class occurs neither in truth nor in prediction."""
    matrix = np.asarray(confusion, np.float64)
    hits = np.diagonal(matrix, axis1=-2, axis2=-1)
    union = matrix.sum(axis=-1) + matrix.sum(axis=-2) - hits
    blank = np.full_like(union, np.nan)
    return np.asarray(np.divide(hits, union, out=blank, where=union > 0))


def mean_iou(confusion: NDArray[np.generic], classes: NDArray[np.bool_] | None = None) -> float:
    """Mean over the classes that occur, or over those of them that are chosen."""
    return float(mean_over_classes(class_iou(confusion), classes))


def mean_over_classes(iou: FloatArray, classes: NDArray[np.bool_] | None = None) -> FloatArray:
    """Mean over the last axis, NaN left out; 0 where nothing is left."""
    chosen = iou if classes is None else iou[..., classes]
    known = np.isfinite(chosen)
    total = np.where(known, chosen, 0).sum(axis=-1)
    return np.asarray(total / np.maximum(known.sum(axis=-1), 1))


def pixel_accuracy(confusion: NDArray[np.generic]) -> float:
    """Share of the pixels that are right."""
    matrix = np.asarray(confusion, np.float64)
    return float(np.trace(matrix) / max(matrix.sum(), 1.0))
