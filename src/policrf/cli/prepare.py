"""`policrf prepare DATASET --root FOLDER --net NET --detector DETECTOR --out FOLDER`."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from policrf.errors import InvalidOption

if TYPE_CHECKING:
    from policrf.datasets.base import Dataset
    from policrf.datasets.prepare import Plan, Summary
    from policrf.vision.recipe import Recipe


@dataclass(frozen=True)
class Config:
    """Turn images into CRFs that calibrating, training and evaluating read."""

    dataset: Annotated[Literal["voc", "mots", "folder", "images"], tyro.conf.Positional]
    """voc, mots, folder (images with masks) or images (without truth)."""
    root: Path
    """The data set's folder: VOC2012, KITTI_MOTS, or the images."""
    out: Path
    """Where the prepared data goes; an unfinished run goes on from what is there."""
    split: str = "train"
    """voc: a file of ImageSets/Segmentation; mots: sequences (0000,0002), train or val."""
    masks: Path | None = None
    """folder: where the masks are (PNG, same names, label indices, 255 = void)."""
    labels: Path | None = None
    """folder, images: the label names, one a line, background first (default: VOC's)."""
    net: Path | None = None
    """Segmentation net (.tflite or .onnx)."""
    net_names: str | None = None
    """The net's classes, if they are not the data set's labels: a file, one a line, or voc."""
    net_scores: str | None = None
    """Tensor with the class scores; default: the first with one channel a class."""
    hypercolumns: str = ""
    """Inner tensors for the hypercolumns, joined by commas."""
    net_fit: Literal["pad", "fill", "stretch"] = "pad"
    """How an image is put into a net of fixed size."""
    net_windows: int = 1
    """Read a wide image through this many overlapping windows."""
    net_mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Subtracted from the pixels (0 … 255) of nets with real-valued input."""
    net_deviation: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Then divided by."""
    net_bgr: bool = False
    """The net wants blue first."""
    scores: Path | None = None
    """Folder with precomputed scores, NAME.npy or .npz, instead of the net's."""
    score_kind: Literal["logits", "probabilities"] = "logits"
    """What the scores are."""
    detector: Path | None = None
    """Detector: Darknet .cfg (with .weights beside it) or .onnx."""
    detector_names: Path | None = None
    """The detector's class names; default: a .names file of the right length beside it."""
    class_map: Path | None = None
    """YAML from every class of the detector to a label or null; default: by name."""
    detector_windows: int = 1
    """Run the detector also on this many windows of a wide image."""
    detections: Path | None = None
    """Precomputed detections in COCO's results format."""
    categories: Path | None = None
    """For --detections: a COCO annotation file, or names, the first being category 1."""
    trackrcnn: Path | None = None
    """mots: folder with TrackR-CNN results, SEQ.txt, for scores and boxes."""
    threshold: float = 0.3
    """Least confidence of a detection."""
    superpixels: int = 250
    """How many superpixels SLIC is asked for."""
    compactness: float = 20.0
    """SLIC: weight of closeness against colour."""
    max_side: int = 2048
    """Larger images are worked on at this size."""
    grabcut_scale: float = 0.4
    """Scale at which GrabCut works."""
    components: int = 32
    """Principal components of the hypercolumns to keep; 0 for none."""
    like: Path | None = None
    """Prepared training data whose principal components to use."""
    limit: int | None = None
    """Only the first so many images."""
    jobs: int = os.cpu_count() or 1
    """Processes."""
    strict: bool = False
    """Stop at the first image that cannot be used instead of skipping it."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(config: Config) -> None:
    """Prepare, with a progress bar on a terminal."""
    from policrf.cli.progress import progress_bar
    from policrf.datasets.prepare import prepare

    plan = _plan(config)
    start = time.perf_counter()
    total = len(plan.inputs.dataset.samples()[: config.limit])
    with progress_bar("preparing", total) as advance:
        summary = prepare(
            plan, config.out, jobs=config.jobs, limit=config.limit, strict=config.strict,
            like=config.like, advance=advance,
        )  # fmt: skip
    _report(config, summary, time.perf_counter() - start)


def _report(config: Config, summary: Summary, seconds: float) -> None:
    fresh = summary.prepared + len(summary.skipped) - summary.reused
    rate = fresh / seconds if seconds > 0 else 0.0
    if config.json:
        skipped = [{"name": skip.name, "reason": skip.reason} for skip in summary.skipped]
        report = {
            "out": str(config.out), "prepared": summary.prepared, "reused": summary.reused,
            "skipped": skipped, "seconds": seconds, "images_per_second": rate,
        }  # fmt: skip
        print(json.dumps(report))
        return
    print(
        f"{config.out}: {summary.prepared} images prepared, {len(summary.skipped)} skipped; "
        f"{fresh} now, in {seconds:.1f} s ({rate:.2f} images/s)"
    )
    for skip in summary.skipped[:5]:
        print(f"  skipped {skip.name}: {skip.reason}")
    if len(summary.skipped) > 5:
        print(f"  … all of them are in {config.out / 'report.json'}")


def _plan(config: Config) -> Plan:
    from policrf.datasets.inputs import Inputs
    from policrf.datasets.prepare import Plan
    from policrf.datasets.trackrcnn import TrackRcnn
    from policrf.vision.nets.coco import CocoDetections

    if config.net is None and config.scores is None and config.trackrcnn is None:
        raise InvalidOption("class scores must come from --net, --scores or --trackrcnn")
    if config.hypercolumns and config.net is None:
        raise InvalidOption("--hypercolumns names tensors of a net; give it with --net")
    if config.detections is not None and config.categories is None:
        raise InvalidOption("--detections needs --categories, which names the category ids")
    dataset = _dataset(config)
    recipe = _recipe(config, dataset)
    coco = None
    if config.detections is not None and config.categories is not None:
        coco = CocoDetections(
            config.detections, config.categories, dataset.labels, chosen=recipe.class_map,
            riders=dataset.support == "rider", threshold=config.threshold,
        )  # fmt: skip
    track = None
    if config.trackrcnn is not None:
        track = TrackRcnn(config.trackrcnn, len(dataset.labels))
    inputs = Inputs(dataset, recipe, config.scores, coco, track)
    return Plan(inputs, config.net, config.detector)


def _dataset(config: Config) -> Dataset:
    from policrf.datasets import DATASETS
    from policrf.vision.classes import VOC_LABELS, read_names

    if config.dataset in ("voc", "mots"):
        made: Dataset = DATASETS.get(config.dataset)(config.root, config.split)
        return made
    labels = read_names(config.labels) if config.labels else VOC_LABELS
    if config.dataset == "folder" and config.masks is None:
        raise InvalidOption("folder needs --masks; for images without truth use: prepare images")
    masks = config.masks if config.dataset == "folder" else None
    made = DATASETS.get("folder")(config.root, labels, masks)
    return made


def _recipe(config: Config, dataset: Dataset) -> Recipe:
    from policrf.vision.classes import VOC_LABELS, read_class_map, read_names
    from policrf.vision.nets.detectors import detector_names
    from policrf.vision.recipe import Recipe, file_digest

    net_classes = dataset.labels
    if config.net_names is not None:
        net_classes = VOC_LABELS if config.net_names == "voc" else read_names(config.net_names)
    detector_classes: tuple[str, ...] = ()
    if config.detector is not None:
        detector_classes = detector_names(config.detector, config.detector_names)
    from_track = config.trackrcnn is not None and config.scores is None
    about: dict[str, Any] = {"name": config.dataset, "root": config.root.name}
    if config.dataset in ("voc", "mots"):
        about["split"] = config.split
    return Recipe(
        labels=dataset.labels,
        superpixels=config.superpixels,
        compactness=config.compactness,
        max_side=config.max_side,
        net=file_digest(config.net),
        net_classes=net_classes,
        scores=config.net_scores,
        hypercolumns=tuple(x.strip() for x in config.hypercolumns.split(",") if x.strip()),
        score_kind="probabilities" if from_track else config.score_kind,
        fit=config.net_fit,
        net_windows=config.net_windows,
        mean=config.net_mean,
        deviation=config.net_deviation,
        bgr=config.net_bgr,
        detector=file_digest(config.detector or config.detections),
        detector_classes=detector_classes,
        class_map=read_class_map(config.class_map) if config.class_map else None,
        threshold=config.threshold,
        detector_windows=config.detector_windows,
        grabcut_scale=config.grabcut_scale,
        support=dataset.support,
        components=config.components,
        dataset=about,
    )
