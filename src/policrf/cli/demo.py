"""`policrf demo`: three things that policrf does, in some two minutes; a table and a page."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policrf.bench.story.denoising import Denoised
    from policrf.bench.story.photo import Segmented
    from policrf.bench.story.potential import PotentialStory


@dataclass(frozen=True)
class Config:
    """A proven grid, a potential of one's own with a minute of training, an image segmented."""

    out: Path = Path("demo")
    """Folder for the page, the table (Markdown, CSV, JSON) and the trained policy."""
    train_seconds: float = 60.0
    """Training on a potential of five lines; 0 leaves this part out."""
    images: int = 8
    """Rendered images to segment; 0 leaves this part out."""
    seed: int = 0
    """Of everything."""
    json: bool = False
    """Print JSON instead of text."""


def run(config: Config) -> None:
    """Compute the parts, print what they show, write the page."""
    from policrf.crf.io.outputs import claimed
    from policrf.errors import InvalidOption

    if not 0 <= config.train_seconds < float("inf"):
        raise InvalidOption(f"--train-seconds is {config.train_seconds}; it must be 0 or more")
    if config.images < 0:
        raise InvalidOption(f"--images is {config.images}; it must be 0 or more")
    with claimed(config.out):
        _demo(config)


def _demo(config: Config) -> None:
    from policrf.bench.story.denoising import show_denoising
    from policrf.explore.story_page import write_story_page
    from policrf.random_numbers import checked_seed

    grid = show_denoising(checked_seed(config.seed))
    _say(config, _grid_line(grid))
    photo = _photo(config)
    potential = _potential(config) if config.train_seconds > 0 else None
    page = config.out / "index.html"
    write_story_page(page, grid, potential, photo)
    if config.json:
        print(json.dumps(_figures(grid, potential, photo) | {"page": str(page)}))
    else:
        print(f"A page to open: {page.resolve()}")


def _say(config: Config, text: str) -> None:
    print(text, file=sys.stderr if config.json else sys.stdout, flush=True)


def _grid_line(grid: Denoised) -> str:
    proven = "proven optimal" if grid.solution.optimal else "not proven"
    return (
        f"A noisy picture of {grid.truth.size:,} pixels: {100 * grid.wrong_before:.1f} % wrong "
        f"before, {100 * grid.wrong_after:.1f} % after {grid.solution.seconds:.2f} s, {proven}."
    )


def _photo(config: Config) -> Segmented | None:
    """The images, if there are to be any and what they need is installed."""
    if config.images == 0:
        return None
    try:
        from policrf.bench.story.photo import show_photo

        photo = show_photo(config.images, config.seed)
    except ImportError as error:
        print(f"policrf: no images in the demo: {error}", file=sys.stderr)
        return None
    before, after = (sum(pair[k] for pair in photo.ious) / len(photo.ious) for k in (0, 1))
    _say(
        config,
        f"{len(photo.ious)} rendered images with a net and boxes: IoU {before:.1f} % before, "
        f"{after:.1f} % after.",
    )
    return photo


def _potential(config: Config) -> PotentialStory:
    """A potential of one's own, solved at once, and what training brings."""
    from policrf.bench.story.potential import show_potential
    from policrf.cli.progress import share_bar
    from policrf.evaluation.tables import write_tables

    _say(config, f"A potential of one's own, and {config.train_seconds:.0f} s of training.")
    with share_bar("training") as show:

        def report(line: dict[str, Any]) -> None:
            done = line.get("seconds", 0.0) / config.train_seconds
            show(f"{line.get('candidates', 0)} candidates", done)

        part = show_potential(config.train_seconds, config.seed, report)
    write_tables(config.out, "demo", [part.table], config)
    part.policy.save(config.out / "policy.safetensors")
    if not config.json:
        print(f"Wanted: {part.wants}.", *part.said, sep="\n")
        part.table.show()
    return part


def _figures(
    grid: Denoised, potential: PotentialStory | None, photo: Segmented | None
) -> dict[str, Any]:
    """What the parts show, as plain values."""
    return {
        "grid": {
            "energy": grid.solution.energy,
            "proven": grid.solution.optimal,
            "wrong": [grid.wrong_before, grid.wrong_after],
        },
        "potential": None
        if potential is None
        else {"said": potential.said, "rows": potential.table.records()},
        "photo": None if photo is None else {"iou": photo.ious},
    }
