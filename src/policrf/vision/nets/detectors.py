"""Detector files (Darknet, ONNX) -> `Detections` whose classes are labels of the data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile, InvalidOption
from policrf.types import Float32Array, IntArray, Pixels
from policrf.vision.boxes import PLAIN, RIDDEN, Detections
from policrf.vision.classes import canonical, match_classes, read_names
from policrf.vision.nets.segmentation_net import windows
from policrf.vision.nets.trial import try_apart

RIDDEN_CLASSES = ("bicycle",)
LARGEST = 1e9  # of a coordinate or a class that a detector gives


@dataclass(frozen=True)
class ClassRoles:
    """What a detector's classes mean to a data set: a label each (or −1), and a role."""

    names: tuple[str, ...]
    labels: IntArray
    roles: IntArray

    @staticmethod
    def of(
        names: Sequence[str],
        labels: Sequence[str],
        *,
        chosen: Mapping[str, str | None] | None,
        riders: bool,
    ) -> ClassRoles:
        """`riders`: keep classes that are ridden, though they are no label (MOTS)."""
        matched = match_classes(names, labels, chosen=chosen, what="detector's class map")
        if (matched < 0).all():
            raise InvalidOption(
                f"none of the detector's classes ({', '.join(names[:6])}, …) is a label of the "
                "data set; give a class map"
            )
        ridden = [riders and canonical(name) in RIDDEN_CLASSES for name in names]
        roles = np.where(ridden, RIDDEN, PLAIN).astype(np.int64)
        return ClassRoles(tuple(names), np.where(roles == RIDDEN, -1, matched), roles)

    def detections(
        self, boxes: Float32Array, scores: Float32Array, classes: IntArray, where: str
    ) -> Detections:
        """Boxes of known classes only."""
        bad = np.flatnonzero((classes < 0) | (classes >= len(self.names)))
        if bad.size:
            raise InvalidOption(
                f"{where}: a detection has class {classes[bad[0]]}, "
                f"but there are {len(self.names)} class names"
            )
        labels, roles = self.labels[classes], self.roles[classes]
        known = (labels > 0) | (roles != PLAIN)
        return Detections(boxes[known], scores[known], labels[known], roles[known])


class _Runner(Protocol):
    def detect(
        self, image: Pixels, threshold: float
    ) -> tuple[Float32Array, Float32Array, IntArray]: ...


class Detector:
    """A detector file; call it with an image."""

    def __init__(
        self, path: str | Path, roles: ClassRoles, *, threshold: float, windows: int = 1
    ) -> None:
        self.path = str(path)
        self.roles = roles
        self.threshold = threshold
        self.windows = windows
        self._runner: _Runner = open_detector(Path(path))

    def __call__(self, image: Pixels) -> Detections:
        """Detections on the whole image and, if there are several, on each window."""
        height, width = image.shape[:2]
        parts = [(0, 0, height, width)]
        if self.windows > 1:
            parts += windows(image, self.windows)
        found = []
        for top, left, bottom, right in parts:
            part = np.ascontiguousarray(image[top:bottom, left:right])
            boxes, scores, classes = self._runner.detect(part, self.threshold)
            shift = np.asarray([left, top, left, top], np.float32)
            found.append((boxes + shift, scores, classes))
        boxes, scores, classes = (np.concatenate(column) for column in zip(*found, strict=True))
        return self.roles.detections(boxes, scores, classes, self.path)


def open_detector(path: Path, *, trial: bool = True) -> _Runner:
    """A detector by its suffix; `trial`: first in a process of its own (`nets.trial`)."""
    if trial and path.suffix in (".cfg", ".onnx") and path.is_file():
        try_apart(path, "detector")
    if path.suffix == ".cfg":
        from policrf.vision.opencv import Darknet

        return Darknet(path)
    if path.suffix == ".onnx":
        return OnnxDetector(path)
    raise InvalidFile(
        f"{path}: detectors are Darknet .cfg or .onnx files; others go in as COCO results (.json)"
    )


