"""Finished cells as figures of a table, and cells that were not run as such, with an estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from policrf.bench.reproduce.catalogue import Catalogue
from policrf.bench.reproduce.cells import Cell, in_order
from policrf.bench.reproduce.estimates import Estimates
from policrf.bench.reproduce.store import Store

Value = float | str | None


@dataclass(frozen=True)
class Lookup:
    """What the tables read."""

    catalogue: Catalogue
    store: Store

    @cached_property
    def estimates(self) -> Estimates:
        """Of cells that were not run."""
        return Estimates(self.store, self.catalogue.data.counts())

    def not_run(self, cells: Sequence[Cell]) -> str:
        """The text of cells that have no result: how long they and what they need would take."""
        missing = [cell for cell in in_order(cells) if not self.store.finished(cell)]
        return f"not run ({duration(sum(self.estimates.seconds(cell) for cell in missing))})"

    def measure(self, cells: Sequence[Cell], *path: str) -> Value:
        """A figure of one cell, or the mean over the seeds of several with its spread.

        `path` leads into a cell's result; IoUs are in percent. A row that has no such figure gives
        None, a solver that refuses the terms says so.
        """
        done = [self.store.result(cell) for cell in cells if self.store.finished(cell)]
        if not done:
            return self.not_run(cells)
        scale = 100 if path[-1] == "iou" else 1
        values = [scale * value for value in self.values(cells, *path)]
        if not values:
            return "refused" if any(result.get("failed") for result in done) else None
        if len(cells) == 1:
            return values[0]
        spread = f" ± {np.std(values):.2f}" if len(values) > 1 else ""
        return f"{np.mean(values):.2f}{spread} ({len(values)})"

    def values(self, cells: Sequence[Cell], *path: str) -> list[float]:
        """The figure of every cell that has it."""
        found = []
        for cell in cells:
            value: Any = self.store.result(cell)
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if isinstance(value, int | float) and math.isfinite(value):
                found.append(float(value))
        return found

    def mean(self, cells: Sequence[Cell], *path: str) -> float:
        """The mean over the cells that have it; NaN if none has."""
        values = self.values(cells, *path)
        return float(np.mean(values)) if values else math.nan


def duration(seconds: float) -> str:
    """A rough time for people.

    >>> duration(40), duration(4000), duration(400_000)
    ('about 40 s', 'about 1.1 h', 'about 4.6 days')
    """
    for unit, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            count = seconds / length
            return f"about {count:,.0f} {unit}" if count >= 10 else f"about {count:.1f} {unit}"
    return f"about {max(1, round(seconds))} s"
