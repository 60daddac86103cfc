"""Two rows on the same images: their IoU, and the interval of the difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.score_job import results_of
from policrf.bench.reproduce.store import Store
from policrf.evaluation.summary import LEVELS, ResultGrid
from policrf.metrics import class_iou, mean_over_classes
from policrf.types import FloatArray

CLASSES = ("all", "frequent")


class Compared(NamedTuple):
    """IoU of pixels in percent, means over seeds; a paired 95 % interval over images."""

    left: float
    right: float
    low: float
    high: float

    @property
    def ahead(self) -> bool | None:
        """Whether the left row is surely above the right one; None: neither is."""
        if self.low <= 0 <= self.high:
            return None
        return self.low > 0


def compared(
    store: Store, left: Sequence[Cell], right: Sequence[Cell], classes: str
) -> Compared | None:
    """Two rows over all or the frequent classes; None unless both were run.

    Parameters
    ----------
    store
        What was found.
    left, right
        The cells of a row, one a seed.
    classes
        One of CLASSES.
    """
    rows = [_drawn(store, cells, classes) for cells in (left, right)]
    if rows[0] is None or rows[1] is None:
        return None
    (one, draws_of_one), (other, draws_of_other) = rows[0], rows[1]
    low, high = np.percentile(draws_of_one - draws_of_other, LEVELS)
    return Compared(one, other, float(low), float(high))


def _drawn(store: Store, cells: Sequence[Cell], classes: str) -> tuple[float, FloatArray] | None:
    """The mean over seeds of a row's IoU: of all images, and of every draw of them."""
    found = []
    for cell in cells:
        result = store.result(cell)
        if result is None or result["failed"]:
            continue
        grid = ResultGrid(results_of(store, cell), result["labels"])
        solver = grid.solvers()[0]
        counts = grid.confusions(solver)
        chosen = grid.frequent(solver) if classes == "frequent" else None
        if counts is None or (chosen is not None and not chosen.any()):
            continue
        drawn = grid.draws(len(counts)) @ counts.reshape(len(counts), -1)
        both = np.concatenate([counts.sum(axis=0)[None], drawn.reshape(-1, *counts.shape[1:])])
        found.append(100 * mean_over_classes(class_iou(both), chosen))
    if not found:
        return None
    mean = np.mean(found, axis=0)
    return float(mean[0]), mean[1:]
