"""A segmentation net file -> class scores and inner maps, laid over the pixels of an image.

The image goes in unscaled, at the top left of the net's input, and is shrunk only where it does not
fit ("pad", as DeepLab is evaluated); or is scaled to fill the longer side ("fill"); or is stretched
to the input ("stretch"). Wide images can be read through several overlapping windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from policrf.errors import InvalidFile, InvalidOption
from policrf.types import Float32Array, Pixels
from policrf.vision.nets.grids import Grid, Window
from policrf.vision.nets.tensors import NetFile, find_tensor
from policrf.vision.nets.trial import try_apart
from policrf.vision.opencv import resize

Fit = Literal["pad", "fill", "stretch"]
OVERLAP = 0.2  # share of a window that the next one covers too
AUTOMATIC = 0  # windows: as many as `automatic_windows` says of the image
LONG = 2.0  # sides above this ratio ask for windows


@dataclass(frozen=True)
class NetOptions:
    """How a segmentation net is fed and read."""

    scores: str | None = None
    """Tensor with the class scores; by default the first with one channel a class."""
    hypercolumns: tuple[str, ...] = ()
    """Inner tensors whose values make up the hypercolumns."""
    fit: Fit = "pad"
    """pad: unscaled at the top left, shrunk only if too large; fill: scaled to fill; stretch."""
    windows: int = 1
    """Overlapping windows along the longer side (for wide images); 0: by the image's shape."""
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Subtracted from the 0 … 255 pixels of nets with real-valued input."""
    deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Then divided by."""
    bgr: bool = False
    """The net wants blue first."""


class NetMaps:
    """What a net says about one image: scores, and one entry per hypercolumn tensor."""

    def __init__(self, scores: list[Grid], inner: list[list[Grid]]) -> None:
        self.scores = scores
        self.inner = inner


class SegmentationNet:
    """A net file with its options; call it with an image."""

    def __init__(self, path: str | Path, n_classes: int, options: NetOptions | None = None) -> None:
        self.options = options or NetOptions()
        self.net = open_net(path)
        self.scores = self._find_scores(n_classes)
        inner = [find_tensor(self.net, name) for name in self.options.hypercolumns]
        self.names = [*([self.scores] if self.scores else []), *inner]
        self.n_classes = n_classes

    def _find_scores(self, n_classes: int) -> str:
        if self.options.scores is not None:
            return find_tensor(self.net, self.options.scores)
        shapes = self.net.tensors()
        fitting = [name for name, shape in shapes.items() if shape and shape[-1] == n_classes]
        if fitting:
            return fitting[0]
        if any(shapes.values()):
            raise InvalidOption(
                f"{self.net.path}: no tensor has {n_classes} channels, one a class; "
                "name the one with the class scores, or give the net's class names"
            )
        if not shapes:
            raise InvalidFile(f"{self.net.path}: the net computes nothing")
        return list(shapes)[-1]  # ONNX: shapes are unknown before a run; the last is the output

    def __call__(self, image: Pixels) -> NetMaps:
        """Run the net on every window of the image."""
        height, width = image.shape[:2]
        count = self.options.windows or automatic_windows(height, width, self.net.input_size)
        per_window = [self._run(image, window) for window in windows(image, count)]
        by_tensor = [list(grids) for grids in zip(*per_window, strict=True)]
        channels = by_tensor[0][0].values.shape[2]
        if not all(np.isfinite(grid.values).all() for grids in by_tensor for grid in grids):
            raise InvalidFile(f"{self.net.path}: the net gives numbers that are not finite")
        if channels != self.n_classes:
            raise InvalidOption(
                f"{self.net.path}: tensor {self.scores!r} has {channels} channels, "
                f"but the net has {self.n_classes} class names"
            )
        return NetMaps(by_tensor[0], by_tensor[1:])

    def _run(self, image: Pixels, window: Window) -> list[Grid]:
        top, left, bottom, right = window
        part = image[top:bottom, left:right]
        pixels, scale_y, scale_x = self._as_input(part)
        maps = self.net.run(pixels, self.names)
        return [_lay_over(values, window, pixels.shape[:2], scale_y, scale_x) for values in maps]

    def _as_input(self, part: Pixels) -> tuple[NDArray[Any], float, float]:
        height, width = part.shape[:2]
        size = self.net.input_size or (height, width)
        if self.options.fit == "stretch":
            new = size
        else:
            scale = min(size[0] / height, size[1] / width)
            if self.options.fit == "pad":
                scale = min(scale, 1.0)
            new = max(1, round(height * scale)), max(1, round(width * scale))
        scaled = part if new == (height, width) else resize(part, *new)
        if self.options.bgr:
            scaled = scaled[:, :, ::-1]
        if self.net.takes_bytes:
            canvas = np.full((*size, 3), 128, np.uint8)
        else:
            mean = np.asarray(self.options.mean, np.float32)
            scaled = (scaled - mean) / np.asarray(self.options.deviation, np.float32)
            canvas = np.zeros((*size, 3), np.float32)
        canvas[: new[0], : new[1]] = scaled
        return canvas, new[0] / height, new[1] / width


