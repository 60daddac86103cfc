"""Tables and pictures of `policrf bench potentials`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policrf.bench.potentials import PotentialGrid, lowest_energies
from policrf.bench.result_log import Result
from policrf.evaluation.tables import Table
from policrf.plots.figures import Lines, line_figure
from policrf.scenes import FAMILIES

NOTE = (
    "Mean energy / gap in % to the lowest energy that any run found / calls of the custom "
    "function, over the seeds. Budgets are wall time of one thread, times N / 144; solves had "
    "{share:.0f} % of a core. CPU times are in the table of all figures."
)
COLUMNS = (
    "family", "n", "solver", "budget_ms", "energy", "gap_percent", "calls",
    "wall_seconds", "cpu_seconds", "seeds",
)  # fmt: skip
FIGURES = COLUMNS[4:9]


Cells = dict[tuple[Any, ...], dict[str, float]]  # by (family, size, row, budget)


def tabulate(results: Sequence[Result], grid: PotentialGrid) -> list[Table]:
    """One table a family: energy, gap and calls of every row."""
    cells = summarise(results)
    refused = {(r["family"], r["n"], r["row"]) for r in results if "refused" in r}
    return [_family_table(family, cells, refused, grid) for family in grid.families]


def all_figures(results: Sequence[Result]) -> Table:
    """One line a cell, for programs."""
    cells = summarise(results)
    rows = [(*key, *(figures[name] for name in COLUMNS[4:])) for key, figures in cells.items()]
    note = "Means over the seeds; budgets are milliseconds of wall time for 144 nodes"
    return Table("All figures", COLUMNS, tuple(rows), note)


def summarise(results: Sequence[Result]) -> Cells:
    """Means over the seeds; refusals are left out."""
    lowest = lowest_energies(results)
    cells: dict[tuple[Any, ...], list[Result]] = {}
    for result in results:
        if "energy" in result:
            known = lowest[result["family"], result["n"], result["seed"]]
            gap = 100 * (result["energy"] - known) / max(abs(known), 1e-12)
            key = result["family"], result["n"], result["row"], float(result["budget"])
            cells.setdefault(key, []).append(result | {"gap_percent": gap})
    return {
        key: {name: float(np.mean([result[name] for result in mine])) for name in FIGURES}
        | {"seeds": len(mine)}
        for key, mine in cells.items()
    }


def _family_table(
    family: str, cells: Cells, refused: set[tuple[Any, ...]], grid: PotentialGrid
) -> Table:
    groups = [(n, float(budget)) for n in grid.sizes for budget in grid.budgets]
    rows = []
    for row in dict.fromkeys(grid.solvers):
        shown = [
            "refused" if (family, n, row) in refused else _cell(cells.get((family, n, row, budget)))
            for n, budget in groups
        ]
        if any(shown):
            rows.append((row, *shown))
    mine = [figures for key, figures in cells.items() if key[0] == family]
    wall = sum(figures["wall_seconds"] for figures in mine)
    share = 100 * sum(figures["cpu_seconds"] for figures in mine) / max(wall, 1e-9)
    columns = ("solver", *(f"N = {n:,}, {budget:g} ms" for n, budget in groups))
    title = f"{family}: {FAMILIES[family]}"
    return Table(title, columns, tuple(rows), NOTE.format(share=share))


def _cell(figures: dict[str, float] | None) -> str | None:
    if figures is None:
        return None
    return f"{figures['energy']:.1f} / {figures['gap_percent']:.1f} / {figures['calls']:,.0f}"


def draw(results: Sequence[Result], grid: PotentialGrid, folder: Path) -> list[Path]:
    """A picture of energy against CPU time for each family: potentials-FAMILY.png."""
    cells, written = summarise(results), []
    for family in grid.families:
        panels = [Lines(f"N = {n:,}", _lines(family, n, cells, grid)) for n in grid.sizes]
        if not any(panel.lines for panel in panels):
            continue
        path = folder / f"potentials-{family}.png"
        title = f"{family}: {FAMILIES[family]}"
        line_figure(path, panels, "CPU seconds of a solve", "mean energy", title=title)
        written.append(path)
    return written


def _lines(
    family: str, n: int, cells: Cells, grid: PotentialGrid
) -> dict[str, tuple[Sequence[float], Sequence[float]]]:
    lines: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    for row in dict.fromkeys(grid.solvers):
        found = [cells.get((family, n, row, float(budget))) for budget in sorted(grid.budgets)]
        points = [figures for figures in found if figures is not None]
        if points:
            lines[row] = [p["cpu_seconds"] for p in points], [p["energy"] for p in points]
    return lines
