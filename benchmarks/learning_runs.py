"""Rewards, targets and discounts side by side: python benchmarks/learning_runs.py runs/sweep

Trains every run of `SWEEP` that is not in the folder yet, all with the same number of episodes and
gradient steps, then writes a table: the last line of each log (on training data that was not
trained on) beside what the run was given.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from command import run as policrf

from policrf.evaluation.tables import Table, write_tables

REWARD = ("--target", "reward")
RESIDUAL = ("--kind", "residual")
TAKEN = (*REWARD, "--backup", "taken")
SWEEP: dict[str, tuple[object, ...]] = {
    "R2, label taken": TAKEN,
    "R1, label taken": (*TAKEN, "--reward", "difference"),
    "R2, γ 0.3": (*TAKEN, "--discount", 0.3),
    "R2, γ 0.6": (*TAKEN, "--discount", 0.6),
    "R2, γ 0.9": (*TAKEN, "--discount", 0.9),
    "R2, γ 0.99": (*TAKEN, "--discount", 0.99),
    "R2, γ 0.9, 4 steps": (*TAKEN, "--discount", 0.9, "--ahead", 4),
    "R2, γ 0.9, to the end": (*TAKEN, "--discount", 0.9, "--ahead", 0),
    "shaped, to the end": (*TAKEN, "--reward", "shaped", "--discount", 1, "--ahead", 0),
    "R2, all labels": REWARD,
    "R1, all labels": (*REWARD, "--reward", "difference"),
    "shaped, all labels": (*REWARD, "--reward", "shaped"),
    "hindsight": (),
    "hindsight, residual": RESIDUAL,
}  # fmt: skip
FIGURES = ("updates", "episodes", "energy", "iou")


@dataclass(frozen=True)
class Config:
    folder: Annotated[Path, tyro.conf.Positional]
    """Where the runs are."""
    data: str = "synthetic:B:50"
    count: int = 600
    rounds: int = 30
    seed: int = 0
    out: Path = Path("benchmarks/results")
    name: str = "learning-runs"


def train(config: Config, run: Path, options: tuple[object, ...]) -> None:
    arguments = [
        "train", "dqn", "--data", config.data, "--count", config.count, "--rounds", config.rounds,
        "--decay-rounds", config.rounds, "--episodes", 16, "--epsilon", 0.7,
        "--learning-rate", 3e-3, "--seed", config.seed, "--out", run, *options,
    ]  # fmt: skip
    policrf(*arguments)


def main(config: Config) -> None:
    rows = []
    for name, options in SWEEP.items():
        run = config.folder / name.replace(",", "").replace(" ", "-")
        if not (run / "last.safetensors").exists():
            train(config, run, options)
        last = json.loads((run / "log.jsonl").read_text().splitlines()[-1])
        rows.append((name, *(last[figure] for figure in FIGURES)))
    title = f"Training runs, {config.data.replace(':', ' ')}"
    table = Table(title, ("run", *FIGURES), tuple(rows))
    table.show()
    told = {"data": config.data, "count": config.count, "rounds": config.rounds}
    write_tables(config.out, config.name, [table], told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
