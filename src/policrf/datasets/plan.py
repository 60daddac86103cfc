"""Plan: from options to what worker processes need, and the work on one image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from policrf.argument_types import shown
from policrf.datasets import DATASETS
from policrf.datasets.base import Dataset, Sample, checked_samples
from policrf.datasets.inputs import Inputs
from policrf.datasets.kept_pixels import KeptPixels, keep
from policrf.datasets.layouts.trackrcnn import TrackRcnn
from policrf.datasets.opening import OPTIONS, open_dataset
from policrf.datasets.options import PrepareOptions
from policrf.errors import InvalidFile, InvalidOption, PolicrfError
from policrf.types import Float32Array
from policrf.vision.image_options import recipe_of
from policrf.vision.images import image_size
from policrf.vision.nets.coco import CocoDetections
from policrf.vision.nets.hypercolumns import Reduction
from policrf.vision.nets.segmentation_net import AUTOMATIC, automatic_windows, open_net
from policrf.vision.pipeline import Pipeline
from policrf.vision.recipe import Recipe, file_digest
from policrf.vision.record import Record


@dataclass(frozen=True)
class Skip:
    """An image that could not be used, and why."""

    name: str
    reason: str


class Made(NamedTuple):
    """What was made of an image."""

    record: Record
    pixels: KeptPixels | None
    """None where the recipe keeps none."""


@dataclass(frozen=True)
class Summary:
    """What preparing did."""

    prepared: int
    """Images that are in the folder now."""
    skipped: tuple[Skip, ...]
    """Images that could not be used."""
    reused: int
    """Images that an earlier run had finished."""
    superpixels: float
    """Mean number of superpixels of an image."""


@dataclass(frozen=True)
class Plan:
    """Everything a worker process needs to make records."""

    inputs: Inputs
    options: PrepareOptions
    reduction: Reduction | None = None

    def pipeline(self) -> Pipeline:
        """The pipeline of this plan, nets not loaded yet."""
        return Pipeline(
            self.inputs.recipe,
            net=self.options.net,
            detector=self.options.detector,
            feature_net=self.options.feature_net,
            reduction=self.reduction,
        )

    def samples(self) -> list[Sample]:
        """The images that are asked for."""
        return checked_samples(self.inputs.dataset.samples())[: self.options.limit]


def make_plan(dataset: str | Dataset, root: str | Path | None, options: PrepareOptions) -> Plan:
    """What `options` ask for on a data set.

    Parameters
    ----------
    dataset
        The name of a registered data set, or a data set of your own.
    root
        The folder of a named data set; None for one of your own.
    options
        Where scores and boxes come from.
    """
    if isinstance(dataset, str):
        DATASETS.get(dataset)  # a wrong name is the first thing to hear about
    elif not all(hasattr(dataset, part) for part in ("labels", "support", "samples", "truth")):
        raise InvalidOption(
            f"dataset is {shown(dataset)}; give a name ({', '.join(DATASETS.names())}), or a data "
            "set with labels, support, samples and truth"
        )
    _check(options)
    opened, about = _opened(dataset, root, options)
    recipe = make_recipe(opened, about, options)
    coco = track = None
    if options.detections is not None and options.categories is not None:
        coco = CocoDetections(
            options.detections, options.categories, opened.labels, chosen=recipe.class_map,
            riders=opened.support == "rider", threshold=options.threshold,
        )  # fmt: skip
    if options.trackrcnn is not None:
        track = TrackRcnn(options.trackrcnn, len(opened.labels))
    inputs = Inputs(
        dataset=opened, recipe=recipe, scores=options.scores, detections=coco, trackrcnn=track
    )
    return Plan(inputs, options)


def _check(options: PrepareOptions) -> None:
    if options.net is None and options.scores is None and options.trackrcnn is None:
        raise InvalidOption("class scores must come from --net, --scores or --trackrcnn")
    if options.hypercolumns and options.net is None and options.feature_net is None:
        raise InvalidOption(
            "--hypercolumns names tensors of a net; give it with --net or --feature-net"
        )
    if options.detections is not None and options.categories is None:
        raise InvalidOption("--detections needs --categories, which names the category ids")
    if options.limit is not None and options.limit < 1:
        raise InvalidOption(f"--limit is {options.limit}; it must be at least 1")


def _opened(
    dataset: str | Dataset, root: str | Path | None, options: PrepareOptions
) -> tuple[Dataset, dict[str, Any]]:
    """The data set, and which images these are as the recipe keeps it."""
    if not isinstance(dataset, str):
        if root is not None:
            raise InvalidOption("root is for a data set by name; this one has its images already")
        name, folder = type(dataset).__name__.lower(), getattr(dataset, "root", "")
        opened = dataset
    elif root is None:
        raise InvalidOption(f"the data set {dataset!r} needs its folder; give --root")
    else:
        name, folder = dataset, root
        opened = open_dataset(
            dataset, root, **{option: getattr(options, option) for option in OPTIONS}
        )
    about: dict[str, Any] = {"name": name, "root": Path(folder).name}
    split = getattr(opened, "split", None)
    return opened, about | ({} if split is None else {"split": split})


def make_recipe(dataset: Dataset, about: dict[str, Any], options: PrepareOptions) -> Recipe:
    """The part of the options that decides what a record contains."""
    base = Recipe(
        labels=dataset.labels,
        net=file_digest(options.net),
        detector=file_digest(options.detector or options.detections),
        support=dataset.support,
        components=options.components,
        keep_pixels=options.keep_pixels,
        dataset=about,
    )
    # The data set has read the labels already.
    recipe = recipe_of(replace(options, labels=None), base)
    if recipe.net_windows == AUTOMATIC:
        recipe = replace(recipe, net_windows=_windows(dataset, options))
    if options.trackrcnn is not None and options.scores is None:
        recipe = replace(recipe, score_kind="probabilities")
    return recipe


def _windows(dataset: Dataset, options: PrepareOptions) -> int:
    """As many windows for all images as the first that can be read asks for."""
    if options.net is None:
        return 1
    for sample in dataset.samples():
        try:
            height, width = image_size(sample.image)
        except InvalidFile:
            continue
        factor = min(1.0, options.max_side / max(height, width))
        size = open_net(options.net).input_size
        return automatic_windows(round(height * factor), round(width * factor), size)
    return 1


def make_record(plan: Plan, sample: Sample, cache: dict[str, Pipeline]) -> Made | Skip:
    """One image in a worker; `cache` keeps the pipeline between calls."""
    pipeline = cache.setdefault("pipeline", plan.pipeline())
    try:
        given = plan.inputs.load(sample)
        view = pipeline.view(given.pop("image"), **given)
        kept = keep(view, given["truth"]) if plan.inputs.recipe.keep_pixels else None
        return Made(view.record, kept)
    except PolicrfError as error:
        return Skip(sample.name, str(error))
    except MemoryError:
        return Skip(sample.name, "not enough memory for an image of this size")


def make_columns(plan: Plan, sample: Sample, cache: dict[str, Pipeline]) -> Float32Array | Skip:
    """The hypercolumns of one image `[N, D]`, for fitting their principal components."""
    pipeline = cache.setdefault("pipeline", plan.pipeline())
    try:
        given = plan.inputs.load(sample)
        return pipeline.columns(given["image"], given.get("scores"))
    except (PolicrfError, MemoryError) as error:
        return Skip(sample.name, str(error))
