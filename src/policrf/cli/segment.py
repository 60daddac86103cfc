"""`policrf segment PHOTO --net NET --detector DETECTOR --energy energy.yaml --solver NAME`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from policrf.errors import InvalidFile, InvalidOption, PolicrfError
from policrf.solvers import DEFAULT_SOLVER
from policrf.vision.image_options import ImageOptions, plain_options, recipe_of

if TYPE_CHECKING:
    from policrf.vision.segment import Segmenter
    from policrf.vision.segmentation import Segmentation


@dataclass(frozen=True, kw_only=True)
class Config(ImageOptions):
    """Segment one photo, or every image of a folder."""

    image: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="IMAGE")]
    """An image file, or a folder of them."""
    out: Path = Path("segmented")
    """Folder for NAME.png (palette), NAME.overlay.png and NAME.json."""
    energy: Path | None = None
    """The weights (energy.yaml); the defaults without it."""
    solver: str = DEFAULT_SOLVER
    """A solver or policy (a name or a file), with options as NAME:option=value,…"""
    pixels: bool = True
    """Decide pixels near the boundaries again at the end, as strongly as the energy's weight pixels
    says; no part where the energy is the net alone (no edges, or the solver unary)."""
    recipe: Path | None = None
    """A prepared folder: its settings, labels and classes are the defaults of the options above."""
    potentials: str = "u+p+hop1+hop2"
    """Which terms the energy has, joined by +."""
    features: str = "paper"
    """Node features for policies: paper, appearance, ridden, or several joined by +."""
    superpixels: int = 1000
    """How many superpixels SLIC is asked for."""
    truth: Path | None = None
    """A mask to compare with (PNG), or a folder of them: prints the IoU."""
    figure: bool = False
    """Also write NAME.figure.png: image, unaries, boxes, result and truth side by side."""
    seconds: float | None = None
    """Time limit of the solver."""
    seed: int = 0
    """Seed of the solver."""
    strict: bool = False
    """Stop at the first image that cannot be used instead of skipping it."""
    json: bool = False
    """Print one JSON object instead of text."""


def started(config: Config) -> Config | None:
    """The same with what the recipe says, so that options that are given go before it."""
    if config.recipe is None:
        return None
    from policrf.datasets.store import Prepared

    return replace(config, **plain_options(Prepared(config.recipe).recipe))


def run(config: Config) -> None:
    """Segment and write; a folder goes on past images that cannot be used."""
    from policrf.cli.progress import progress_bar
    from policrf.crf.io.outputs import claimed

    images = _images(config.image)
    _check_results(config, images)
    segmenter = segmenter_of(config)
    one = not config.image.is_dir()
    reports: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    total = _Total(segmenter.pipeline.recipe.labels)
    start = time.perf_counter()
    with claimed(config.out), progress_bar("segmenting", len(images)) as advance:
        for name, path in images:
            try:
                result = segment_one(config, segmenter, name, path, one)
            except PolicrfError as error:
                if one or config.strict:
                    raise
                skipped.append({"name": name, "reason": str(error)})
            else:
                result.save(config.out, figure=config.figure)  # a full disk is no image's fault
                reports.append(result.report())
                total.add(result)
            advance(name)
    if not reports:
        raise InvalidFile(f"{config.image}: no image could be used; {skipped[0]['reason']}")
    if config.json:
        everything = {"out": str(config.out), "images": reports, "skipped": skipped}
        print(json.dumps(everything | {"iou": total.report()}))
        return
    for report in reports if len(reports) <= 20 else []:
        _print(report)
    seconds = time.perf_counter() - start
    print(f"{config.out}: {len(reports)} segmented, {len(skipped)} skipped, {seconds:.1f} s")
    if len(reports) > 1 and (iou := total.report()) is not None:
        print(f"all images: {_iou_text(iou)}")
    for skip in skipped:
        print(f"  skipped {skip['name']}: {skip['reason']}")


def _print(report: dict[str, Any]) -> None:
    shares = sorted(report["labels"].items(), key=lambda item: -item[1])
    found = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares)
    terms = ", ".join(f"{name} {value:.2f}" for name, value in report["terms"].items() if value)
    print(
        f"{report['image']}: {found}; {report['solver']} energy {report['energy']:.2f} ({terms}); "
        f"{report['seconds']['total']:.2f} s, solver {report['seconds']['solver']:.4f} s"
    )
    if report["iou"] is not None:
        print(f"  {_iou_text(report['iou'])}")


def _iou_text(iou: dict[str, Any]) -> str:
    classes = ", ".join(f"{name} {100 * value:.1f}" for name, value in iou["classes"].items())
    return f"IoU {100 * iou['mean']:.2f} (net {100 * iou['net']:.2f}): {classes}"


class _Total:
    """The confusion over all images, as data sets are judged."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.labels = labels
        self.confusion = np.zeros((len(labels),) * 2, np.int64)
        self.net = self.confusion.copy()

    def add(self, result: Segmentation) -> None:
        """Count one more image, if its truth is known."""
        confusion, net = result.confusion(), result.view.record.net_confusion
        if confusion is not None and net is not None:
            self.confusion += confusion
            self.net += net

    def report(self) -> dict[str, Any] | None:
        """As `Segmentation.report` has it for one image; None where no truth was given."""
        if not self.confusion.any():
            return None
        from policrf.vision.segmentation import iou_report

        return iou_report(self.confusion, self.net, self.labels)


