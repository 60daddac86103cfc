"""Tables and pictures of `policrf bench large`: gaps, what was promised, energy against time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from policrf.bench.large.bars import bars, by_family
from policrf.bench.large.figures import Figures
from policrf.bench.large.grid import PROOFS, FieldSpec, LargeGrid, tasks
from policrf.bench.potentials.summary import percent_above
from policrf.bench.result_log import Result
from policrf.evaluation.tables import Table
from policrf.plots.figures import Lines, line_figure
from policrf.scenes import FRUSTRATED


def tables(results: Sequence[Result], grid: LargeGrid) -> list[Table]:
    """What was promised, what was run, and one table a field."""
    figures, wanted = Figures(results), list(tasks(grid))
    fields = (_field_table(figures, field, wanted) for field in figures.fields)
    return [bars(figures), by_family(figures), coverage(results, wanted), *fields]


def coverage(results: Sequence[Result], wanted: Sequence[Result]) -> Table:
    """How many solves of every field and budget were run."""
    fields = list(dict.fromkeys(task["field"] for task in wanted))
    budgets = sorted({float(task["budget"]) for task in wanted})

    def count(of: Sequence[Result], field: str, budget: float) -> int:
        return sum(one["field"] == field and float(one["budget"]) == budget for one in of)

    rows = []
    for field in fields:
        cells = []
        for budget in budgets:
            run, defined = count(results, field, budget), count(wanted, field, budget)
            cells.append(f"{run} of {defined}" if run else "not run")
        rows.append((field, *cells))
    note = f"{len(results)} of {len(wanted)} solves that the grid defines."
    columns = ("field", *(f"{budget:g} s" for budget in budgets))
    return Table("What was run", columns, tuple(rows), note)


def _field_table(figures: Figures, field: str, wanted: Sequence[Result]) -> Table:
    spec = FieldSpec.parse(field)
    cells = {(one["row"], float(one["budget"])) for one in wanted if one["field"] == field}
    budgets = sorted({budget for _, budget in cells})
    rows = []
    for row in dict.fromkeys([*figures.rows, *(one["row"] for one in wanted)]):
        gaps = [
            figures.gap((field, row, budget)) or ("not run" if (row, budget) in cells else None)
            for budget in budgets
        ]
        if any(gap is not None for gap in gaps):
            rows.append((row, *gaps))
    seeds = {seed for name, seed in figures.lowest if name == field}
    lowest = np.mean([figures.lowest[field, seed] for seed in seeds])
    proven = len({seed for name, seed in figures.proven if name == field})
    note = (
        f"% above the lowest energy known of the same CRF (mean {lowest:.2f}), up to {len(seeds)} "
        f"CRFs, of {proven} of which it is proven. {FRUSTRATED[spec.family]} Budgets are seconds "
        "of CPU time, one thread; twice as many where there are two. Rows that took a fifth more "
        "than that are late."
    )
    columns = ("row", *(f"{budget:g} s" for budget in budgets))
    return Table(field, columns, tuple(rows), note)


def all_solves(results: Sequence[Result]) -> Table:
    """For programs."""
    columns = (
        "field", "seed", "row", "budget", "energy", "proven", "cpu_seconds", "wall_seconds",
        "refused",
    )  # fmt: skip
    rows = tuple(tuple(result.get(name) for name in columns) for result in results)
    return Table("All solves", columns, rows, "One line a solve.")


def draw(results: Sequence[Result], folder: Path) -> list[Path]:
    """large-FAMILY.png for each family, one panel a field: mean gap against CPU time.

    Rows that are far above the others at every budget are left out.
    """
    figures, written = Figures(results), []
    for family in FRUSTRATED:
        fields = [field for field in figures.fields if FieldSpec.parse(field).family == family]
        if fields:
            path = folder / f"large-{family}.png"
            panels = [_panel(figures, field) for field in fields]
            title = f"{family}: {FRUSTRATED[family]}"
            line_figure(path, panels, "CPU seconds", "% above the lowest energy known", title=title)
            written.append(path)
    return written


def _panel(figures: Figures, field: str) -> Lines:
    lines: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    for row in figures.rows:
        cells = [(field, row, budget) for budget in figures.budgets]
        found = [cell for cell in cells if cell in figures.energies]
        if found and row not in PROOFS:
            gaps = [
                float(np.mean([
                    percent_above(energy, figures.lowest[field, seed])
                    for seed, energy in figures.energies[cell].items()
                ]))
                for cell in found
            ]  # fmt: skip
            lines[row] = [cell[2] for cell in found], gaps
    highest = sorted(gap for _, gaps in lines.values() for gap in gaps)
    top = 1.2 * highest[int(0.8 * (len(highest) - 1))] if highest else 1.0
    top = max(top, 1e-3)
    shown = {row: line for row, line in lines.items() if min(line[1]) <= top}
    return Lines(field, shown, (-0.03 * top, top))
