"""Hypercolumns g_i (Hariharan et al. 2015) per superpixel, and the dot products g_i · g_j.

A superpixel's hypercolumn is the mean of each named map over its pixels, every map scaled to unit
length and then the whole, so that g_i · g_j is a mean cosine in −1 … 1 whatever the maps' scales.
Without named maps g_i is the square root of the class distribution, whose dot product is the
Bhattacharyya coefficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policrf.types import Float32Array, Segments
from policrf.vision.nets.grids import Grid, map_means


def hypercolumns(
    maps: Sequence[Sequence[Grid]], distribution: Float32Array, segments: Segments
) -> Float32Array:
    """g, `[N, D]`, rows of unit length."""
    if not maps:
        return np.sqrt(distribution)
    parts = [_unit(mean) for mean in map_means(maps, segments)]
    return _unit(np.concatenate(parts, axis=1))


def _unit(rows: Float32Array) -> Float32Array:
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.divide(rows, np.where(length > 0, length, 1), dtype=np.float32)


def edge_products(columns: Float32Array, edges: NDArray[np.int32]) -> Float32Array:
    """g_i · g_j of every edge, `[M]`."""
    products: Float32Array = np.einsum("md,md->m", columns[edges[:, 0]], columns[edges[:, 1]])
    return products


@dataclass(frozen=True)
class Reduction:
    """Principal components of hypercolumns, fitted on training images."""

    mean: Float32Array  # [D]
    components: Float32Array  # [K, D]; scaled so that a reduced column has unit variance

    def __call__(self, columns: Float32Array) -> Float32Array:
        """`[N, D]` -> `[N, K]`."""
        return np.asarray((columns - self.mean) @ self.components.T, np.float32)

    @staticmethod
    def fit(columns: Float32Array, size: int) -> Reduction:
        """The `size` directions of largest variance, with signs fixed by their largest entry."""
        mean = columns.mean(axis=0, dtype=np.float64)
        centred = columns - mean
        covariance = centred.T @ centred / max(len(columns) - 1, 1)
        values, vectors = np.linalg.eigh(covariance)
        size = min(size, len(values))
        values, vectors = values[::-1][:size], vectors[:, ::-1][:, :size].T
        sign = np.sign(vectors[np.arange(size), np.abs(vectors).argmax(axis=1)])
        scale = sign / np.sqrt(np.maximum(values, 1e-12))
        return Reduction(mean.astype(np.float32), (vectors * scale[:, None]).astype(np.float32))
