"""`policrf segment PHOTO --net NET --detector DETECTOR --energy energy.yaml --solver NAME`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from policrf.errors import InvalidFile, InvalidOption, PolicrfError
from policrf.solvers import DEFAULT_SOLVER

if TYPE_CHECKING:
    from policrf.vision.segment import Segmentation, Segmenter


@dataclass(frozen=True)
class Config:
    """Segment one photo, or every image of a folder."""

    image: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="IMAGE")]
    """An image file, or a folder of them."""
    out: Path = Path("segmented")
    """Folder for NAME.png (palette), NAME.overlay.png and NAME.json."""
    net: Path | None = None
    """Segmentation net (.tflite or .onnx)."""
    detector: Path | None = None
    """Detector: Darknet .cfg or .onnx; none is fine."""
    energy: Path | None = None
    """The weights (energy.yaml); the defaults without it."""
    solver: str = DEFAULT_SOLVER
    """A solver or policy (a name or a file), with options as NAME:option=value,…"""
    recipe: Path | None = None
    """A prepared folder whose settings to use (superpixels, tensors, components, classes)."""
    potentials: str = "u+p+hop1+hop2"
    """Which terms the energy has, joined by +."""
    features: str = "paper"
    """Node features for policies: paper, appearance or paper+appearance."""
    superpixels: int | None = None
    """How many superpixels to ask for; without it the recipe's, or 2000."""
    hypercolumns: str | None = None
    """Inner tensors for the hypercolumns, joined by commas; without it the recipe's."""
    scores: Path | None = None
    """Precomputed scores: a .npy or .npz file, or a folder of them for a folder of images."""
    score_kind: Literal["logits", "probabilities"] | None = None
    """What the scores are; without it the recipe's, or logits."""
    truth: Path | None = None
    """A mask to compare with (PNG), or a folder of them; shown in the figure."""
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


def run(config: Config) -> None:
    """Segment and write; a folder goes on past images that cannot be used."""
    from policrf.cli.progress import progress_bar

    segmenter = _segmenter(config)
    images = _images(config.image)
    one = not config.image.is_dir()
    reports: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    start = time.perf_counter()
    with progress_bar("segmenting", len(images)) as advance:
        for name, path in images:
            try:
                result = _segment(config, segmenter, name, path, one)
                result.save(config.out, figure=config.figure)
                reports.append(result.report())
            except PolicrfError as error:
                if one or config.strict:
                    raise
                skipped.append({"name": name, "reason": str(error)})
            advance(name)
    if not reports:
        raise InvalidFile(f"{config.image}: no image could be used; {skipped[0]['reason']}")
    if config.json:
        print(json.dumps({"out": str(config.out), "images": reports, "skipped": skipped}))
        return
    for report in reports if len(reports) <= 20 else []:
        _print(report)
    seconds = time.perf_counter() - start
    print(f"{config.out}: {len(reports)} segmented, {len(skipped)} skipped, {seconds:.1f} s")
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


def _segment(
    config: Config, segmenter: Segmenter, name: str, path: Path, one: bool
) -> Segmentation:
    from policrf.datasets.base import relabeled
    from policrf.vision.images import read_mask
    from policrf.vision.unaries import read_scores

    recipe = segmenter.pipeline.recipe
    scores = truth = None
    if config.scores is not None:
        file = config.scores if one else _beside(config.scores, name, (".npy", ".npz"))
        scores = read_scores(file, len(recipe.net_classes), recipe.score_kind)
    if config.truth is not None:
        mask = config.truth if one else config.truth / f"{name}.png"
        values = {label: label for label in range(len(recipe.labels))} | {255: -1}
        truth = relabeled(read_mask(mask), values, str(mask))
    return segmenter(
        path, config.solver, name=name, scores=scores, truth=truth,
        seconds=config.seconds, seed=config.seed,
    )  # fmt: skip


def _beside(folder: Path, name: str, suffixes: tuple[str, ...]) -> Path:
    for suffix in suffixes:
        if (folder / f"{name}{suffix}").exists():
            return folder / f"{name}{suffix}"
    return folder / f"{name}{suffixes[0]}"


def _images(path: Path) -> list[tuple[str, Path]]:
    from policrf.datasets.layouts.folder import Folder

    if path.is_dir():
        return [(sample.name, sample.image) for sample in Folder(path, ()).samples()]
    return [(path.stem, path)]


def _segmenter(config: Config) -> Segmenter:
    from policrf.datasets.store import Prepared
    from policrf.solvers.spec import SolverSpec
    from policrf.vision.segment import Segmenter

    SolverSpec.parse(config.solver)
    if config.net is None and config.scores is None:
        raise InvalidOption("class scores must come from --net or --scores")
    settings: dict[str, Any] = {}
    recipe = reduction = None
    if config.recipe is not None:
        prepared = Prepared(config.recipe)
        recipe, reduction = prepared.recipe, prepared.reduction()
    else:
        settings["superpixels"] = 2000
    if config.superpixels is not None:
        settings["superpixels"] = config.superpixels
    if config.score_kind is not None:
        settings["score_kind"] = config.score_kind
    if config.hypercolumns is not None:
        names = config.hypercolumns.split(",")
        settings["hypercolumns"] = tuple(name.strip() for name in names if name.strip())
    made = Segmenter(
        net=config.net, detector=config.detector, energy=config.energy, recipe=recipe,
        reduction=reduction, potentials=config.potentials, features=config.features, **settings,
    )  # fmt: skip
    made.pipeline.load()
    return made
