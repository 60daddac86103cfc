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
from policrf.crf.io.outputs import refuse_replacing, safe_name
from policrf.metrics import class_iou, map_confusion, mean_iou
from policrf.plots.colours import overlay
from policrf.types import IntArray, LabelMap, Pixels, Solution
from policrf.vision.energy.build import box_members
from policrf.vision.energy.weights import Energy
from policrf.vision.images import write_image, write_labels
from policrf.vision.pipeline import ImageView
from policrf.vision.superpixels.project import enlarged, project
from policrf.vision.unaries import best_labels

LARGEST_PANEL = 1024  # pixels; a panel of the figure shows half as many


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
    source: Path | None = None
    """The image's file, which is never written over."""

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
        return map_confusion(self.truth, self.labels, self.view.record.n_labels)

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
            "net_windows": len(self.view.scores),
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
        paths = result_files(folder, self.view.record.name, figure=figure)
        if self.source is not None:
            refuse_replacing(paths, [self.source])
        make_folder(paths[0].parent)
        write_labels(self.labels, paths[0])
        write_image(overlay(self.image, self.labels), paths[1])
        write_json(paths[2], self.report())
        if figure:
            self.figure(paths[3])
        return paths

    def figure(self, path: str | Path) -> None:
        """Image, unaries, boxes with foreground, result and truth, side by side."""
        from policrf.plots.figures import SegmentedImage, segmentation_figure

        record = self.view.record
        step = -(-max(self.labels.shape) // LARGEST_PANEL)
        labels = self.labels[::step, ::step]
        shown = SegmentedImage(
            image=self.image[::step, ::step],
            segments=enlarged(self.view.segments, labels.shape),
            record=record,
            members=box_members(record, self.energy.foreground),
            labels=labels,
            label_names=self.instance.label_names,
            truth=None if self.truth is None else self.truth[::step, ::step],
            title=f"{record.name}: {self.solution.solver}, {record.n_nodes} superpixels, "
            f"energy {self.solution.energy:.2f}",
        )
        segmentation_figure(path, shown)


def result_files(folder: str | Path, name: str, *, figure: bool = False) -> list[Path]:
    """Where `Segmentation.save` writes what it found for the image of that name."""
    ends = [".png", ".overlay.png", ".json", *([".figure.png"] if figure else [])]
    return [Path(folder) / f"{safe_name(name)}{end}" for end in ends]


def iou_report(confusion: IntArray, net: IntArray, names: Sequence[str]) -> dict[str, Any]:
    """What two confusions `[L, L]` say, of a result and of the net, as plain values.

    Classes that occur in the truth or in the result count; a class that was found and is not there
    has 0.
    """
    values = class_iou(confusion)
    pairs = zip(names, values.tolist(), strict=True)
    found = {name: value for name, value in pairs if np.isfinite(value)}
    return {"mean": mean_iou(confusion), "net": mean_iou(net), "classes": found}