def open_net(path: str | Path, *, trial: bool = True) -> NetFile:
    """A net by its suffix; `trial`: first in a process of its own (`nets.trial`)."""
    file = Path(path)
    if not file.is_file():
        raise InvalidFile(f"{file}: there is no such net file")
    if trial and file.suffix in (".tflite", ".onnx"):
        try_apart(file, "net")
    if file.suffix == ".tflite":
        from policrf.vision.nets.tflite import TFLiteNet

        return TFLiteNet(file)
    if file.suffix == ".onnx":
        from policrf.vision.nets.onnx import OnnxNet

        return OnnxNet(file)
    raise InvalidFile(f"{file}: segmentation nets are .onnx or .tflite files")


def automatic_windows(height: int, width: int, size: tuple[int, int] | None) -> int:
    """How many windows an image is read through if nobody says.

    One where the net takes any size, where the image fits into its input, or where no side is more
    than twice the other; else so many that windows are about square.

    >>> [automatic_windows(375, width, (513, 513)) for width in (500, 750, 1242)]
    [1, 1, 4]
    """
    longer, shorter = max(height, width), min(height, width)
    if size is None or (height <= size[0] and width <= size[1]) or longer <= LONG * shorter:
        return 1
    return int(np.ceil(longer / shorter))


def windows(image: Pixels, count: int) -> list[Window]:
    """`count` equal windows that cover the image along its longer side, overlapping by a fifth."""
    height, width = image.shape[:2]
    longer = max(height, width)
    size = longer if count == 1 else int(np.ceil(longer / (1 + (count - 1) * (1 - OVERLAP))))
    starts = np.linspace(0, longer - size, count).round().astype(int).tolist()
    if width >= height:
        return [(0, start, height, start + size) for start in starts]
    return [(start, 0, start + size, width) for start in starts]


def _lay_over(
    values: Float32Array, window: Window, size: Sequence[int], scale_y: float, scale_x: float
) -> Grid:
    y0, dy = _axis(window[0], size[0], scale_y, values.shape[0])
    x0, dx = _axis(window[1], size[1], scale_x, values.shape[1])
    return Grid(values, window, y0=y0, dy=dy, x0=x0, dx=dx)


def _axis(first: int, size: int, scale: float, cells: int) -> tuple[float, float]:
    """Where image pixel p falls on a map of `cells` cells over a net input of `size` pixels.

    Maps whose outermost cells lie on the outermost pixels (513 -> 257, 129, 65, 33) are told by
    (size − 1) being a multiple of (cells − 1); all others have cell centres against pixel centres.
    """
    # Input pixel u of image pixel p: u = scale · (p − first + ½) − ½.
    offset = scale * (0.5 - first) - 0.5
    if cells > 1 and (size - 1) % (cells - 1) == 0:
        step = (cells - 1) / (size - 1)
        return offset * step, scale * step
    step = cells / size
    return (offset + 0.5) * step - 0.5, scale * step
