"""Pictures of `policrf bench potentials`: energy against CPU time, one a family."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from policrf.bench.potentials.grid import ALL_FAMILIES, PotentialGrid
from policrf.bench.potentials.summary import CellKey, Summary
from policrf.plots.figures import Lines, line_figure

SPREAD = 4.0  # height of a panel / (median − lowest energy)

Points = tuple[Sequence[float], Sequence[float]]


def draw(summary: Summary, grid: PotentialGrid, folder: Path) -> list[Path]:
    """potentials-FAMILY.png for each family, one panel a size."""
    written = []
    for family in summary.families():
        panels = [_panel(family, n, summary, grid) for n in summary.sizes(family)]
        path = folder / f"potentials-{family}.png"
        title = f"{family}: {ALL_FAMILIES[family]}"
        line_figure(path, panels, "CPU seconds of a solve", "mean energy", title=title)
        written.append(path)
    return written


def _panel(family: str, n: int, summary: Summary, grid: PotentialGrid) -> Lines:
    """One size. The axis ends where half of all points would still be well apart."""
    lines = _lines(family, n, summary, grid)
    energies = np.concatenate([points[1] for points in lines.values()])
    low = float(energies.min())
    height = SPREAD * float(np.median(energies) - low)
    span = (low - 0.05 * height, low + height) if 0 < height < energies.max() - low else None
    return Lines(f"N = {n:,}", lines, span)


def _lines(family: str, n: int, summary: Summary, grid: PotentialGrid) -> dict[str, Points]:
    """One line a row; that of a solver that has stopped goes on level."""
    lines: dict[str, Points] = {}
    for row in dict.fromkeys(grid.solvers):
        keys = [CellKey(family, n, row, budget) for budget in grid.budgets_at(n)]
        cells = [summary.cells[key] for key in keys if key in summary.cells]
        if cells:
            times = [max(c.cpu_seconds, c.budget_seconds * c.stands) for c in cells]
            lines[row] = times, [cell.energy for cell in cells]
    return lines
