"""f_i = −log of the superpixel's mean class distribution (section "Implementation details").

Or, per pixel, minus the mean of the pixels' log-probabilities (`Energy.unary`).

Scores of any resolution are interpolated to the pixels first, then turned into probabilities, then
averaged: the mean of distributions, not the distribution of a mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import kernel
from policrf.crf.io.npy import read_arrays
from policrf.errors import InvalidFile
from policrf.types import Float32Array, IntArray, Segments
from policrf.vision.nets.grids import Grid
from policrf.vision.superpixels.sums import count_pixels, sums

SMALLEST = np.float32(1e-9)  # of the probabilities whose logarithm is taken

ScoreKind = Literal["logits", "probabilities"]


def pixel_distribution(
    grids: Sequence[Grid], height: int, width: int, kind: ScoreKind
) -> Float32Array:
    """Class probabilities of every pixel `[C, H, W]`; overlapping windows are averaged."""
    if len(grids) == 1 and grids[0].window == (0, 0, height, width):
        return _probabilities(grids[0], kind)
    total = np.zeros((grids[0].values.shape[2], height, width), np.float32)
    for grid in grids:
        top, left, bottom, right = grid.window
        total[:, top:bottom, left:right] += _probabilities(grid, kind)
    total /= total.sum(axis=0)
    return total


def _probabilities(grid: Grid, kind: ScoreKind) -> Float32Array:
    values = grid.at_pixels()
    if kind == "logits":
        values -= values.max(axis=0)
        np.exp(values, out=values)
    total = values.sum(axis=0)
    values /= np.where(total > 0, total, 1)
    return values


def merge_classes(
    distribution: Float32Array, labels: NDArray[np.int64], n_labels: int
) -> Float32Array:
    """Add up the probabilities of the net's classes `[C, H, W]` that share a label, `[L, H, W]`."""
    if np.array_equal(labels, np.arange(n_labels)):
        return distribution
    merged = np.zeros((n_labels, *distribution.shape[1:]), np.float32)
    for plane, label in zip(distribution, labels, strict=True):
        merged[label] += plane
    return merged


@kernel
def best_labels(distribution: Float32Array) -> NDArray[np.int32]:
    """The most probable label of every pixel of `[L, H, W]`, the first of equals, `[H, W]`."""
    height, width = distribution.shape[1], distribution.shape[2]
    labels = np.zeros((height, width), np.int32)
    highest = distribution[0].copy()
    for label in range(1, len(distribution)):
        for y in range(height):
            plane, top, row = distribution[label, y], highest[y], labels[y]
            for x in range(width):
                better = plane[x] > top[x]
                top[x] = plane[x] if better else top[x]
                row[x] = np.int32(label) if better else row[x]
    return labels


def node_means(planes: Float32Array, segments: Segments) -> Float32Array:
    """The mean of every plane of `[C, H, W]` over each superpixel, `[N, C]`.

    Pixels with a negative number are left out; every superpixel must have others.
    """
    sizes = pixel_counts(segments)
    total = sums(np.ascontiguousarray(planes, np.float32), segments, len(sizes))
    return np.asarray(total / sizes[:, None], np.float32)


def pixel_counts(segments: Segments) -> IntArray:
    """The number of pixels of every superpixel, `[N]`; negative numbers stand for none."""
    return count_pixels(segments, int(segments.max()) + 1)


def node_distribution(distribution: Float32Array, segments: Segments) -> Float32Array:
    """The mean class distribution of every superpixel, `[N, L]`; rows sum to 1."""
    mean = node_means(distribution, segments)
    mean /= mean.sum(axis=1, keepdims=True)
    return mean


def node_log_probability(distribution: Float32Array, segments: Segments) -> Float32Array:
    """The mean of the pixels' log-probabilities over each superpixel, `[N, L]`."""
    sizes = pixel_counts(segments)
    mean = np.empty((len(sizes), len(distribution)), np.float32)
    for label, plane in enumerate(distribution):
        logs = np.log(np.maximum(plane, SMALLEST))
        mean[:, label] = sums(logs[None], segments, len(sizes))[:, 0] / sizes
    return mean


def read_scores(path: str | Path, n_classes: int, kind: ScoreKind) -> Float32Array:
    """Per-pixel scores `[h, w, C]` from `.npy` or `.npz`; `[C, h, w]` is turned round."""
    file = Path(path)
    if not file.is_file():
        raise InvalidFile(f"{file}: there is no such score file")
    arrays = read_arrays(file, "a readable .npy or .npz file")
    if not arrays:
        raise InvalidFile(f"{file}: the archive is empty")
    values = arrays.get("scores", next(iter(arrays.values())))
    return checked_scores(values, n_classes, kind, str(file))


def checked_scores(
    values: NDArray[np.generic], n_classes: int, kind: ScoreKind, where: str
) -> Float32Array:
    """Scores as float32 `[h, w, C]`, or an error that says what is wrong with them."""
    if values.ndim == 4 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 3 or n_classes not in (values.shape[0], values.shape[2]):
        raise InvalidFile(
            f"{where}: scores have shape {list(values.shape)}, "
            f"not [height, width, {n_classes}] with one channel for each of {n_classes} classes"
        )
    if values.dtype.kind not in "fiu":
        raise InvalidFile(f"{where}: scores are {values.dtype}, not numbers")
    if values.size == 0:
        raise InvalidFile(f"{where}: scores have shape {list(values.shape)}, of no pixels")
    if values.shape[2] != n_classes:
        values = values.transpose(1, 2, 0)
    with np.errstate(over="ignore"):  # what is too large is infinite, and refused
        scores = np.ascontiguousarray(values, np.float32)
    if values.dtype.kind != "f" and kind == "probabilities":
        scores /= 255 if values.dtype.itemsize == 1 else 65535
    if not np.isfinite(scores).all():
        y, x, c = np.argwhere(~np.isfinite(scores))[0].tolist()
        raise InvalidFile(f"{where}: the score at row {y}, column {x}, class {c} is not finite")
    if kind == "probabilities":
        if scores.min() < 0 or scores.max() > 1.001:
            raise InvalidFile(
                f"{where}: declared as probabilities, but values run from {scores.min():g} "
                f"to {scores.max():g}; declare them as logits"
            )
        if (scores.sum(axis=2) <= 0).any():
            raise InvalidFile(f"{where}: some pixels have probability 0 for every class")
    return scores
