"""Intersection over union by the VOC protocol: one confusion matrix over the whole data set.

A superpixel's truth is the majority label of its non-void pixels; pixel figures come from the exact
label counts of every superpixel, so no pixel map is needed. Void counts nowhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.types import FloatArray, IntArray


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
    pairs = majority * n_labels + labels[known]
    return np.bincount(pairs, minlength=n_labels * n_labels).reshape(n_labels, n_labels)


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
