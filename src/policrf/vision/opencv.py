"""The one place that touches OpenCV: resizing, colour, GrabCut, Darknet nets, box suppression."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.io.text import parsing
from policrf.errors import InvalidFile, MissingDependency
from policrf.optional import need
from policrf.types import Float32Array, Pixels

Box = tuple[float, float, float, float]  # left, top, right, bottom; right and bottom are outside


@cache
def _cv2() -> Any:
    cv2 = need("cv2", "OpenCV")
    # Work is spread over images, one a process: threads inside would only fight for the cores.
    cv2.setNumThreads(1)
    return cv2


def resize(image: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """Area averaging when shrinking, bilinear when enlarging."""
    cv2 = _cv2()
    shrinks = height <= image.shape[0] and width <= image.shape[1]
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    result: NDArray[Any] = cv2.resize(image, (width, height), interpolation=method)
    return result


def to_lab(image: Pixels, blur: float = 0.0) -> Float32Array:
    """CIE Lab, L in 0 … 100, after a Gaussian blur of that width in pixels."""
    cv2 = _cv2()
    if blur > 0:
        image = cv2.GaussianBlur(image, (0, 0), blur)
    lab: Float32Array = cv2.cvtColor(image.astype(np.float32) / 255.0, cv2.COLOR_RGB2LAB)
    return lab


def grabcut(image: Pixels, box: tuple[int, int, int, int], iterations: int) -> NDArray[np.bool_]:
    """The foreground of a box (left, top, right, bottom in whole pixels), `[H, W]`.

    Rother et al. 2004. Where GrabCut has nothing to work with (a box that covers the image, no
    spread of colours) or finds nothing, the whole box is the foreground.
    """
    cv2 = _cv2()
    height, width = image.shape[:2]
    left, top, right, bottom = box
    whole = np.zeros((height, width), np.bool_)
    whole[top:bottom, left:right] = True
    outside = height * width - (right - left) * (bottom - top)
    if outside < 64 or (right - left) * (bottom - top) < 64:
        return whole
    mask = np.zeros((height, width), np.uint8)
    rectangle = (left, top, right - left, bottom - top)
    cv2.setRNGSeed(0)  # its k-means draws from a generator that all calls of a process share
    try:
        cv2.grabCut(
            np.ascontiguousarray(image), mask, rectangle,
            np.zeros((1, 65)), np.zeros((1, 65)), iterations, cv2.GC_INIT_WITH_RECT,
        )  # fmt: skip
    except cv2.error:
        return whole
    found: NDArray[np.bool_] = (mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD)
    return found if found.any() else whole


def suppress(boxes: Float32Array, scores: Float32Array, overlap: float) -> NDArray[np.int64]:
    """Rows that survive non-maximum suppression at an intersection over union, best first."""
    sizes = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    kept = _cv2().dnn.NMSBoxes(sizes.tolist(), scores.tolist(), 0.0, overlap)
    return np.asarray(kept, np.int64).reshape(-1)


class Darknet:
    """A YOLO detector in Darknet's two files: NAME.cfg and NAME.weights."""

    def __init__(self, cfg: str | Path) -> None:
        path = Path(cfg)
        weights = path.with_suffix(".weights")
        for file in (path, weights):
            if not file.is_file() or os.path.getsize(file) == 0:
                raise InvalidFile(
                    f"{file}: a Darknet net needs {path.name} and {weights.name} beside it"
                )
        dnn = _cv2().dnn
        if not hasattr(dnn, "readNetFromDarknet"):
            raise MissingDependency("Darknet nets need OpenCV 4; run pip install 'policrf[vision]'")
        with parsing(path, "not a Darknet net"):
            self._net = dnn.readNetFromDarknet(str(path), str(weights))
            self._outputs = self._net.getUnconnectedOutLayersNames()
        self._path = path
        self._require_all(weights)
        self.size = _input_size(path)

    def detect(
        self, image: Pixels, threshold: float
    ) -> tuple[Float32Array, Float32Array, NDArray[np.int64]]:
        """Boxes (in pixels of `image`), confidences and class indices above the threshold."""
        height, width = image.shape[:2]
        blob = _cv2().dnn.blobFromImage(image, 1 / 255.0, self.size, swapRB=False)
        with parsing(self._path, "the detector cannot be run"):
            self._net.setInput(blob)
            rows = np.concatenate([np.atleast_2d(out) for out in self._net.forward(self._outputs)])
        if rows.ndim != 2 or rows.shape[1] < 6:
            raise InvalidFile(f"{self._path}: the net's last layers are no YOLO layers")
        classes = rows[:, 5:].argmax(axis=1).astype(np.int64)
        # The region layer has multiplied objectness in.
        scores = rows[np.arange(len(rows)), 5 + classes]
        keep = (scores >= threshold) & np.isfinite(rows[:, :4]).all(axis=1)
        centre, size = rows[keep, :2], rows[keep, 2:4]
        corners = np.concatenate([centre - size / 2, centre + size / 2], axis=1)
        boxes = corners * np.asarray([width, height, width, height], np.float32)
        return boxes.astype(np.float32), scores[keep].astype(np.float32), classes[keep]

    def _require_all(self, weights: Path) -> None:
        """Refuse weights of another length than the layers have: OpenCV reads on past the end."""
        layers = [self._net.getLayer(name) for name in self._net.getLayerNames()]
        # Anchors of the last layers are no weights; they stand in the other file.
        numbers = sum(b.size for layer in layers if layer.type != "Region" for b in layer.blobs)
        with weights.open("rb") as file:
            major, minor = np.frombuffer(file.read(12).ljust(12, b"\0"), "<i4")[:2].tolist()
        header = 20 if 10 * major + minor >= 2 else 16
        wanted, there = header + 4 * numbers, weights.stat().st_size
        if wanted != there:
            raise InvalidFile(
                f"{weights}: has {there} bytes, where the layers of {self._path.name} have "
                f"{wanted}; it is damaged, or belongs to another net"
            )


def _input_size(cfg: Path) -> tuple[int, int]:
    """Width and height from the [net] section."""
    found: dict[str, int] = {}
    for line in cfg.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = (part.strip() for part in line.partition("="))
        if key in ("width", "height") and value.isdecimal() and len(value) < 6:
            found.setdefault(key, int(value))
    return found.get("width", 416), found.get("height", 416)