class OnnxDetector:
    """An ONNX detector whose graph ends with suppression, in one of the two usual forms.

    Rows `[n, 6]` or `[1, n, 6]` (left, top, right, bottom, confidence, class), or torchvision's
    three outputs boxes `[n, 4]`, labels `[n]` and scores `[n]`; coordinates in pixels of the
    net's input.
    """

    def __init__(self, path: Path) -> None:
        from policrf.vision.nets.onnx import OnnxNet

        if not path.is_file():
            raise InvalidFile(f"{path}: there is no such detector file")
        self._net = OnnxNet(path)

    def detect(
        self, image: Pixels, threshold: float
    ) -> tuple[Float32Array, Float32Array, IntArray]:
        """Boxes in pixels of `image`, confidences and class indices above the threshold."""
        from policrf.vision.opencv import resize

        height, width = image.shape[:2]
        size = self._net.input_size or (height, width)
        pixels = resize(image, *size)
        if not self._net.takes_bytes:
            pixels = pixels.astype(np.float32) / 255
        outputs = self._net.run_raw(pixels)
        boxes, scores, classes = self._parse(outputs)
        keep = scores >= threshold
        factors = np.asarray([width / size[1], height / size[0]] * 2, np.float32)
        return boxes[keep] * factors, scores[keep], classes[keep]

    def _parse(
        self, outputs: Mapping[str, NDArray[Any]]
    ) -> tuple[Float32Array, Float32Array, IntArray]:
        for values in outputs.values():
            rows = values[0] if values.ndim == 3 and values.shape[0] == 1 else values
            if rows.ndim == 2 and rows.shape[1] == 6:
                return self._finite(rows[:, :4], rows[:, 4], rows[:, 5])
        by_name = {name.lower(): values for name, values in outputs.items()}
        if {"boxes", "labels", "scores"} <= by_name.keys():
            boxes, scores, labels = (by_name[name] for name in ("boxes", "scores", "labels"))
            if boxes.size == 4 * scores.size == 4 * labels.size:
                return self._finite(boxes.reshape(-1, 4), scores.reshape(-1), labels.reshape(-1))
        shapes = ", ".join(f"{name} {list(values.shape)}" for name, values in outputs.items())
        raise InvalidFile(
            f"{self._net.path}: outputs {shapes} are neither rows [n, 6] "
            "nor boxes, labels and scores"
        )

    def _finite(
        self, boxes: NDArray[Any], scores: NDArray[Any], classes: NDArray[Any]
    ) -> tuple[Float32Array, Float32Array, IntArray]:
        with parsing(self._net.path, "the detector's outputs are no numbers"):
            values = [np.asarray(part, np.float32) for part in (boxes, scores, classes)]
        if not all(np.isfinite(part).all() and (abs(part) < LARGEST).all() for part in values):
            raise InvalidFile(f"{self._net.path}: the detector gives numbers that are not finite")
        return values[0], values[1], values[2].astype(np.int64)


def detector_names(path: str | Path, names: str | Path | None) -> tuple[str, ...]:
    """The class names of a detector: given, or a .names file of the right length beside it."""
    if names is not None:
        return read_names(names)
    file = Path(path)
    count = _darknet_classes(file)
    beside = [file.with_suffix(".names"), *sorted(file.parent.glob("*.names"))]
    for candidate in beside:
        if candidate.is_file():
            found = read_names(candidate)
            if count is None or len(found) == count:
                return found
    wanted = "its class names" if count is None else f"its {count} class names"
    raise InvalidOption(f"{file}: give the file with {wanted}, one a line (--detector-names)")


def _darknet_classes(path: Path) -> int | None:
    """How many classes a Darknet file declares; None for other formats."""
    if path.suffix != ".cfg" or not path.is_file():
        return None
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = (part.strip() for part in line.partition("="))
        if key == "classes" and value.isdecimal() and len(value) < 10:
            return int(value)
    return None
