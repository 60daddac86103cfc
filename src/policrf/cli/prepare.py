"""`policrf prepare DATASET --root FOLDER --net NET --detector DETECTOR --out FOLDER`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from policrf.cli.spread import Ray, executor_for
from policrf.datasets import DATASETS
from policrf.datasets.options import PrepareOptions

if TYPE_CHECKING:
    from policrf.datasets.plan import Summary

_DATASETS = tyro.conf.arg(metavar="DATASET", help=f"Which data set: {', '.join(DATASETS.names())}.")


@dataclass(frozen=True)
class Config:
    """Turn images into CRFs that calibrating, training and evaluating read."""

    dataset: Annotated[str, tyro.conf.Positional, _DATASETS]
    root: Path
    """The data set's folder: VOC2012, KITTI_MOTS, or the images."""
    out: Path
    """Where the prepared data goes; an unfinished run goes on from what is there."""
    records: tyro.conf.OmitArgPrefixes[PrepareOptions] = field(default_factory=PrepareOptions)
    jobs: int = os.cpu_count() or 1
    """Processes."""
    ray: Ray = ""
    json: bool = False
    """Print one JSON object instead of text."""


def run(config: Config) -> None:
    """Prepare, with a progress bar on a terminal."""
    from policrf.cli.progress import progress_bar
    from policrf.datasets.plan import make_plan
    from policrf.datasets.writer import write_prepared

    start = time.perf_counter()
    plan = make_plan(config.dataset, config.root, config.records)
    with (
        executor_for(config.jobs, config.ray) as executor,
        progress_bar("preparing", len(plan.samples())) as advance,
    ):
        summary = write_prepared(plan, config.out, executor=executor, advance=advance)
    _report(config, summary, time.perf_counter() - start)


def _report(config: Config, summary: Summary, seconds: float) -> None:
    from policrf.crf.io.json_text import to_json

    fresh = summary.prepared + len(summary.skipped) - summary.reused
    rate = fresh / seconds if seconds > 0 else 0.0
    if config.json:
        report = {
            "out": config.out, "prepared": summary.prepared, "reused": summary.reused,
            "skipped": summary.skipped, "superpixels": summary.superpixels, "seconds": seconds,
            "images_per_second": rate,
        }  # fmt: skip
        print(to_json(report))
        return
    print(
        f"{config.out}: {summary.prepared} images prepared, {len(summary.skipped)} skipped; "
        f"{summary.superpixels:.0f} superpixels an image; {fresh} now, "
        f"in {seconds:.1f} s ({rate:.2f} images/s)"
    )
    for skip in summary.skipped[:5]:
        print(f"  skipped {skip.name}: {skip.reason}")
    if len(summary.skipped) > 5:
        print(f"  … all of them are in {config.out / 'report.json'}")
