"""A cell of kind prepare: the images of a split as records, in the paper's form or in ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.data_cells import DataCells
from policrf.bench.reproduce.scenes import write_scenes
from policrf.bench.reproduce.store import Store, Tell
from policrf.datasets.options import PrepareOptions, changed
from policrf.datasets.plan import make_plan
from policrf.datasets.writer import write_prepared
from policrf.execution.executor import Executor

FOLDER = "data"
# SLIC as it is, and neighbours only: the paper's superpixels and graph.
FORMS: dict[str, dict[str, Any]] = {"paper": {"follow_net": False, "long_range": 0}, "ours": {}}


def prepared_folder(store: Store, cell: Cell) -> Path:
    """Where the records of a cell are."""
    return store.folder(cell) / FOLDER


def run_prepare(cell: Cell, store: Store, tell: Tell, data: DataCells, executor: Executor) -> Any:
    """Prepare the images; goes on from the shards that are there."""
    about = cell.about
    options: dict[str, Any] = {"superpixels": about["size"], **FORMS[about["form"]]}
    if about["dataset"] == "scenes":
        name, root, more = _scenes(cell, store)
    else:
        name, root, more = _images(cell, store, data)
    plan = make_plan(name, root, changed(PrepareOptions(), options | more, "prepare"))
    total, done = len(plan.samples()), [0]

    def advance(image: str) -> None:
        done[0] += 1
        tell(done[0] / total, image)

    folder = prepared_folder(store, cell)
    summary = write_prepared(plan, folder, executor=executor, advance=advance)
    return {"images": summary.prepared, "superpixels": summary.superpixels}


def _scenes(cell: Cell, store: Store) -> tuple[str, Path, dict[str, Any]]:
    split = cell.about["split"]
    folder = store.folder(cell) / "scenes"
    count = cell.about["scenes"][split != "train"]
    write_scenes(folder, split, count)
    root = folder / split
    return "folder", root / "images", {
        "masks": root / "masks", "scores": root / "scores", "score_kind": "probabilities",
        "labels": folder / "labels.names", "detections": root / "detections.json",
        "categories": folder / "categories.names", "components": 3, "limit": cell.about["images"],
    }  # fmt: skip


def _images(cell: Cell, store: Store, data: DataCells) -> tuple[str, Path, dict[str, Any]]:
    about, nets = cell.about, data.asked.nets
    root = data.root(about["dataset"])
    assert root is not None  # cells of data that is not at hand are not run
    options: dict[str, Any] = {
        "split": about["split"], "net": nets.net, "hypercolumns": nets.hypercolumns,
        "feature_net": nets.feature_net, "detector": nets.detector, "limit": about["images"],
    }  # fmt: skip
    if about["dataset"] == "mots":
        options |= {"net_names": "voc", "net_fit": "fill"}
    if "like" in cell.needs:
        options["like"] = prepared_folder(store, cell.needs["like"])
    return about["dataset"], root, options
