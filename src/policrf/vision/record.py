"""Record: the raw quantities of one image, before any weight is applied; what the store keeps.

The truth has one form a stage:

    label map `[H, W]`, −1 = void    what a data set and the pipeline's caller give (`LabelMap`)
    counts `[N, L]`                  pixels of every label in each node, void left out:
                                     `Record.truth`, `Instance.truth`, and what the metrics take
    labels `[N]`, −1 = all void      the majority of the counts (`Instance.true_labels`), where one
                                     label a node is needed

On disk counts and confusions are rows of their nonzero entries (`metrics.sparse_rows`); only
`datasets.store` and `evaluate.results` see that form.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from policrf.types import Float32Array, IntArray

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Record:
    """N superpixels, M borders, B boxes, L labels."""

    name: str
    height: int
    width: int
    distribution: Float32Array
    """`[N, L]`: mean class distribution of the net."""
    log_probability: Float32Array
    """`[N, L]`: mean over the pixels of the log of their class probabilities."""
    colour: Float32Array
    """`[N, 3]`: mean Lab."""
    position: Float32Array
    """`[N, 2]`: centre (y, x), 0 … 1."""
    size: Int32Array
    """`[N]`: pixels of the image."""
    pixels: Int32Array
    """`[N]`: pixels at the working size, in which `length` is counted too."""
    appearance: Float32Array
    """`[N, K]`: principal components of the hypercolumns."""
    edges: Int32Array
    """`[M, 2]`."""
    length: Int32Array
    """`[M]`: pixel pairs across the border."""
    product: Float32Array
    """`[M]`: g_i · g_j."""
    far_edges: Int32Array
    """`[K, 2]`: long-range edges, which may lie among `edges` too."""
    boxes: Float32Array
    """`[B, 4]`: left, top, right, bottom, 0 … 1."""
    box_scores: Float32Array
    """`[B]`."""
    box_labels: Int32Array
    """`[B]`; −1: no label, kept for its role."""
    box_support: Int32Array
    """`[B]`: label that HOP2 asks for, −1 for boxes it leaves alone."""
    box_distribution: Float32Array
    """`[B, L]`."""
    box_ptr: Int32Array
    """`[B + 1]`: where the nodes of box b begin in `box_nodes`."""
    box_nodes: Int32Array
    """The superpixels under the foreground of every box, box after box."""
    box_shares: Float32Array
    """Share of the superpixel that is foreground, one for each of `box_nodes`."""
    truth: IntArray | None = None
    """`[N, L]`: pixels of every label in each superpixel; None without truth."""
    net_confusion: IntArray | None = None
    """`[L, L]`: pixels by (true label, label of the net); None without truth."""

    @property
    def n_nodes(self) -> int:
        """N."""
        return len(self.distribution)

    @property
    def n_labels(self) -> int:
        """L."""
        return int(self.distribution.shape[1])

    @property
    def working_size(self) -> Float32Array:
        """Height and width at which superpixels were found, `[2]`, up to rounding."""
        scale = np.sqrt(self.pixels.sum() / (self.height * self.width))
        return np.asarray([self.height, self.width], np.float32) * np.float32(scale)

    def centres(self) -> Float32Array:
        """Centre (x, y) of every superpixel in pixels of the image, `[N, 2]`."""
        return self.position[:, ::-1] * np.asarray([self.width, self.height], np.float32)


COUNTS = ("truth", "net_confusion")
ARRAYS = tuple(f.name for f in fields(Record) if f.name not in ("name", "height", "width"))
