"""Tables and pictures of `policrf bench large`: gaps, what was promised, energy against time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from policrf.bench.large.grid import PROOFS, FieldSpec, LargeGrid, tasks, threads_of
from policrf.bench.potentials.summary import mean_with_interval, percent_above
from policrf.bench.result_log import Result
from policrf.evaluation.tables import Table
from policrf.plots.figures import Lines, line_figure
from policrf.scenes import FRUSTRATED

LONG = 1.0  # seconds from which on auto is to be the lowest
BELOW, PLAIN, AT = 0.3, "plain_annealing", 10.0  # % below plain annealing at this budget
LATE = 1.2  # times its budget, from which on a row is late, and compared with nobody
EQUAL = 1e-6  # % above which an energy is not the same
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

    def above(self, ours: Cell, theirs: Cell) -> float | None:
        """Mean % that `ours` is above `theirs`, CRF by CRF."""
        mine, other = self.energies.get(ours, {}), self.energies.get(theirs, {})
        seeds = sorted(mine.keys() & other.keys())
        if not seeds:
            return None
        return float(np.mean([percent_above(mine[seed], other[seed]) for seed in seeds]))


def _in_order(found: Sequence[str], known: Sequence[str]) -> list[str]:
    """Each once: those of the default grid in its order, then all others."""
    return list(dict.fromkeys([*(name for name in known if name in found), *found]))


def tables(results: Sequence[Result], grid: LargeGrid) -> list[Table]:
    """What was promised, what was run, and one table a field."""
    figures, wanted = Figures(results), list(tasks(grid))
    fields = (_field_table(figures, field, wanted) for field in figures.fields)
    return [bars(figures), coverage(results, wanted), *fields]


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


def bars(figures: Figures) -> Table:
    """Where auto is the lowest row, and how far it is below plain annealing."""
    rows: list[tuple[str | None, ...]] = []
    for field in figures.fields:
        texts = [_lowest(figures, field, budget) for budget in figures.budgets]
        plain = figures.above((field, "auto", AT), (field, PLAIN, AT))
        rows.append((field, *texts, None if plain is None else f"{-plain:.2f}"))
    columns = (
        "field", *(f"lowest at {budget:g} s" for budget in figures.budgets),
        f"% below {PLAIN} at {AT:g} s",
    )  # fmt: skip
    below = [float(row[-1]) for row in rows if row[-1] is not None]
    held = sum(percent >= BELOW for percent in below)
    long = [
        text
        for row in rows
        for budget, text in zip(figures.budgets, row[1:-1], strict=True)
        if budget >= LONG and text is not None
    ]
    note = (
        f"auto at or below every other row: in {long.count('yes')} of {len(long)} fields and "
        f"budgets of {LONG:g} s and more. {BELOW:g} % or more below {PLAIN} at {AT:g} s: in {held} "
        f"of {len(below)} fields. Rows that were not run or late are not compared."
    )
    return Table("Bars", columns, tuple(rows), note)


def _lowest(figures: Figures, field: str, budget: float) -> str | None:
    """Whether auto is at or below every other row; else how far above which one."""
    found = [
        (above, row)
        for row in figures.others
        if (field, row, budget) not in figures.late
        and (above := figures.above((field, "auto", budget), (field, row, budget))) is not None
    ]
    if not found:
        return None
    worst, row = max(found)
    return "yes" if worst <= EQUAL else f"{worst:.3f} % above {row}"


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
