"""A cell of kind score: one row on the test images, every labeling held against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policrf.bench.reproduce.catalogue import POLICY
from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.instances import instances_of
from policrf.bench.reproduce.jobs.train_job import policy_file
from policrf.bench.reproduce.store import Store, Tell
from policrf.evaluation.results import Result, read_results
from policrf.evaluation.runner import evaluate
from policrf.execution.executor import Executor

RESULTS = "results"


def row_text(store: Store, cell: Cell) -> str:
    """The cell's row as `solve` takes it, with the policy's file in its place."""
    text = str(cell.about["row"])
    if "policy" in cell.needs:
        text = text.replace(POLICY, str(policy_file(store, cell.needs["policy"])))
    return text


def run_score(cell: Cell, store: Store, tell: Tell, executor: Executor | None = None) -> Any:
    """Solve every image; goes on from the results that are there."""
    about = cell.about
    instances = instances_of(store, cell)
    done = [0]

    def advance(row: str) -> None:
        done[0] += 1
        tell(done[0] / len(instances), f"{done[0]} of {len(instances)} images")

    text = row_text(store, cell)
    grid = evaluate(
        instances, [text], out=store.folder(cell) / RESULTS, seconds=about["seconds"],
        seed=about["seed"], pixels=about["pixels"], executor=executor, advance=advance,
    )  # fmt: skip
    row = grid.row(text)
    row.pop("solver")
    return row | {"labels": list(grid.labels)}


def results_of(store: Store, cell: Cell) -> list[Result]:
    """The results of a finished cell, image by image, in the order of the images."""
    return read_results(_log(store, cell))


def _log(store: Store, cell: Cell) -> Path:
    return store.folder(cell) / RESULTS / "results.jsonl"
