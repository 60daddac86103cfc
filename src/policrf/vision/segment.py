"""Segmenter: a photo in, a segmentation out; what `policrf segment` and three lines of Python use.

segmenter = pc.Segmenter("deeplab.tflite", "yolo.cfg", energy="energy.yaml")
segmenter("photo.jpg", "untrained:refine=true").save("out")
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.outputs import safe_name
from policrf.solvers import DEFAULT_SOLVER, solve
from policrf.types import Float32Array, LabelMap, Pixels, Solution
from policrf.vision.boxes import Detections
from policrf.vision.classes import VOC_LABELS
from policrf.vision.energy.build import to_instance
from policrf.vision.energy.weights import Energy
from policrf.vision.images import read_image
from policrf.vision.nets.detectors import detector_names
from policrf.vision.nets.hypercolumns import Reduction
from policrf.vision.nets.segmentation_net import AUTOMATIC
from policrf.vision.pipeline import ImageView, Pipeline
from policrf.vision.pixels.stage import refined_labels, stage_of
from policrf.vision.recipe import Recipe, file_digest
from policrf.vision.segmentation import Segmentation
from policrf.vision.stopwatch import Stopwatch, Timer
from policrf.vision.superpixels.project import enlarged


class Segmenter:
    """Nets, recipe and energy, ready for images: `Segmenter(net, detector)("photo.jpg").labels`."""

    @typed()
    def __init__(
        self,
        net: str | Path | None = None,
        detector: str | Path | None = None,
        *,
        energy: Energy | str | Path | None = None,
        recipe: Recipe | None = None,
        reduction: Reduction | None = None,
        feature_net: str | Path | None = None,
        potentials: str = "u+p+hop1+hop2",
        features: str = "paper",
        pixels: bool = True,
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
        feature_net
            Another net, whose tensors the hypercolumns are; the segmentation net without it.
        potentials
            Which terms the energy has, joined by +.
        features
            "paper", "appearance", "ridden", or several joined by +.
        pixels
            Decide pixels near the boundaries again at the end, as strongly as the energy's weight
            `pixels` says; False leaves the superpixels' labels.
        settings
            Fields of `Recipe`, such as superpixels=500 or hypercolumns=("inner",).
        """
        if recipe is None:
            settings.setdefault("labels", VOC_LABELS)
            settings.setdefault("net_classes", settings["labels"])
            settings.setdefault("net_windows", AUTOMATIC)
            recipe = Recipe(**settings)
        else:
            recipe = replace(recipe, **settings)
        if detector is not None and not recipe.detector_classes:
            recipe = replace(recipe, detector_classes=detector_names(detector, None))
        if feature_net is not None:
            recipe = replace(recipe, feature_net=file_digest(feature_net))
        self.pipeline = Pipeline(
            recipe, net=net, detector=detector, feature_net=feature_net, reduction=reduction
        )
        self.energy = energy if isinstance(energy, Energy) else (
            Energy.load(energy) if energy is not None else Energy()
        )  # fmt: skip
        self.potentials, self.features, self.pixels = potentials, features, pixels
        self.timer: Timer = time.perf_counter
        """Where seconds come from; set it to `time.process_time` for CPU seconds."""

    @typed()
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
        clock = Stopwatch(self.timer)
        pixels = image if isinstance(image, np.ndarray) else read_image(image)
        if name is None:
            name = "image" if isinstance(image, np.ndarray) else Path(image).stem
        safe_name(name)
        clock("decode")
        view = self.pipeline.view(
            pixels, name=name, scores=scores, detections=detections, truth=truth, timer=self.timer
        )
        clock("view")
        instance = to_instance(
            view.record, self.energy, potentials=self.potentials, features=self.features,
            label_names=self.pipeline.recipe.labels,
        )  # fmt: skip
        clock("instance")
        solution = solve(instance, solver, seconds=seconds, seed=seed, **options)
        clock("solver")
        labels = self._labels(view, solution)
        clock("pixels")
        times = clock.seconds
        del times["view"]  # its own steps stand for it
        return Segmentation(
            image=pixels,
            labels=enlarged(labels, pixels.shape[:2]),
            solution=solution,
            instance=instance,
            view=view,
            energy=self.energy,
            seconds={
                "decode": times.pop("decode"),
                **view.seconds,
                **times,
                "total": clock.total(),
            },
            truth=truth,
            source=None if isinstance(image, np.ndarray) else Path(image),
        )

    def _labels(self, view: ImageView, solution: Solution) -> LabelMap:
        """The label of every pixel at the working size."""
        stage = stage_of(self.energy, self.potentials, solution.solver) if self.pixels else None
        if stage is None:
            return np.asarray(solution.labels, np.int32)[view.segments]
        return refined_labels(view, solution.labels, stage)
