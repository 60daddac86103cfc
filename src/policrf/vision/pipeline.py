"""Pipeline: image -> record, with the nets of a recipe loaded once.

SLIC -> adjacency -> the net's distributions -> hypercolumns and their products -> detections ->
GrabCut foregrounds -> what the truth says of every superpixel.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from policrf.errors import InvalidFile, InvalidOption
from policrf.metrics import pair_counts
from policrf.types import VOID, Float32Array, IntArray, LabelMap, Pixels
from policrf.vision.boxes import (
    Detections,
    box_distribution,
    box_nodes,
    cleaned,
    support_labels,
)
from policrf.vision.classes import match_classes
from policrf.vision.nets.detectors import ClassRoles, Detector
from policrf.vision.nets.grids import Grid
from policrf.vision.nets.hypercolumns import Reduction, edge_products, hypercolumns
from policrf.vision.nets.segmentation_net import SegmentationNet
from policrf.vision.opencv import resize, to_lab
from policrf.vision.recipe import Recipe
from policrf.vision.record import Record
from policrf.vision.superpixels.adjacency import adjacency
from policrf.vision.superpixels.project import enlarged
from policrf.vision.superpixels.slic import Segments, superpixels
from policrf.vision.unaries import (
    merge_classes,
    node_distribution,
    node_means,
    pixel_distribution,
)


@dataclass(frozen=True)
class ImageView:
    """A record with the pixel maps that it was made from (at the working size)."""

    record: Record
    segments: Segments
    distribution: Float32Array  # [L, H, W]
    detections: Detections
    seconds: dict[str, float]
    """What each part took: superpixels, net, averages, detector, foreground, graph."""


class Stopwatch:
    """Seconds by name; calling it books the time since the last call."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def __call__(self, name: str) -> None:
        """Book the time since the last call under `name`."""
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now


