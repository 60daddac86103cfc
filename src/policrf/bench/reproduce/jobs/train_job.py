"""A cell of kind train: a learner's run, which goes on from its last checkpoint."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.instances import drawn_scenes, instances_of
from policrf.bench.reproduce.store import Store, Tell
from policrf.crf.instance import Instance
from policrf.crf.io.text import read_text
from policrf.learn.train import train

LOOKS = 10  # validations of a run
RUN = "run"


def policy_file(store: Store, cell: Cell) -> Path:
    """The policy that a finished cell has learned."""
    return store.folder(cell) / RUN / f"{cell.about['weights']}.safetensors"


def read_log(store: Store, cell: Cell) -> list[dict[str, Any]]:
    """A line a validation: round, energy, iou, …"""
    text = read_text(store.folder(cell) / RUN / "log.jsonl", "the log of a training")
    return [json.loads(line) for line in text.splitlines()]


def rounds_of(cell: Cell, images: int) -> int:
    """Rounds of learning: as told, or as many as the epochs take.

    A tenth of the images, 40 or fewer, is held out (`learn.by_method`).
    """
    about = cell.about
    if about["rounds"]:
        return int(about["rounds"])
    learned_from = images - min(40, images // 10)
    options = about["options"]
    if about["method"] == "supervised":
        return max(2, int(about["epochs"] * learned_from / 4))
    graphs: float = options["episodes"] / options.get("repeats", 1)
    return max(2, math.ceil(float(about["epochs"]) * learned_from / graphs))


def run_train(cell: Cell, store: Store, tell: Tell) -> Any:
    """Learn until all rounds are over."""
    about, run = cell.about, store.folder(cell) / RUN
    instances: Sequence[Instance]
    instances = drawn_scenes(cell) if "scenes" in about else instances_of(store, cell)
    rounds = rounds_of(cell, len(instances))
    options = dict(about["options"])

    def report(line: dict[str, Any]) -> None:
        tell(line["round"] / rounds, f"round {line['round']} of {rounds}")

    train(
        instances, about["method"], out=run, resume=(run / "checkpoint.safetensors").exists(),
        overwrite=not (run / "checkpoint.safetensors").exists(), name=cell.name,
        seed=about["seed"], report=report, rounds=rounds,
        validate_rounds=max(1, rounds // LOOKS), **options,
        about={"cell": cell.key, "potentials": about["terms"], "features": about.get("features")},
    )  # fmt: skip
    last = read_log(store, cell)[-1]
    if last["round"] < rounds:  # a signal came: the next run goes on from here
        raise KeyboardInterrupt
    return {
        "rounds": rounds, "episodes": last["episodes"], "updates": last["updates"],
        "images": len(instances), "energy": last.get("energy"), "iou": last.get("iou"),
    }  # fmt: skip