def segment_one(
    config: Config, segmenter: Segmenter, name: str, path: Path, one: bool
) -> Segmentation:
    """One image; `one`: the only one, whose scores and truth may be files of any name."""
    from policrf.datasets.base import relabeled
    from policrf.vision.images import read_mask
    from policrf.vision.unaries import read_scores

    recipe = segmenter.pipeline.recipe
    scores = truth = None
    if config.scores is not None:
        file = _beside(config.scores, name, (".npy", ".npz"), one)
        scores = read_scores(file, len(recipe.net_classes), recipe.score_kind)
    if config.truth is not None:
        mask = _beside(config.truth, name, (".png",), one)
        values = {label: label for label in range(len(recipe.labels))} | {255: -1}
        truth = relabeled(read_mask(mask), values, str(mask))
    return segmenter(
        path, config.solver, name=name, scores=scores, truth=truth,
        seconds=config.seconds, seed=config.seed,
    )  # fmt: skip


def _beside(folder: Path, name: str, suffixes: tuple[str, ...], one: bool) -> Path:
    """The file of that name in a folder; for one image a file may be given itself."""
    if one and not folder.is_dir():
        return folder
    for suffix in suffixes:
        if (folder / f"{name}{suffix}").exists():
            return folder / f"{name}{suffix}"
    return folder / f"{name}{suffixes[0]}"


def _images(path: Path) -> list[tuple[str, Path]]:
    from policrf.crf.io.files import shown_name
    from policrf.datasets.base import checked_samples
    from policrf.datasets.layouts.folder import Folder

    if not path.exists():
        raise InvalidFile(f"{path}: there is no such image file or folder")
    if path.is_dir():
        samples = checked_samples(Folder(path, ()).samples())
        return [(sample.name, sample.image) for sample in samples]
    return [(shown_name(path.stem), path)]


def _check_results(config: Config, images: list[tuple[str, Path]]) -> None:
    """Refuse results that would replace a file that is read, or each other."""
    from policrf.crf.io.outputs import refuse_replacing
    from policrf.vision.segmentation import result_files

    one = not config.image.is_dir()
    folders = [(config.truth, (".png",)), (config.scores, (".npy", ".npz"))]
    inputs = [path for _, path in images]
    inputs += [
        _beside(folder, name, suffixes, one)
        for folder, suffixes in folders
        if folder is not None
        for name, _ in images
    ]
    owner: dict[Path, str] = {}
    for name, _ in images:
        for path in result_files(config.out, name, figure=config.figure):
            if owner.setdefault(path, name) != name:
                raise InvalidFile(
                    f"{path} would hold results of both {owner[path]!r} and {name!r}; rename one"
                )
    refuse_replacing(list(owner), inputs)


def segmenter_of(config: Config) -> Segmenter:
    """Nets, recipe and energy as the options say, loaded."""
    from policrf.datasets.store import Prepared
    from policrf.solvers.spec import SolverSpec
    from policrf.vision.classes import VOC_LABELS
    from policrf.vision.recipe import Recipe
    from policrf.vision.segment import Segmenter

    SolverSpec.parse(config.solver)
    if config.net is None and config.scores is None:
        raise InvalidOption("class scores must come from --net or --scores")
    prepared = None if config.recipe is None else Prepared(config.recipe)
    base = Recipe(labels=VOC_LABELS, components=0) if prepared is None else prepared.recipe
    made = Segmenter(
        net=config.net, detector=config.detector, feature_net=config.feature_net,
        energy=config.energy,
        recipe=recipe_of(config, base),
        reduction=None if prepared is None else prepared.reduction(),
        potentials=config.potentials, features=config.features,
        pixels=config.pixels,
    )  # fmt: skip
    made.pipeline.load()
    return made