class Pipeline:
    """The steps of a recipe; nets are loaded when they are first needed."""

    def __init__(
        self,
        recipe: Recipe,
        *,
        net: str | Path | None = None,
        detector: str | Path | None = None,
        reduction: Reduction | None = None,
    ) -> None:
        self.recipe = recipe
        self.reduction = reduction
        self._net_path, self._detector_path = net, detector
        self._net: SegmentationNet | None = None
        self._detector: Detector | None = None

    def load(self) -> None:
        """Load the nets now, so that a mistake in their names or tensors shows before any image."""
        if self._net_path is not None:
            self._load_net()
        if self._detector_path is not None:
            self._load_detector()

    def view(
        self,
        image: Pixels,
        *,
        name: str = "",
        scores: Float32Array | None = None,
        detections: Detections | None = None,
        truth: LabelMap | None = None,
    ) -> ImageView:
        """All steps on one image; `scores` and `detections` stand in for the nets, if given.

        Parameters
        ----------
        image: `[H, W, 3]`.
        name: what the record is called.
        scores: `[h, w, C]` over the whole image.
        detections: boxes in pixels of the image.
        truth: `[H, W]`, −1 = void.
        """
        recipe = self.recipe
        if truth is not None and truth.shape != image.shape[:2]:
            raise InvalidFile(
                f"the mask is {truth.shape[1]}×{truth.shape[0]}, "
                f"the image {image.shape[1]}×{image.shape[0]} pixels"
            )
        clock = Stopwatch()
        work, segments, pixels, nodes, columns = self._parts(image, scores, clock)
        height, width = work.shape[:2]
        found = self._detections(work, image.shape[:2], detections)
        clock("detector")
        under = box_nodes(
            work, segments, found,
            scale=recipe.grabcut_scale, iterations=recipe.grabcut_iterations,
        )  # fmt: skip
        clock("foreground")
        lab = to_lab(work)
        border = adjacency(segments)
        full = enlarged(segments, image.shape[:2])
        counts, confusion = _against_truth(truth, full, pixels)
        record = Record(
            name=name,
            height=image.shape[0],
            width=image.shape[1],
            distribution=nodes,
            colour=node_means(lab.transpose(2, 0, 1), segments),
            position=_centres(segments),
            size=np.bincount(full.reshape(-1), minlength=len(nodes)).astype(np.int32),
            appearance=self._reduced(columns),
            edges=border.edges,
            length=border.length,
            product=edge_products(columns, border.edges),
            boxes=(found.boxes / np.asarray([width, height] * 2, np.float32)).astype(np.float32),
            box_scores=found.scores,
            box_labels=found.labels.astype(np.int32),
            box_support=support_labels(found, recipe.support).astype(np.int32),
            box_distribution=box_distribution(pixels, found),
            box_ptr=under.ptr,
            box_nodes=under.nodes,
            box_shares=under.shares,
            truth=counts,
            net_confusion=confusion,
        )
        clock("graph")
        return ImageView(
            record=record,
            segments=segments,
            distribution=pixels,
            detections=found,
            seconds=clock.seconds,
        )

    def columns(self, image: Pixels, scores: Float32Array | None = None) -> Float32Array:
        """Only the hypercolumns `[N, D]`, for fitting their principal components."""
        return self._parts(image, scores, Stopwatch())[4]

    def _parts(
        self, image: Pixels, scores: Float32Array | None, clock: Stopwatch
    ) -> tuple[Pixels, Segments, Float32Array, Float32Array, Float32Array]:
        """Image at working size, superpixels, distributions of pixels and nodes, hypercolumns."""
        recipe = self.recipe
        work = _working_size(image, recipe.max_side)
        segments = superpixels(
            work, recipe.superpixels, compactness=recipe.compactness,
            smoothing=recipe.smoothing, iterations=recipe.slic_iterations,
        )  # fmt: skip
        clock("superpixels")
        score_grids, inner = self._scores(work, scores)
        clock("net")
        pixels = pixel_distribution(score_grids, work.shape[0], work.shape[1], recipe.score_kind)
        pixels = merge_classes(pixels, self._net_labels(), len(recipe.labels))
        nodes = node_distribution(pixels, segments)
        columns = hypercolumns(inner, nodes, segments)
        clock("averages")
        return work, segments, pixels, nodes, columns

    def _scores(
        self, image: Pixels, given: Float32Array | None
    ) -> tuple[list[Grid], list[list[Grid]]]:
        maps = self._load_net()(image) if given is None or self.recipe.hypercolumns else None
        if given is None:
            assert maps is not None
            return maps.scores, maps.inner
        height, width = image.shape[:2]
        return [Grid.over_image(given, height, width)], maps.inner if maps else []

    def _load_net(self) -> SegmentationNet:
        if self._net is None:
            if self._net_path is None:
                raise InvalidOption("no class scores: give a segmentation net or scores")
            classes = len(self.recipe.net_classes)
            self._net = SegmentationNet(self._net_path, classes, self.recipe.net_options())
        return self._net

    def _net_labels(self) -> NDArray[np.int64]:
        """The label of every class of the net; classes without one are background."""
        return np.maximum(match_classes(self.recipe.net_classes, self.recipe.labels), 0)

    def _detections(
        self, work: Pixels, full: tuple[int, ...], given: Detections | None
    ) -> Detections:
        height, width = work.shape[:2]
        if given is not None:
            found = given.scaled(height / full[0], width / full[1])
        elif self._detector_path is not None:
            found = self._load_detector()(work)
        else:
            return Detections.none()
        return cleaned(found, height, width, overlap=self.recipe.overlap)

    def _load_detector(self) -> Detector:
        if self._detector is None:
            recipe = self.recipe
            assert self._detector_path is not None
            roles = ClassRoles.of(
                recipe.detector_classes, recipe.labels,
                chosen=recipe.class_map, riders=recipe.support == "rider",
            )  # fmt: skip
            self._detector = Detector(
                self._detector_path, roles,
                threshold=recipe.threshold, windows=recipe.detector_windows,
            )  # fmt: skip
        return self._detector

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
    truth: LabelMap | None, segments: Segments, distribution: Float32Array
) -> tuple[IntArray | None, IntArray | None]:
    """Counts `[N, L]` of every superpixel, and the net's own confusion `[L, L]`, at full size."""
    if truth is None:
        return None, None
    n_labels, n_nodes = len(distribution), int(segments.max()) + 1
    known = truth != VOID
    labels = truth[known]
    predicted = enlarged(distribution.argmax(axis=0).astype(np.int32), truth.shape)[known]
    return (
        pair_counts(segments[known], labels, (n_nodes, n_labels)),
        pair_counts(labels, predicted, (n_labels, n_labels)),
    )
