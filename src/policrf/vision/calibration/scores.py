"""Scores of settings with standard errors, from counts an image: nothing is solved twice.

IoU of a class = Σ hits / (Σ truth + Σ predicted − Σ hits) over images, its mean over the classes is
the score. The standard error of a difference between two settings is the delete-one jackknife over
images of the *paired* difference: what both settings get wrong on an image cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policrf.types import FloatArray, IntArray

Chosen = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Counts:
    """Pixels of S settings on the same n images, by class."""

    hits: IntArray
    """`[S, n, L]`: pixels with the true label."""
    predicted: IntArray
    """`[S, n, L]`: pixels with the label, void left out."""
    truth: IntArray
    """`[n, L]`: pixels of the label."""

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def images(self) -> int:
        """n."""
        return len(self.truth)

    def settings(self, chosen: list[int]) -> Counts:
        """Some settings, in the given order."""
        return Counts(self.hits[chosen], self.predicted[chosen], self.truth)

    def on(self, images: NDArray[np.int64] | slice) -> Counts:
        """Some images."""
        return Counts(self.hits[:, images], self.predicted[:, images], self.truth[images])

    def classes(self, chosen: Chosen) -> Counts:
        """Some classes."""
        return Counts(self.hits[..., chosen], self.predicted[..., chosen], self.truth[..., chosen])


def label_counts(truth: IntArray, labels: IntArray) -> IntArray:
    """`[2, L]`: hits and predicted pixels of every label, from truth `[N, L]` and labels `[N]`."""
    n_labels = truth.shape[1]
    nodes = np.arange(len(labels))
    hits = np.bincount(labels, truth[nodes, labels], minlength=n_labels)
    predicted = np.bincount(labels, truth.sum(axis=1), minlength=n_labels)
    return np.stack([hits, predicted]).astype(np.int64)


def scores(counts: Counts) -> FloatArray:
    """Mean IoU of every setting over all images, `[S]`."""
    hits = counts.hits.sum(axis=1, dtype=np.float64)
    predicted = counts.predicted.sum(axis=1, dtype=np.float64)
    return _mean_iou(hits, predicted + counts.truth.sum(axis=0) - hits)


def scores_without(counts: Counts) -> FloatArray:
    """Mean IoU of every setting with each image left out, `[S, n]`."""
    union = counts.predicted + counts.truth - counts.hits
    hits = counts.hits.sum(axis=1, keepdims=True) - counts.hits
    return _mean_iou(
        hits.astype(np.float64), (union.sum(axis=1, keepdims=True) - union).astype(np.float64)
    )


def errors(without: FloatArray, reference: FloatArray | None = None) -> FloatArray:
    """Standard errors `[S]`: of the scores, or of their paired differences to a reference.

    Parameters
    ----------
    without
        Scores with each image left out, `[S, n]`.
    reference
        The same of one setting, `[n]`.
    """
    values = without if reference is None else without - reference
    n = values.shape[-1]
    if n < 2:
        return np.full(values.shape[:-1], np.inf)
    spread = values - values.mean(axis=-1, keepdims=True)
    return np.asarray(np.sqrt((n - 1) / n * (spread**2).sum(axis=-1)))


def frequent_classes(truth: IntArray, least: int) -> Chosen:
    """Which labels occur on at least `least` images, from pixels `[n, L]`."""
    return np.asarray((truth > 0).sum(axis=0) >= least)


def _mean_iou(hits: FloatArray, union: FloatArray) -> FloatArray:
    known = union > 0
    iou = np.divide(hits, union, out=np.zeros_like(hits), where=known)
    return np.asarray(iou.sum(axis=-1) / np.maximum(known.sum(axis=-1), 1))
