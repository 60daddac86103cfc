"""Figures of the benchmark: means over the CRFs of a cell, and paired 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from policrf.bench.potentials.grid import instance_of, seconds_of
from policrf.bench.result_log import Result

OVERRUN, GRACE = 1.5, 0.001  # a budget is overrun beyond 1.5 times it and a millisecond


class CellKey(NamedTuple):
    """What a cell of a table is about."""

    family: str
    n: int
    row: str
    budget: float


class Mean(NamedTuple):
    """A mean over CRFs with half of its 95 % interval."""

    value: float
    half: float  # NaN for a single CRF

    def __str__(self) -> str:
        spread = "" if math.isnan(self.half) else f" ± {self.half:.1f}"
        return f"{self.value:+.1f}{spread}"


class Cell(NamedTuple):
    """Figures of one row at one budget."""

    energy: float
    gap: Mean  # % above the lowest energy known of the same CRF
    calls: float
    wall_seconds: float
    cpu_seconds: float
    budget_seconds: float
    stands: bool  # with the result of a smaller budget, where all CRFs were done
    crfs: int

    @property
    def overrun(self) -> bool:
        """Whether it took much longer than it was given."""
        return self.cpu_seconds > OVERRUN * self.budget_seconds + GRACE


class Summary:
    """All results, by cell.

    Parameters
    ----------
    results
        Of `run_potentials`. Refused and left out ones have no energy.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.lowest = lowest_energies(results)
        self.proven = {instance_of(r) for r in results if r.get("proven")}
        self.refused = {(r["family"], r["n"], r["row"]) for r in results if "refused" in r}
        self._by_cell: dict[CellKey, dict[int, Result]] = {}
        for result in results:
            if "energy" in result:
                key = CellKey(result["family"], result["n"], result["row"], float(result["budget"]))
                self._by_cell.setdefault(key, {})[result["seed"]] = result
        self.cells = {key: self._cell(key, mine) for key, mine in self._by_cell.items()}

    def _cell(self, key: CellKey, mine: dict[int, Result]) -> Cell:
        def mean(name: str) -> float:
            return float(np.mean([result[name] for result in mine.values()]))

        gaps = [
            percent_above(result["energy"], self.lowest[instance_of(result)])
            for result in mine.values()
        ]
        return Cell(
            energy=mean("energy"),
            gap=mean_with_interval(gaps),
            calls=mean("calls"),
            wall_seconds=mean("wall_seconds"),
            cpu_seconds=mean("cpu_seconds"),
            budget_seconds=seconds_of(key.budget, key.n),
            stands=all(result.get("stands") for result in mine.values()),
            crfs=len(mine),
        )

    def above(self, first: CellKey, second: CellKey) -> Mean:
        """How many % the energies of the first are above those of the second, CRF by CRF."""
        ours, theirs = self._by_cell[first], self._by_cell[second]
        return mean_with_interval(
            [
                percent_above(ours[seed]["energy"], theirs[seed]["energy"])
                for seed in ours.keys() & theirs.keys()
            ]
        )

    def families(self) -> list[str]:
        """In the order they were measured."""
        return list(dict.fromkeys(key.family for key in self.cells))

    def sizes(self, family: str) -> list[int]:
        """Of a family, in ascending order."""
        return sorted({key.n for key in self.cells if key.family == family})


def percent_above(energy: float, other: float) -> float:
    """How far an energy is above another one, in % of that one's size."""
    return 100 * (energy - other) / max(abs(other), 1e-12)


def mean_with_interval(values: Sequence[float]) -> Mean:
    """Mean and half of its 95 % interval, by Student's t."""
    count = len(values)
    if count < 2:
        return Mean(float(np.mean(values)) if count else math.nan, math.nan)
    spread = float(np.std(values, ddof=1)) / math.sqrt(count)
    return Mean(float(np.mean(values)), float(student.ppf(0.975, count - 1)) * spread)


def lowest_energies(results: Iterable[Result]) -> dict[tuple[Any, ...], float]:
    """The lowest energy found for each CRF, by family, size and seed."""
    lowest: dict[tuple[Any, ...], float] = {}
    for result in results:
        if "energy" in result:
            key = instance_of(result)
            lowest[key] = min(lowest.get(key, math.inf), result["energy"])
    return lowest
