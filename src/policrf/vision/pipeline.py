"""Pipeline: image -> record, with the nets of a recipe loaded once.

The net's distributions -> superpixels, cut along its labels -> averages and hypercolumns ->
detections -> GrabCut foregrounds -> edges -> what the truth says of every superpixel.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from policrf.errors import InvalidFile, InvalidOption
from policrf.metrics import pair_counts
from policrf.types import VOID, Float32Array, IntArray, LabelMap, Pixels, Segments
from policrf.vision.boxes import (
    BoxNodes,
    Detections,
    box_distribution,
    box_nodes,
    support_labels,
)
from policrf.vision.nets.grids import Grid
from policrf.vision.nets.hypercolumns import Reduction, edge_products, hypercolumns
from policrf.vision.nets.loaded import LoadedNets, label_distribution
from policrf.vision.opencv import resize
from policrf.vision.pixels.maps import PixelMaps
from policrf.vision.recipe import Recipe
from policrf.vision.record import Record
from policrf.vision.stopwatch import Stopwatch, Timer
from policrf.vision.superpixels.adjacency import adjacency
from policrf.vision.superpixels.far import far_edges
from policrf.vision.superpixels.project import enlarged
from policrf.vision.superpixels.regions import Regions, find_regions
from policrf.vision.unaries import (
    node_distribution,
    node_log_probability,
    node_means,
    pixel_counts,
)


@dataclass(frozen=True, eq=False)
class ImageView(PixelMaps):
    """All that there is of an image."""

    image: Pixels
    """At the working size, `[H, W, 3]`."""
    scores: tuple[Grid, ...]
    """What the net said, one grid a window."""
    detections: Detections
    seconds: dict[str, float]
    """What each part took: net, upsampling, superpixels, averages, detector, foreground, graph."""


class _Parts(NamedTuple):
    """What the superpixels and the net give, before boxes and truth."""

    work: Pixels
    """The image at the working size."""
    scores: tuple[Grid, ...]
    regions: Regions
    pixels: Float32Array
    """Distribution of every pixel, `[L, H, W]`."""
    nodes: Float32Array
    """Distribution of every superpixel, `[N, L]`."""
    columns: Float32Array
    """Hypercolumns, `[N, D]`."""


class Pipeline:
    """The steps of a recipe; nets are loaded when they are first needed."""

    def __init__(
        self,
        recipe: Recipe,
        *,
        net: str | Path | None = None,
        detector: str | Path | None = None,
        feature_net: str | Path | None = None,
        reduction: Reduction | None = None,
    ) -> None:
        self.recipe = recipe
        self.reduction = reduction
        self.nets = LoadedNets(recipe, net, detector, feature_net)

    def load(self) -> None:
        """Load the nets now, so that a mistake in their names or tensors shows before any image."""
        self.nets.load()

    def view(
        self,
        image: Pixels,
        *,
        name: str = "",
        scores: Float32Array | None = None,
        detections: Detections | None = None,
        truth: LabelMap | None = None,
        timer: Timer = time.perf_counter,
    ) -> ImageView:
        """All steps on one image; `scores` and `detections` stand in for the nets, if given.

        Parameters
        ----------
        image, truth
            `[H, W, 3]`, and the label of every pixel `[H, W]`, −1 = void.
        scores, detections
            `[h, w, C]` over the whole image; boxes in its pixels.
        name
            What the record is called.
        timer
            Where its seconds come from.
        """
        if truth is not None and truth.shape != image.shape[:2]:
            raise InvalidFile(
                f"the mask is {truth.shape[1]}×{truth.shape[0]}, "
                f"the image {image.shape[1]}×{image.shape[0]} pixels"
            )
        clock = Stopwatch(timer)
        parts = self._parts(image, scores, clock)
        found = self.nets.detections(parts.work, image.shape[:2], detections)
        clock("detector")
        under = box_nodes(
            parts.work, parts.regions.segments, found,
            scale=self.recipe.grabcut_scale, iterations=self.recipe.grabcut_iterations,
        )  # fmt: skip
        clock("foreground")
        full = enlarged(parts.regions.segments, image.shape[:2])
        counts, confusion = _against_truth(truth, full, parts.regions.best, len(parts.pixels))
        record = Record(
            name=name,
            height=image.shape[0],
            width=image.shape[1],
            size=pixel_counts(full).astype(np.int32),
            truth=counts,
            net_confusion=confusion,
            **self._of_superpixels(parts),
            **self._of_boxes(parts, found, under),
        )
        clock("graph")
        return ImageView(
            record=record,
            segments=parts.regions.segments,
            distribution=parts.pixels,
            lab=parts.regions.lab,
            image=parts.work,
            scores=parts.scores,
            detections=found,
            seconds=clock.seconds,
        )

    def columns(self, image: Pixels, scores: Float32Array | None = None) -> Float32Array:
        """Only the hypercolumns `[N, D]`, for fitting their principal components."""
        return self._parts(image, scores, Stopwatch()).columns

    def _parts(self, image: Pixels, scores: Float32Array | None, clock: Stopwatch) -> _Parts:
        recipe = self.recipe
        work = _working_size(image, recipe.max_side)
        score_grids, inner = self.nets.scores(work, scores)
        clock("net")
        pixels = label_distribution(score_grids, work.shape[:2], recipe)
        clock("upsampling")
        regions = find_regions(work, pixels, recipe)
        clock("superpixels")
        nodes = node_distribution(pixels, regions.own)
        columns = hypercolumns(inner, nodes, regions.segments)
        clock("averages")
        return _Parts(
            work=work, scores=tuple(score_grids), regions=regions, pixels=pixels, nodes=nodes,
            columns=columns,
        )  # fmt: skip

    def _of_superpixels(self, parts: _Parts) -> dict[str, Any]:
        """A record's fields of superpixels and of the borders between them."""
        segments, recipe = parts.regions.segments, self.recipe
        border = adjacency(segments)
        colour = node_means(parts.regions.lab.transpose(2, 0, 1), segments)
        position = _centres(segments)
        near = position * np.asarray(segments.shape, np.float32) / recipe.far_reach
        return {
            "distribution": parts.nodes,
            "log_probability": node_log_probability(parts.pixels, parts.regions.own),
            "colour": colour,
            "position": position,
            "pixels": pixel_counts(segments).astype(np.int32),
            "appearance": self._reduced(parts.columns),
            "edges": border.edges,
            "length": border.length,
            "product": edge_products(parts.columns, border.edges),
            "far_edges": far_edges(near, colour / recipe.far_colour, recipe.long_range),
        }

    def _of_boxes(self, parts: _Parts, found: Detections, under: BoxNodes) -> dict[str, Any]:
        """A record's fields of boxes."""
        height, width = parts.work.shape[:2]
        return {
            "boxes": (found.boxes / np.asarray([width, height] * 2, np.float32)).astype(np.float32),
            "box_scores": found.scores,
            "box_labels": found.labels.astype(np.int32),
            "box_support": support_labels(found, self.recipe.support).astype(np.int32),
            "box_distribution": box_distribution(parts.pixels, found),
            "box_ptr": under.ptr,
            "box_nodes": under.nodes,
            "box_shares": under.shares,
        }

    def _reduced(self, columns: Float32Array) -> Float32Array:
        if self.reduction is None:
            return np.zeros((len(columns), 0), np.float32)
        if columns.shape[1] != len(self.reduction.mean):
            raise InvalidOption(
                f"hypercolumns have {columns.shape[1]} entries, but their principal components "
                f"were fitted on {len(self.reduction.mean)}; use the same net and tensors"
            )
        return self.reduction(columns)


def _working_size(image: Pixels, max_side: int) -> Pixels:
    height, width = image.shape[:2]
    factor = max_side / max(height, width)
    if factor >= 1:
        return image
    smaller: Pixels = resize(image, *(max(1, round(s * factor)) for s in (height, width)))
    return smaller


def _centres(segments: Segments) -> Float32Array:
    height, width = segments.shape
    rows = np.repeat((np.arange(height, dtype=np.float32) + 0.5) / height, width)
    columns = np.tile((np.arange(width, dtype=np.float32) + 0.5) / width, height)
    return node_means(np.stack([rows, columns]).reshape(2, height, width), segments)


def _against_truth(
    truth: LabelMap | None, segments: Segments, best: LabelMap, n_labels: int
) -> tuple[IntArray | None, IntArray | None]:
    """Counts `[N, L]` of every superpixel, and the net's own confusion `[L, L]`, at full size."""
    if truth is None:
        return None, None
    n_nodes = int(segments.max()) + 1
    known = truth != VOID
    labels = truth[known]
    predicted = enlarged(best, truth.shape)[known]
    return (
        pair_counts(segments[known], labels, (n_nodes, n_labels)),
        pair_counts(labels, predicted, (n_labels, n_labels)),
    )
