"""Segmenter: a photo in, a segmentation out; what `policrf segment` and three lines of Python use.

segmenter = pc.Segmenter("deeplab.tflite", "yolo.cfg", energy="energy.yaml")
segmenter("photo.jpg", "voc-250:refine=true").save("out")
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.io.files import make_folder
from policrf.crf.io.json_text import as_json, write_json
from policrf.plots.colours import overlay
from policrf.solvers import DEFAULT_SOLVER, solve
from policrf.types import Float32Array, LabelMap, Pixels, Solution
from policrf.vision.boxes import Detections
from policrf.vision.build import box_members, to_instance
from policrf.vision.classes import VOC_LABELS
from policrf.vision.energy_weights import Energy
from policrf.vision.images import read_image, write_image, write_labels
from policrf.vision.nets.detectors import detector_names
from policrf.vision.nets.hypercolumns import Reduction
from policrf.vision.pipeline import ImageView, Pipeline
from policrf.vision.recipe import Recipe
from policrf.vision.stopwatch import Stopwatch
from policrf.vision.superpixels.project import enlarged, project


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The result for one image."""

    image: Pixels
    labels: LabelMap
    """The label of every pixel, `[H, W]`."""
    solution: Solution
    instance: Instance
    view: ImageView
    energy: Energy
    seconds: dict[str, float]
    """What each step took."""
    truth: LabelMap | None = None
    """What it was given to compare with."""

    def report(self) -> dict[str, Any]:
        """What there is to say about it, as plain values."""
        names = self.instance.label_names
        values, counts = np.unique(self.labels, return_counts=True)
        shares = {
            names[v]: float(n / self.labels.size) for v, n in zip(values, counts, strict=True)
        }
        record = self.view.record
        boxes = [
            {"label": names[label] if label > 0 else None, "confidence": float(score)}
            for label, score in zip(record.box_labels, record.box_scores, strict=True)
        ]
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
            "boxes": boxes,
            "seconds": self.seconds,
        }

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
            labels=self.solution.labels,
            label_names=self.instance.label_names,
            truth=self.truth,
            title=f"{record.name}: {self.solution.solver}, {record.n_nodes} superpixels, "
            f"energy {self.solution.energy:.2f}",
        )
        segmentation_figure(path, shown)


class Segmenter:
    """Nets, recipe and energy, ready for images: `Segmenter(net, detector)("photo.jpg").labels`."""

    def __init__(
        self,
        net: str | Path | None = None,
        detector: str | Path | None = None,
        *,
        energy: Energy | str | Path | None = None,
        recipe: Recipe | None = None,
        reduction: Reduction | None = None,
        potentials: str = "u+p+hop1+hop2",
        features: str = "paper",
        **settings: Any,
    ) -> None:
        """Make a segmenter; nets are loaded with the first image.

        Parameters
        ----------
        net
            Segmentation net (.tflite or .onnx).
        detector
            Darknet .cfg or .onnx; none is fine.
        energy
            The weights, or the path of an energy.yaml; the defaults without it.
        recipe
            How images become records, such as that of prepared data.
        reduction
            Principal components of the hypercolumns, of the same prepared data.
        potentials
            Which terms the energy has, joined by +.
        features
            "paper", "appearance" or "paper+appearance".
        settings
            Fields of `Recipe`, such as superpixels=500 or hypercolumns=("inner",).
        """
        if recipe is None:
            settings.setdefault("labels", VOC_LABELS)
            settings.setdefault("net_classes", settings["labels"])
            recipe = Recipe(**settings)
        else:
            recipe = replace(recipe, **settings)
        if detector is not None and not recipe.detector_classes:
            recipe = replace(recipe, detector_classes=detector_names(detector, None))
        self.pipeline = Pipeline(recipe, net=net, detector=detector, reduction=reduction)
        self.energy = energy if isinstance(energy, Energy) else (
            Energy.load(energy) if energy is not None else Energy()
        )  # fmt: skip
        self.potentials, self.features = potentials, features

    def __call__(
        self,
        image: str | Path | Pixels,
        solver: str = DEFAULT_SOLVER,
        *,
        name: str | None = None,
        scores: Float32Array | None = None,
        detections: Detections | None = None,
        truth: LabelMap | None = None,
        seconds: float | None = None,
        seed: int = 0,
        **options: Any,
    ) -> Segmentation:
        """Segment one image.

        Parameters
        ----------
        image
            A file, or pixels `[H, W, 3]`.
        solver
            A solver or policy for the superpixels, as in `solve`.
        name
            What the image is called; its file's name by default.
        scores
            Class scores `[h, w, C]` instead of the net's.
        detections
            Boxes in pixels of the image instead of the detector's.
        truth
            Labels `[H, W]` to compare with, −1 = void.
        seconds
            Time limit of the solver.
        seed
            Of the solver.
        options
            Of the solver, by name.
        """
        clock = Stopwatch()
        pixels = image if isinstance(image, np.ndarray) else read_image(image)
        if name is None:
            name = "image" if isinstance(image, np.ndarray) else Path(image).stem
        clock("decode")
        view = self.pipeline.view(
            pixels, name=name, scores=scores, detections=detections, truth=truth
        )
        clock("view")
        instance = to_instance(
            view.record, self.energy, potentials=self.potentials, features=self.features,
            label_names=self.pipeline.recipe.labels,
        )  # fmt: skip
        clock("instance")
        solution = solve(instance, solver, seconds=seconds, seed=seed, **options)
        labels = project(solution.labels, view.segments, pixels.shape[:2])
        return Segmentation(
            image=pixels,
            labels=labels,
            solution=solution,
            instance=instance,
            view=view,
            energy=self.energy,
            seconds=_times(clock, view, solution),
            truth=truth,
        )


def _times(clock: Stopwatch, view: ImageView, solution: Solution) -> dict[str, float]:
    """Seconds of every step, and of all; the view's own steps stand for it."""
    booked = clock.seconds
    times = {"decode": booked["decode"], **view.seconds, "instance": booked["instance"]}
    return times | {"solver": solution.seconds, "total": clock.total()}
