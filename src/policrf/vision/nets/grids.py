"""Grid: a map of a net (scores, features) laid over the pixels of an image, of any resolution.

Pixel (y, x) of the window reads the map, bilinearly, at (y0 + dy·y, x0 + dx·x), held inside its
borders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from policrf.compiled import kernel
from policrf.types import Float32Array, Segments

Window = tuple[int, int, int, int]  # top, left, bottom, right in pixels of the image


@dataclass(frozen=True)
class Grid:
    """Values `[h, w, C]` and where the pixels of `window` fall on them."""

    values: Float32Array
    window: Window
    y0: float
    dy: float
    x0: float
    dx: float

    @staticmethod
    def over_image(values: Float32Array, height: int, width: int) -> Grid:
        """A map that covers the whole image, cell centres against pixel centres."""
        dy, dx = values.shape[0] / height, values.shape[1] / width
        window = (0, 0, height, width)
        return Grid(values, window, y0=0.5 * dy - 0.5, dy=dy, x0=0.5 * dx - 0.5, dx=dx)

    @property
    def geometry(self) -> tuple[object, ...]:
        """Grids of equal geometry share their interpolation weights."""
        return (self.values.shape[:2], self.window, self.y0, self.dy, self.x0, self.dx)

    def at_pixels(self) -> Float32Array:
        """The map at every pixel of the window, `[C, H, W]`."""
        top, left, bottom, right = self.window
        values = np.array(self.values.transpose(2, 0, 1), order="C")  # never the grid's own
        if values.shape[1:] == (bottom - top, right - left) and (self.dy, self.dx) == (1.0, 1.0):
            return values
        low_y, high_y, share_y = _taps(self.y0, self.dy, top, bottom, values.shape[1])
        low_x, high_x, share_x = _taps(self.x0, self.dx, left, right, values.shape[2])
        before, after = values[:, :, low_x], values[:, :, high_x]
        columns = np.ascontiguousarray(before + (after - before) * share_x)
        return _between_rows(columns, low_y, high_y, share_y)

    def averaging(self, segments: Segments) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """Weights `[N, h·w]` that sum the map over pixels of each superpixel, and their counts.

        Maps are smooth between cells: where superpixels are large, every second pixel of every
        second row stands for all; superpixels that have none of those keep all of theirs.
        """
        top, left, bottom, right = self.window
        n_nodes = int(segments.max()) + 1
        h, w = self.values.shape[:2]
        rows, columns = _sampled(segments[top:bottom, left:right], n_nodes)
        low_y, high_y, share_y = (part[rows] for part in _taps(self.y0, self.dy, top, bottom, h))
        low_x, high_x, share_x = (part[columns] for part in _taps(self.x0, self.dx, left, right, w))
        cells, weights = [], []
        for row, part_y in ((low_y, 1 - share_y), (high_y, share_y)):
            for column, part_x in ((low_x, 1 - share_x), (high_x, share_x)):
                cells.append(row * w + column)
                weights.append(part_y * part_x)
        nodes = segments[top + rows, left + columns]
        entries = (np.concatenate(weights), (np.tile(nodes, 4), np.concatenate(cells)))
        matrix = sparse.coo_array(entries, shape=(n_nodes, h * w)).tocsr()
        return matrix, np.bincount(nodes, minlength=n_nodes).astype(np.float64)


def _sampled(inside: Segments, n_nodes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the pixels that stand for the superpixels."""
    if inside.size < 64 * n_nodes:
        rows, columns = np.indices(inside.shape).reshape(2, -1)
        return rows, columns
    chosen = np.zeros(inside.shape, np.bool_)
    chosen[::2, ::2] = True
    seen = np.zeros(n_nodes, np.bool_)
    seen[inside[::2, ::2].reshape(-1)] = True
    chosen |= ~seen[inside]
    rows, columns = np.nonzero(chosen)
    return rows, columns


def map_means(maps: Sequence[Sequence[Grid]], segments: Segments) -> list[Float32Array]:
    """The mean of every map over each superpixel, `[N, C]`; overlapping windows are averaged."""
    n_nodes = int(segments.max()) + 1
    weights: dict[object, tuple[sparse.csr_array, NDArray[np.float64]]] = {}
    means = []
    for grids in maps:
        total = np.zeros((n_nodes, grids[0].values.shape[2]))
        pixels = np.zeros(n_nodes)
        for grid in grids:
            if grid.geometry not in weights:
                weights[grid.geometry] = grid.averaging(segments)
            matrix, counts = weights[grid.geometry]
            total += matrix @ grid.values.reshape(-1, grid.values.shape[2])
            pixels += counts
        means.append((total / np.maximum(pixels, 1)[:, None]).astype(np.float32))
    return means


def _taps(
    start: float, step: float, first: int, last: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Float32Array]:
    """For pixels first … last−1 of an axis: the cells around them and the share of the second."""
    position = np.clip(start + step * np.arange(first, last), 0, size - 1)
    low = np.minimum(position.astype(np.int64), max(size - 2, 0))
    high = np.minimum(low + 1, size - 1)
    return low, high, (position - low).astype(np.float32)


@kernel
def _between_rows(
    maps: Float32Array, low: NDArray[np.int64], high: NDArray[np.int64], share: Float32Array
) -> Float32Array:
    """Rows `low` and `high` of maps `[C, h, W]` mixed by the share of the second, `[C, H, W]`."""
    out = np.empty((len(maps), len(low), maps.shape[2]), np.float32)
    for c in range(len(maps)):
        for y in range(len(low)):
            upper, lower, row, part = maps[c, low[y]], maps[c, high[y]], out[c, y], share[y]
            for x in range(len(row)):
                row[x] = upper[x] + (lower[x] - upper[x]) * part
    return out
