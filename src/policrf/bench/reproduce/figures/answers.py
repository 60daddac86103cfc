"""Labelings of single images by the rows of score cells, and how good each is on each image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.figures.panels import Panel, over_pixels, truth_at
from policrf.bench.reproduce.jobs.instances import instances_of
from policrf.bench.reproduce.jobs.score_job import results_of, row_text
from policrf.bench.reproduce.store import Store
from policrf.datasets.instances import InstanceSequence
from policrf.metrics import dense_matrix, mean_iou
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec
from policrf.types import FloatArray


def image_ious(store: Store, cell: Cell) -> FloatArray:
    """Pixel IoU of every image, mean over the classes that occur there, in percent."""
    size = len(store.result(cell)["labels"])
    found = []
    for result in results_of(store, cell):
        assert result.pixels is not None
        found.append(100 * mean_iou(dense_matrix(result.pixels, (size, size))))
    return np.asarray(found)


def solved(store: Store, cell: Cell, position: int) -> Any:
    """The labels of an image `[N]` by the row of a score cell."""
    instances = instances_of(store, cell)
    spec = SolverSpec.parse(row_text(store, cell))
    limit, seed = cell.about["seconds"], cell.about["seed"]
    return solve(
        instances[position], spec.solver, seconds=limit, seed=seed, go_on=False, **spec.options
    ).labels


def compared(
    store: Store, instances: InstanceSequence, position: int,
    columns: Sequence[tuple[str, Cell | None]],
) -> list[Panel]:  # fmt: skip
    """Image, the net's labels, one panel a column, truth; with each labeling's IoU."""
    record = instances.record(position)
    kept = instances.rebuilt(position, record)
    segments, image = kept.maps.segments, kept.image
    panels = [Panel("image", image)]
    for title, cell in columns:
        if cell is None:
            labels, text = record.distribution.argmax(axis=1), ""
        else:
            labels = solved(store, cell, position)
            text = f"IoU {image_ious(store, cell)[position]:.1f}"
        panels.append(Panel(title, image, over_pixels(labels, segments), text=text))
    truth = truth_at(kept.truth, image.shape)
    return panels if truth is None else [*panels, Panel("truth", image, truth)]
