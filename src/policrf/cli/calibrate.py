"""`policrf calibrate PREPARED --out energy.yaml`: choose the energy's weights on prepared data."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from policrf.cli.spread import Ray, executor_for
from policrf.errors import InvalidOption
from policrf.vision.calibration.options import CalibrateOptions

OUT_IS_FILE = True


@dataclass(frozen=True)
class Config:
    """Choose the energy whose gain over the net is surest, by pixel IoU; few terms go first."""

    prepared: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PREPARED")]
    """Prepared data with truth."""
    out: Path = Path("energy.yaml")
    """The chosen weights; beside it .KIND.yaml for each kind of energy, .csv, .md and .png."""
    search: tyro.conf.OmitArgPrefixes[CalibrateOptions] = field(default_factory=CalibrateOptions)
    jobs: int = os.cpu_count() or 1
    """Processes."""
    ray: Ray = ""
    json: bool = False
    """Print one JSON object instead of text."""


def run(config: Config) -> None:
    """Calibrate, write the energy with tables and a picture, print the choice."""
    from policrf.cli.progress import progress_bar
    from policrf.crf.io.json_text import as_json, to_json
    from policrf.crf.io.outputs import remove_unfinished
    from policrf.datasets.store import Prepared
    from policrf.solvers.spec import SolverSpec
    from policrf.vision.calibration.calibrate import STEPS, calibrate
    from policrf.vision.calibration.report import calibration_summary

    options = config.search
    SolverSpec.parse(options.solver)
    if config.jobs < 1:
        raise InvalidOption(f"--jobs is {config.jobs}; it must be at least 1")
    prepared = Prepared(config.prepared)
    images = min(options.images or len(prepared), len(prepared))
    journal = config.out.with_suffix(".journal.jsonl")
    with (
        executor_for(config.jobs, config.ray) as executor,
        progress_bar("calibrating", images * STEPS) as advance,
    ):
        found = calibrate(prepared, options, executor=executor, journal=journal, advance=advance)
    remove_unfinished(config.out.parent, f"{config.out.stem}.")
    found.save(config.out)
    journal.unlink(missing_ok=True)
    for warning in found.warnings:
        print(f"policrf: warning: {warning}", file=sys.stderr)
    chosen = as_json(found.energy.as_dict(), infinity="inf")
    if config.json:
        print(to_json({"energy": chosen, "calibration": calibration_summary(found)}))
        return
    print(found.markdown(), end="")
    print(f"\n{config.out}: " + ", ".join(f"{k} {v}" for k, v in chosen.items()))
