"""`policrf calibrate PREPARED --out energy.yaml`: choose the energy's weights on training data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from policrf.errors import InvalidFile
from policrf.vision.calibration.result import CalibrateOptions


@dataclass(frozen=True)
class Config:
    """Grid search over the weights of the energy, scored by pixel IoU on training images."""

    prepared: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PREPARED")]
    """Prepared training data, with truth."""
    out: Path = Path("energy.yaml")
    """The chosen weights; beside it .KIND.yaml for each kind of energy, .csv, .md and .png."""
    search: tyro.conf.OmitArgPrefixes[CalibrateOptions] = field(default_factory=CalibrateOptions)
    jobs: int = os.cpu_count() or 1
    """Processes."""
    json: bool = False
    """Print one JSON object instead of text."""


def run(config: Config) -> None:
    """Calibrate, write the energy with tables and a picture, print the best of every stage."""
    from policrf.cli.progress import progress_bar
    from policrf.crf.io.json_text import as_json, to_json
    from policrf.datasets.store import Prepared
    from policrf.solvers.spec import SolverSpec
    from policrf.vision.calibration.calibrate import calibrate

    options = config.search
    SolverSpec.parse(options.solver)
    if not config.out.parent.is_dir():
        raise InvalidFile(f"{config.out}: the folder {config.out.parent} does not exist")
    prepared = Prepared(config.prepared)
    images = min(options.images or len(prepared), len(prepared))
    with progress_bar("calibrating", images * options.passes()) as advance:
        found = calibrate(prepared, options, jobs=config.jobs, advance=advance)
    found.save(config.out)
    chosen = as_json(found.energy.as_dict(), infinity="inf")
    if config.json:
        print(to_json({"energy": chosen, "best": found.best, "images": found.images}))
        return
    print(found.markdown(), end="")
    print(f"\n{config.out}: " + ", ".join(f"{k} {v}" for k, v in chosen.items()))
