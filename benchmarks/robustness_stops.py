"""Commands stopped at random moments, and what they end with: python benchmarks/robustness_stops.py

Every command that goes on is stopped by SIGKILL, SIGTERM and SIGINT at moments drawn from a seed,
several times a run, goes on, and is compared with an unbroken run. Writes robustness_stops.md,
.csv and .json after every signal; an error ends it where a promise of docs/reliability.md was
broken. Real images and nets are looked for beside the checkout, or in POLICRF_DATA.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.robustness.stops import RUNS, SIGNALS, STOPS, VOC, Stopping
from tests.shared_data import DATA
from tests.vision.builders import prepared_scenes

from policrf.evaluation.tables import Table, write_tables

COLUMNS = (
    "command", "signal", "stops", "after the end", "with something to go on from",
    "runs finished", "equal to an unbroken run", "s of an unbroken run",
)  # fmt: skip
NAMES = {
    "prepare": "prepare (12 scenes)", VOC: "prepare (VOC images, two processes)",
    "dqn": "train dqn", "mcts": "train mcts", "imitate": "train imitate",
    "energy": "train energy",
}  # fmt: skip
NOTE = (
    f"Signals at random moments, up to {STOPS} a run, then the run goes on to its end. After every "
    "stop: exit code 130 or 143 and one line on how to go on (SIGKILL has neither), no process "
    "left; in the end no temporary file, and the same files as an unbroken run's: bytes of "
    "prepare and calibrate, results of evaluate but for times, weights and log of train. What "
    "train energy measures are times: there no measurement is lost, and policy and journal "
    "are, byte for byte, those of an unbroken run over the same measurements."
)


@dataclass(frozen=True)
class Config:
    """How often, and where to."""

    stops: int = 20
    """Of every command by every signal."""
    commands: tuple[str, ...] = (*RUNS, VOC)
    out: Path = Path("benchmarks/results")


def _earlier(config: Config, wanted: list[str]) -> list[tuple[object, ...]]:
    """Rows of commands that an earlier run has stopped, and this one does not."""
    file = config.out / "robustness_stops.json"
    if not file.exists():
        return []
    again = {NAMES.get(name, name) for name in wanted} | {"all"}
    rows = json.loads(file.read_text())["tables"][0]["rows"]
    return [tuple(row[c] for c in COLUMNS) for row in rows if row[COLUMNS[0]] not in again]


def main(config: Config) -> None:
    wanted = [name for name in config.commands if name != VOC or (DATA / "voc").is_dir()]
    rows = _earlier(config, wanted)
    with tempfile.TemporaryDirectory() as folder:
        stopping = Stopping(prepared_scenes(Path(folder), 12))
        for name in wanted:
            for signal in SIGNALS:
                found = stopping.stopped(name, signal, config.stops)
                rows.append((
                    NAMES.get(name, name), signal, found.stops, found.finished, found.kept,
                    found.runs, found.runs, round(stopping.unbroken(name)[0], 1),
                ))  # fmt: skip
                print(*rows[-1], sep="  ", flush=True)
                _write(config, rows)


def _write(config: Config, rows: list[tuple[object, ...]]) -> None:
    sums = [sum(column) for column in zip(*(row[2:-1] for row in rows), strict=True)]
    table = Table("Stopped runs", COLUMNS, (*rows, ("all", "", *sums, None)), NOTE)
    write_tables(config.out, "robustness_stops", [table], asdict(config))


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
