"""Record: the raw quantities of one image, before any weight is applied; what the store keeps."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Record:
    """N superpixels, M borders, B boxes, L labels."""

    name: str
    height: int
    width: int
    distribution: NDArray[np.float32]  # [N, L] mean class distribution of the net
    colour: NDArray[np.float32]  # [N, 3] mean Lab
    position: NDArray[np.float32]  # [N, 2] centre (y, x), 0 … 1
    size: NDArray[np.int32]  # [N] pixels of the image
    appearance: NDArray[np.float32]  # [N, K] principal components of the hypercolumns
    edges: NDArray[np.int32]  # [M, 2]
    length: NDArray[np.int32]  # [M] pixel pairs across the border
    product: NDArray[np.float32]  # [M] g_i · g_j
    boxes: NDArray[np.float32]  # [B, 4] left, top, right, bottom, 0 … 1
    box_scores: NDArray[np.float32]  # [B]
    box_labels: NDArray[np.int32]  # [B]; −1: no label, kept for its role
    box_support: NDArray[np.int32]  # [B]; label that HOP2 asks for, −1 for boxes it leaves alone
    box_distribution: NDArray[np.float32]  # [B, L]
    box_ptr: NDArray[np.int32]  # [B + 1]
    box_nodes: NDArray[
        np.int32
    ]  # superpixels under the foreground of box b: box_ptr[b]:box_ptr[b+1]
    box_shares: NDArray[np.float32]  # share of the superpixel that is foreground
    truth: NDArray[np.int32]  # [T, 3] (superpixel, label, pixels); void is not counted
    net_confusion: NDArray[np.int32]  # [K, 3] (true label, label of the net, pixels)
    has_truth: bool

    @property
    def n_nodes(self) -> int:
        """N."""
        return len(self.distribution)

    @property
    def n_labels(self) -> int:
        """L."""
        return int(self.distribution.shape[1])

    def truth_counts(self) -> NDArray[np.int64] | None:
        """Pixels of every label in each superpixel, `[N, L]`."""
        if not self.has_truth:
            return None
        counts = np.zeros((self.n_nodes, self.n_labels), np.int64)
        counts[self.truth[:, 0], self.truth[:, 1]] = self.truth[:, 2]
        return counts

    def net_counts(self) -> NDArray[np.int64]:
        """Confusion of the net's own pixels, `[true, predicted]`."""
        counts = np.zeros((self.n_labels, self.n_labels), np.int64)
        counts[self.net_confusion[:, 0], self.net_confusion[:, 1]] = self.net_confusion[:, 2]
        return counts


ARRAYS = tuple(
    f.name for f in fields(Record) if f.name not in ("name", "height", "width", "has_truth")
)


def sparse_counts(
    first: NDArray[np.int64], second: NDArray[np.int64], n_second: int
) -> NDArray[np.int32]:
    """Occurrences of pairs as rows (first, second, count), sorted."""
    if len(first) == 0:
        return np.zeros((0, 3), np.int32)
    counts = np.bincount(first * n_second + second)
    keys = np.flatnonzero(counts)
    return np.stack([keys // n_second, keys % n_second, counts[keys]], axis=1).astype(np.int32)
