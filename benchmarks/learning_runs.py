"""What training runs came to, from their folders: python benchmarks/learning_runs.py runs/*

Each row is the last line of a log.jsonl (on training data that was not trained on) beside what
of its config.json is not the same in all runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from policrf.evaluate.report import Table, write_tables

FIGURES = ("updates", "episodes", "energy", "iou", "pixel_iou", "refined")


@dataclass(frozen=True)
class Config:
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs."""
    out: Path = Path("benchmarks/results")
    name: str = "learning-runs"


def main(config: Config) -> None:
    settings = {run.name: json.loads((run / "config.json").read_text()) for run in config.runs}
    last = {
        run.name: json.loads((run / "log.jsonl").read_text().splitlines()[-1])
        for run in config.runs
    }
    keys = [
        key
        for key in next(iter(settings.values()))
        if key not in ("out", "name", "resume", "json", "energy")
        and len({json.dumps(values.get(key)) for values in settings.values()}) > 1
    ]
    shown = [name for name in FIGURES if any(name in line for line in last.values())]
    rows = tuple(
        (
            run,
            *(settings[run].get(key) for key in keys),
            *(last[run].get(name, float("nan")) for name in shown),
        )
        for run in settings
    )
    data = {str(values.get("data", "")).replace(":", " ") for values in settings.values()}
    table = Table(f"Training runs, {', '.join(sorted(data))}", ("run", *keys, *shown), rows)
    table.show()
    write_tables(config.out, config.name, [table], config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
