"""FeatureNet: a net that only hypercolumns are read from, such as the paper's VGG16.

It needs no class scores, and may have its own way to take pixels.
"""

from __future__ import annotations

from pathlib import Path

from policrf.errors import InvalidOption
from policrf.types import Pixels
from policrf.vision.nets.grids import Grid
from policrf.vision.nets.segmentation_net import (
    NetOptions,
    SegmentationNet,
    automatic_windows,
    open_net,
    windows,
)
from policrf.vision.nets.tensors import find_tensor


class FeatureNet(SegmentationNet):
    """A net file and the tensors that make up the hypercolumns; call it with an image.

    Parameters
    ----------
    path
        .tflite or .onnx.
    options
        How it is fed; `hypercolumns` names the tensors, at least one.
    """

    def __init__(self, path: str | Path, options: NetOptions) -> None:
        if not options.hypercolumns:
            raise InvalidOption(
                f"{path}: name the tensors of the feature net that make up the hypercolumns"
            )
        self.options = options
        self.net = open_net(path)
        self.names = [find_tensor(self.net, name) for name in options.hypercolumns]

    def maps(self, image: Pixels) -> list[list[Grid]]:
        """The named maps, each as one grid a window."""
        height, width = image.shape[:2]
        count = self.options.windows or automatic_windows(height, width, self.net.input_size)
        per_window = [self._run(image, window) for window in windows(image, count)]
        return [list(grids) for grids in zip(*per_window, strict=True)]
