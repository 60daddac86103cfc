"""`policrf explore SOURCE --out explore.html`: one page to look at an instance and its answers."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from policrf.errors import InvalidOption
from policrf.vision.image_options import ImageOptions, plain_options

if TYPE_CHECKING:
    from policrf.vision.segmentation import Segmentation

OUT_IS_FILE = True
SOLVERS = ("icm", "alpha_expansion", "belief_propagation", "untrained", "refine", "exact")


@dataclass(frozen=True, kw_only=True)
class Config(ImageOptions):
    """Look at how solvers label a photo, a prepared image, a model or a scene."""

    sources: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE [SOURCE …]")
    ]
    """A photo (with --net), a prepared folder, a model file (.uai, .npz), or a scene such as
    synthetic:B:250; with --compare, folders that `policrf evaluate` wrote."""
    out: Path = Path("explore.html")
    """The page: one file, to be opened from disk."""
    compare: bool = False
    """Make a page over results of `policrf evaluate` instead."""
    solvers: tuple[str, ...] = SOLVERS
    """Solvers and policies (names or files), with options as NAME:option=value,…"""
    image: str | None = None
    """Of a prepared folder: the name of the image; the first one without."""
    energy: Path | None = None
    """The weights (energy.yaml) of photos and prepared images; the defaults without it."""
    potentials: str = "u+p+hop1+hop2"
    """Which terms the energy has, joined by +."""
    truth: Path | None = None
    """The true labels of a photo (a PNG mask)."""
    seconds: float = 5.0
    """Time limit of each solver."""
    seed: int = 0
    """Seed of the solvers, and of a scene."""
    recipe: Path | None = None
    """A prepared folder: its settings are the defaults for a photo."""
    superpixels: int = 500
    """How many superpixels SLIC is asked for, in a photo."""


def started(config: Config) -> Config | None:
    """The same with what the recipe says, so that options that are given go before it."""
    if config.recipe is None:
        return None
    from policrf.datasets.store import Prepared

    return replace(config, **plain_options(Prepared(config.recipe).recipe))


def run(config: Config) -> None:
    """Solve, and write the page."""
    from policrf.solvers.spec import SolverSpec

    if config.compare:
        from policrf.explore.results_page import write_results_page

        count = write_results_page([Path(source) for source in config.sources], config.out)
        print(f"{count} instances. A page to open: {config.out.resolve()}")
        return
    if len(config.sources) != 1:
        raise InvalidOption("explore shows one source; several are for --compare")
    for solver in config.solvers:
        SolverSpec.parse(solver)
    _explore(config)


def _explore(config: Config) -> None:
    from policrf.cli.progress import progress_bar
    from policrf.explore.answers import ask_all
    from policrf.explore.page import write_page
    from policrf.explore.payload import payload
    from policrf.explore.subjects import SubjectOptions, open_subject

    subject = open_subject(
        config.sources[0],
        SubjectOptions(
            image=config.image, energy=config.energy, potentials=config.potentials, seed=config.seed
        ),
        lambda path: _photo(config, path),
    )
    with progress_bar("solving", len(config.solvers)) as advance:
        answers, refused = ask_all(
            subject.instance, config.solvers,
            seconds=config.seconds, seed=config.seed, said=advance,
        )  # fmt: skip
    if not answers:
        raise InvalidOption(f"none of the solvers takes this model; {refused[0]}")
    data = payload(
        subject.title, subject.instance, subject.drawing, answers, net=subject.net, notes=refused
    )
    write_page(config.out, "explorer", subject.title, data)
    for reason in refused:
        print(f"  left out {reason}")
    print(f"A page to open: {config.out.resolve()}")


def _photo(config: Config, path: Path) -> Segmentation:
    """The photo with its superpixels and unaries; the solvers come after."""
    from policrf.cli import segment

    options = {field.name: getattr(config, field.name) for field in fields(ImageOptions)}
    asked = segment.Config(
        image=path, solver="unary", energy=config.energy, potentials=config.potentials,
        truth=config.truth, recipe=config.recipe, pixels=False, **options,
    )  # fmt: skip
    return segment.segment_one(asked, segment.segmenter_of(asked), path.stem, path, True)
