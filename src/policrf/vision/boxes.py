"""Detections -> the superpixels I_b of every box's foreground, by GrabCut at reduced scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from policrf.crf.box_overlap import covered_share, inside_larger
from policrf.types import Float32Array, IntArray, Pixels, Segments
from policrf.vision.classes import NO_LABEL
from policrf.vision.opencv import grabcut, resize, suppress

SupportRule = Literal["inside", "rider", "none"]
RIDER_SHARE = 0.1  # a pedestrian rides a bicycle whose box covers this much of theirs
PLAIN, RIDDEN = 0, 1  # roles: an object with a label; something that is ridden (MOTS: a bicycle)


@dataclass(frozen=True)
class Detections:
    """B boxes in pixels of the image: left, top, right, bottom (outside), sorted by confidence."""

    boxes: Float32Array  # [B, 4]
    scores: Float32Array  # [B]
    labels: IntArray  # [B]; −1 where the class is no label of the data set
    roles: IntArray  # [B]

    def __len__(self) -> int:
        return len(self.scores)

    @staticmethod
    def of(boxes: ArrayLike, scores: ArrayLike, labels: ArrayLike) -> Detections:
        """Boxes `[B, 4]` of objects, with their confidences and labels `[B]`, in any order."""
        order = np.argsort(-np.asarray(scores, np.float32), kind="stable")
        objects = np.asarray(labels, np.int64)[order]
        return Detections(
            np.asarray(boxes, np.float32).reshape(-1, 4)[order],
            np.asarray(scores, np.float32)[order],
            objects,
            np.full(len(objects), PLAIN, np.int64),
        )

    @staticmethod
    def none() -> Detections:
        """No boxes."""
        empty = np.zeros(0, np.int64)
        return Detections(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), empty, empty)

    def scaled(self, factor_y: float, factor_x: float) -> Detections:
        """The same boxes on an image of another size."""
        factors = np.asarray([factor_x, factor_y, factor_x, factor_y], np.float32)
        return Detections(self.boxes * factors, self.scores, self.labels, self.roles)


def cleaned(detections: Detections, height: int, width: int, *, overlap: float) -> Detections:
    """Boxes cut to the image, without empty ones and without doubles.

    Of two boxes of one label (and role) with that intersection over union, the better stays.
    """
    finite = np.isfinite(detections.boxes).all(axis=1) & np.isfinite(detections.scores)
    limits = np.asarray([width, height, width, height], np.float32)
    boxes = np.clip(np.where(finite[:, None], detections.boxes, 0), 0, limits).astype(np.float32)
    large = ((boxes[:, 2:] - boxes[:, :2]) >= 1).all(axis=1)
    known = (detections.labels != NO_LABEL) | (detections.roles != PLAIN)
    kept = []
    kind = detections.labels * 2 + detections.roles
    for value in np.unique(kind[finite & large & known]):
        rows = np.flatnonzero(finite & large & known & (kind == value))
        kept.append(rows[suppress(boxes[rows], detections.scores[rows], overlap)])
    rows = np.concatenate(kept) if kept else np.zeros(0, np.int64)
    rows = rows[np.lexsort((rows, -detections.scores[rows]))]
    scores = np.clip(detections.scores[rows], 0, 1).astype(np.float32)
    return Detections(boxes[rows], scores, detections.labels[rows], detections.roles[rows])


class BoxNodes(NamedTuple):
    """The superpixels that a box's foreground touches: `nodes[ptr[b]:ptr[b + 1]]`."""

    ptr: NDArray[np.int32]  # [B + 1]
    nodes: NDArray[np.int32]
    shares: Float32Array  # the share of the superpixel's pixels that are foreground


