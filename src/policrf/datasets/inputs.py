"""What goes into the pipeline for one image: picture, truth, precomputed scores or boxes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policrf.datasets.base import Dataset, Sample
from policrf.datasets.layouts.trackrcnn import TrackRcnn
from policrf.errors import InvalidFile
from policrf.vision.images import read_image
from policrf.vision.nets.coco import CocoDetections
from policrf.vision.recipe import Recipe
from policrf.vision.unaries import read_scores


@dataclass(frozen=True)
class Inputs:
    """A data set with the files that stand in for nets; picklable, for worker processes."""

    dataset: Dataset
    recipe: Recipe
    scores: Path | None = None
    """Folder with NAME.npy or NAME.npz."""
    detections: CocoDetections | None = None
    trackrcnn: TrackRcnn | None = None

    def load(self, sample: Sample) -> dict[str, Any]:
        """The arguments of `Pipeline.view`."""
        image = read_image(sample.image)
        given: dict[str, Any] = {"image": image, "name": sample.name}
        given["truth"] = self.dataset.truth(sample)
        if self.trackrcnn is not None:
            height, width = image.shape[:2]
            scores, boxes = self.trackrcnn(sample.name, height, width)
            given["scores"], given["detections"] = scores, boxes
        if self.scores is not None:
            given["scores"] = read_scores(
                self._score_file(sample.name), len(self.recipe.net_classes), self.recipe.score_kind
            )
        if self.detections is not None:
            given["detections"] = self.detections(sample.name)
        return given

    def _score_file(self, name: str) -> Path:
        assert self.scores is not None
        for suffix in (".npy", ".npz"):
            path = self.scores / f"{name}{suffix}"
            if path.exists():
                return path
        raise InvalidFile(f"{self.scores / name}.npy: there are no scores for this image")
