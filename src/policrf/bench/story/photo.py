"""The third part: a rendered image through the whole vision pipeline, with a net and boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import policrf as pc
from policrf.metrics import map_confusion, mean_iou
from policrf.scenes import RenderedScene, render_scene
from policrf.vision.boxes import Detections
from policrf.vision.segmentation import Segmentation

SHAPE = (240, 320)
REGIME = "A"
NAMES = ("background", *(f"object {k}" for k in range(1, 6)))
SEEDS = 30_000  # of the first image; those after it have the seeds after it


@dataclass(frozen=True, eq=False)
class Segmented:
    """One image with what became of it, and the IoU of several."""

    scene: RenderedScene
    segmentation: Segmentation
    ious: tuple[tuple[float, float], ...]
    """(net, result) of every image, in %; the first is the one that is shown."""


def show_photo(count: int, seed: int) -> Segmented:
    """Images that come with the package, segmented; the first one is shown."""
    scenes = [
        render_scene(SHAPE, REGIME, seed=SEEDS + seed + k, n_labels=len(NAMES))
        for k in range(count)
    ]
    answers = [segment(scene) for scene in scenes]
    return Segmented(scenes[0], answers[0], tuple(_ious(answer) for answer in answers))


def segment(scene: RenderedScene) -> Segmentation:
    """The lines that the page shows."""
    boxes, labels, confidences = scene.detections
    segmenter = pc.Segmenter(labels=NAMES)  # or Segmenter("net.tflite", "detector.cfg")
    return segmenter(
        scene.image, scores=np.log(scene.scores + 1e-6), truth=scene.truth,
        detections=Detections.of(boxes, confidences, labels), seconds=1,
    )  # fmt: skip


def _ious(answer: Segmentation) -> tuple[float, float]:
    assert answer.truth is not None
    net = mean_iou(map_confusion(answer.truth, answer.net_labels, len(NAMES)))
    confusion = answer.confusion()
    assert confusion is not None
    return 100 * net, 100 * mean_iou(confusion)