def foreground(
    image: Pixels, box: Float32Array, *, scale: float, iterations: int, margin: float = 0.5
) -> tuple[tuple[int, int], NDArray[np.bool_]]:
    """The foreground of one box: the (top, left) of a patch, and its mask.

    Parameters
    ----------
    image
        `[H, W, 3]`.
    box
        Left, top, right, bottom in pixels.
    scale
        GrabCut sees everything shrunk by this.
    iterations
        Of GrabCut.
    margin
        GrabCut also sees this share of the box's size on each side.
    """
    height, width = image.shape[:2]
    left, top, right, bottom = (float(side) for side in box)
    pad_x, pad_y = margin * (right - left), margin * (bottom - top)
    x0, x1 = int(max(0, left - pad_x)), int(np.ceil(min(width, right + pad_x)))
    y0, y1 = int(max(0, top - pad_y)), int(np.ceil(min(height, bottom + pad_y)))
    patch = image[y0:y1, x0:x1]
    small_h, small_w = max(1, round((y1 - y0) * scale)), max(1, round((x1 - x0) * scale))
    small = resize(patch, small_h, small_w)
    factor_y, factor_x = small_h / (y1 - y0), small_w / (x1 - x0)
    rectangle = (
        min(int((left - x0) * factor_x), small_w - 1),
        min(int((top - y0) * factor_y), small_h - 1),
        max(1, min(int(np.ceil((right - x0) * factor_x)), small_w)),
        max(1, min(int(np.ceil((bottom - y0) * factor_y)), small_h)),
    )
    mask = grabcut(small, rectangle, iterations)
    rows = np.minimum(((np.arange(y1 - y0) + 0.5) * factor_y).astype(np.int64), small_h - 1)
    columns = np.minimum(((np.arange(x1 - x0) + 0.5) * factor_x).astype(np.int64), small_w - 1)
    return (y0, x0), mask[rows][:, columns]


def box_nodes(
    image: Pixels,
    segments: Segments,
    detections: Detections,
    *,
    scale: float = 0.4,
    iterations: int = 2,
) -> BoxNodes:
    """The superpixels under every box's foreground, with the share of their pixels.

    Parameters
    ----------
    image
        `[H, W, 3]`.
    segments
        The superpixel of every pixel, `[H, W]`.
    detections
        Boxes in pixels of `image`.
    scale
        At which GrabCut works.
    iterations
        Of GrabCut.
    """
    sizes = np.bincount(segments.reshape(-1))
    ptr, nodes, shares = [0], [], []
    for box in detections.boxes:
        (y0, x0), mask = foreground(image, box, scale=scale, iterations=iterations)
        under = segments[y0 : y0 + mask.shape[0], x0 : x0 + mask.shape[1]][mask]
        counts = np.bincount(under, minlength=1)
        touched = np.flatnonzero(counts)
        nodes.append(touched.astype(np.int32))
        shares.append((counts[touched] / sizes[touched]).astype(np.float32))
        ptr.append(ptr[-1] + len(touched))
    if not nodes:
        return BoxNodes(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
    return BoxNodes(np.asarray(ptr, np.int32), np.concatenate(nodes), np.concatenate(shares))


def box_distribution(distribution: Float32Array, detections: Detections) -> Float32Array:
    """The mean class distribution of the pixels of every box, `[B, L]`."""
    out = np.zeros((len(detections), len(distribution)), np.float32)
    for b, box in enumerate(detections.boxes):
        left, top = np.floor(box[:2]).astype(int)
        right, bottom = np.ceil(box[2:]).astype(int)
        out[b] = distribution[:, top:bottom, left:right].mean(axis=(1, 2))
    return out


def support_labels(detections: Detections, rule: SupportRule) -> IntArray:
    """The label that HOP2 asks for in every box, −1 where it is not evaluated, `[B]`.

    inside (VOC): a box inside a larger one should show its own label. rider (MOTS): a pedestrian
    whose box a bicycle's overlaps should be background; label 1, the car, cannot ride.
    """
    labels = np.full(len(detections), -1, np.int64)
    if len(detections) == 0 or rule == "none":
        return labels
    if rule == "rider":
        cover = covered_share(detections.boxes)
        ridden = detections.roles == RIDDEN
        rides = (detections.labels > 1) & (cover[:, ridden] >= RIDER_SHARE).any(axis=1)
        labels[rides] = 0
        return labels
    labeled = detections.labels > 0
    inside = labeled & inside_larger(detections.boxes, holders=labeled)
    labels[inside] = detections.labels[inside]
    return labels
