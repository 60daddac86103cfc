"""Segmentation: the result for one image, its report, its files and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.io.files import make_folder
from policrf.crf.io.json_text import as_json, write_json
from policrf.metrics import class_iou, mean_iou, pair_counts
from policrf.plots.colours import overlay
from policrf.types import VOID, IntArray, LabelMap, Pixels, Solution
from policrf.vision.build import box_members
from policrf.vision.energy_weights import Energy
from policrf.vision.images import write_image, write_labels
from policrf.vision.pipeline import ImageView
from policrf.vision.superpixels.project import enlarged, project
from policrf.vision.unaries import best_labels


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The result for one image."""

    image: Pixels
    labels: LabelMap
    """The label of every pixel, `[H, W]`, after the pixel stage if there was one."""
    solution: Solution
    instance: Instance
    view: ImageView
    energy: Energy
    seconds: dict[str, float]
    """What each step took."""
    truth: LabelMap | None = None
    """What it was given to compare with, −1 = void."""

    @property
    def coarse_labels(self) -> LabelMap:
        """The labels of the superpixels, before the pixel stage, `[H, W]`."""
        return project(self.solution.labels, self.view.segments, self.labels.shape)

    @property
    def net_labels(self) -> LabelMap:
        """The labels of the net alone, `[H, W]`."""
        return enlarged(best_labels(self.view.distribution), self.labels.shape)

    def confusion(self) -> IntArray | None:
        """Pixels by (true label, label), `[L, L]`; None without truth."""
        if self.truth is None:
            return None
        known = self.truth != VOID
        n_labels = self.view.record.n_labels
        return pair_counts(self.truth[known], self.labels[known], (n_labels, n_labels))

    def report(self) -> dict[str, Any]:
        """What there is to say about it, as plain values."""
        names = self.instance.label_names
        counts = np.bincount(self.labels.reshape(-1), minlength=len(names))
        shares = {
            name: float(n / self.labels.size) for name, n in zip(names, counts, strict=True) if n
        }
        record = self.view.record
        return {
            "image": record.name,
            "size": [int(record.width), int(record.height)],
            "superpixels": record.n_nodes,
            "solver": self.solution.solver,
            "energy": self.solution.energy,
            "terms": self.instance.crf.terms(self.solution.labels),
            "lower_bound": as_json(self.solution.lower_bound),
            "optimal": self.solution.optimal,
            "labels": shares,
            "boxes": self._boxes(),
            "moved": float((self.labels != self.coarse_labels).mean()),
            "iou": self._iou(),
            "seconds": self.seconds,
        }

    def _boxes(self) -> list[dict[str, Any]]:
        """Boxes as [x0, y0, x1, y1] in pixels of the image."""
        record, names = self.view.record, self.instance.label_names
        corners = record.boxes * np.asarray([record.width, record.height] * 2, np.float32)
        return [
            {
                "label": names[label] if label > 0 else None,
                "confidence": float(score),
                "box": [round(float(side), 1) for side in box],
            }
            for label, score, box in zip(record.box_labels, record.box_scores, corners, strict=True)
        ]

    def _iou(self) -> dict[str, Any] | None:
        """IoU of every class that the truth or the result has, their mean, and the net's mean."""
        confusion, net = self.confusion(), self.view.record.net_confusion
        if confusion is None or net is None:
            return None
        return iou_report(confusion, net, self.instance.label_names)

    def save(self, folder: str | Path, *, figure: bool = False) -> list[Path]:
        """NAME.png (palette), NAME.overlay.png, NAME.json and, if asked, NAME.figure.png."""
        target = Path(folder)
        stem = target / self.view.record.name
        make_folder(stem.parent)
        paths = [stem.with_name(stem.name + end) for end in (".png", ".overlay.png", ".json")]
        write_labels(self.labels, paths[0])
        write_image(overlay(self.image, self.labels), paths[1])
        write_json(paths[2], self.report())
        if figure:
            paths.append(stem.with_name(stem.name + ".figure.png"))
            self.figure(paths[3])
        return paths

    def figure(self, path: str | Path) -> None:
        """Image, unaries, boxes with foreground, result and truth, side by side."""
        from policrf.plots.figures import SegmentedImage, segmentation_figure

        record = self.view.record
        shown = SegmentedImage(
            image=self.image,
            segments=enlarged(self.view.segments, self.image.shape[:2]),
            record=record,
            members=box_members(record, self.energy.foreground),
            labels=self.labels,
            label_names=self.instance.label_names,
            truth=self.truth,
            title=f"{record.name}: {self.solution.solver}, {record.n_nodes} superpixels, "
            f"energy {self.solution.energy:.2f}",
        )
        segmentation_figure(path, shown)


def iou_report(confusion: IntArray, net: IntArray, names: Sequence[str]) -> dict[str, Any]:
    """What two confusions `[L, L]` say, of a result and of the net, as plain values.

    Classes that occur in the truth or in the result count; a class that was found and is not there
    has 0.
    """
    values = class_iou(confusion)
    pairs = zip(names, values.tolist(), strict=True)
    found = {name: value for name, value in pairs if np.isfinite(value)}
    return {"mean": mean_iou(confusion), "net": mean_iou(net), "classes": found}
