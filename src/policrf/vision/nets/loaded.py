"""LoadedNets: the net and the detector of a recipe, each loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from policrf.errors import InvalidOption
from policrf.types import Float32Array, Pixels
from policrf.vision.boxes import Detections, cleaned
from policrf.vision.classes import match_classes
from policrf.vision.nets.detectors import ClassRoles, Detector
from policrf.vision.nets.feature_net import FeatureNet
from policrf.vision.nets.grids import Grid
from policrf.vision.nets.segmentation_net import SegmentationNet
from policrf.vision.recipe import Recipe
from policrf.vision.unaries import merge_classes, pixel_distribution


def label_distribution(
    scores: Sequence[Grid], shape: tuple[int, ...], recipe: Recipe
) -> Float32Array:
    """The labels' probabilities at every pixel, `[L, H, W]`.

    Parameters
    ----------
    scores
        Of the net's classes, one grid a window. Classes without a label are background.
    shape
        H and W.
    recipe
        What the scores are, and which label each class has.
    """
    classes = pixel_distribution(scores, shape[0], shape[1], recipe.score_kind)
    labels = np.maximum(match_classes(recipe.net_classes, recipe.labels), 0)
    return merge_classes(classes, labels, len(recipe.labels))


class LoadedNets:
    """What a recipe's nets say of an image; precomputed scores and boxes may stand in for them."""

    def __init__(
        self, recipe: Recipe, net: str | Path | None, detector: str | Path | None,
        feature_net: str | Path | None = None,
    ) -> None:  # fmt: skip
        self.recipe = recipe
        self._net_path, self._detector_path, self._feature_path = net, detector, feature_net
        self._net: SegmentationNet | None = None
        self._feature_net: FeatureNet | None = None
        self._detector: Detector | None = None

    def load(self) -> None:
        """Load both now."""
        if self._net_path is not None:
            self._load_net()
        if self.recipe.feature_net:
            self._load_feature_net()
        if self._detector_path is not None:
            self._load_detector()

    def scores(
        self, image: Pixels, given: Float32Array | None
    ) -> tuple[list[Grid], list[list[Grid]]]:
        """Class scores, and the inner maps of every hypercolumn tensor.

        Parameters
        ----------
        image
            At the working size.
        given
            Scores `[h, w, C]` over the whole image that stand in for the net's.
        """
        apart = bool(self.recipe.feature_net)
        own = bool(self.recipe.hypercolumns) and not apart
        maps = self._load_net()(image) if given is None or own else None
        inner = self._load_feature_net().maps(image) if apart else maps.inner if maps else []
        if given is None:
            assert maps is not None
            return maps.scores, inner
        height, width = image.shape[:2]
        return [Grid.over_image(given, height, width)], inner

    def detections(
        self, image: Pixels, full: tuple[int, ...], given: Detections | None
    ) -> Detections:
        """Boxes in pixels of `image`, without doubles.

        Parameters
        ----------
        image
            At the working size.
        full
            The shape of the image at its own size.
        given
            Boxes in pixels of the full size that stand in for the detector's.
        """
        height, width = image.shape[:2]
        if given is not None:
            found = given.scaled(height / full[0], width / full[1])
        elif self._detector_path is not None:
            found = self._load_detector()(image)
        else:
            return Detections.none()
        return cleaned(found, height, width, overlap=self.recipe.overlap)

    def _load_net(self) -> SegmentationNet:
        if self._net is None:
            if self._net_path is None:
                raise InvalidOption("no class scores: give a segmentation net or scores")
            classes = len(self.recipe.net_classes)
            self._net = SegmentationNet(self._net_path, classes, self.recipe.net_options())
        return self._net

    def _load_feature_net(self) -> FeatureNet:
        if self._feature_net is None:
            if self._feature_path is None:
                raise InvalidOption(
                    "these hypercolumns come from a net of their own; give it with --feature-net"
                )
            self._feature_net = FeatureNet(self._feature_path, self.recipe.feature_options())
        return self._feature_net

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
