"""Results of `policrf bench large` by field, row and budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policrf.bench.large.grid import PROOFS, LargeGrid, threads_of
from policrf.bench.potentials.summary import mean_with_interval, percent_above
from policrf.bench.result_log import Result

LATE = 1.2  # times its budget, from which on a row is late, and compared with nobody
Cell = tuple[str, str, float]  # field, row, budget


class Figures:
    """Results by field, row and budget."""

    def __init__(self, results: Sequence[Result]) -> None:
        self.energies: dict[Cell, dict[int, float]] = {}
        self.proven: set[tuple[str, int]] = set()
        self.late: set[Cell] = set()
        self.lowest: dict[tuple[str, int], float] = {}
        for result in results:
            if "energy" not in result:
                continue
            cell = result["field"], result["row"], float(result["budget"])
            self.energies.setdefault(cell, {})[result["seed"]] = result["energy"]
            crf = result["field"], result["seed"]
            self.lowest[crf] = min(self.lowest.get(crf, np.inf), result["energy"])
            if result.get("proven"):
                self.proven.add(crf)
            if result.get("cpu_seconds", 0.0) > LATE * cell[2] * threads_of(cell[1]):
                self.late.add(cell)
        self.fields = _in_order([field for field, _, _ in self.energies], LargeGrid.fields)
        self.rows = _in_order([row for _, row, _ in self.energies], LargeGrid.solvers)
        self.others = [
            row for row in self.rows if row not in ("auto", *PROOFS) and threads_of(row) == 1
        ]
        self.budgets = sorted({budget for _, _, budget in self.energies})

    def gap(self, cell: Cell) -> str | None:
        """Mean % above the lowest energy known of the same CRF, with its interval if it has one."""
        if cell not in self.energies:
            return None
        gaps = [
            percent_above(energy, self.lowest[cell[0], seed])
            for seed, energy in self.energies[cell].items()
        ]
        mean = mean_with_interval(gaps)
        text = f"{mean.value:.2f}" + ("" if np.isnan(mean.half) else f" ± {mean.half:.2f}")
        return text + (" (late)" if cell in self.late else "")

    def above(self, field: str, budget: float, row: str) -> list[float]:
        """% that auto is above a row, CRF by CRF; none where that is late or was not run."""
        if (field, row, budget) in self.late:
            return []
        ours = self.energies.get((field, "auto", budget), {})
        theirs = self.energies.get((field, row, budget), {})
        seeds = sorted(ours.keys() & theirs.keys())
        return [percent_above(ours[seed], theirs[seed]) for seed in seeds]


def _in_order(found: Sequence[str], known: Sequence[str]) -> list[str]:
    """Each once: those of the default grid in its order, then all others."""
    return list(dict.fromkeys([*(name for name in known if name in found), *found]))
