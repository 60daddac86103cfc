"""The bars of the benchmark: what was promised of asking half-way and of `auto`, and what is so."""

from __future__ import annotations

from collections.abc import Iterable

from policrf.bench.potentials.grid import PotentialGrid
from policrf.bench.potentials.summary import CellKey, Mean, Summary
from policrf.bench.rows import GENERIC
from policrf.evaluation.tables import Table

QUICK, LONGER = "untrained + icm", "untrained:refine=true"
BELOW, ENOUGH = 10.0, 5  # % below every generic solver, and in how many families
WITHIN = 1.0  # % that auto may be above the best row
ANNEALING = "annealing"


def bars(summary: Summary, grid: PotentialGrid) -> list[Table]:
    """Three tables: half-way against generic solvers, misses of auto, and overrun budgets."""
    return [below_generic(summary, grid), auto_misses(summary, grid), overruns(summary, grid)]


def below_generic(summary: Summary, grid: PotentialGrid) -> Table:
    """How far the untrained policy is below the lowest generic row, by family, size and budget."""
    budgets = sorted({float(budget) for budget in grid.budgets})
    rows, held = [], {True: set[str](), False: set[str]()}
    for family in summary.families():
        for with_annealing in held:
            lines = [
                _margins(summary, family, n, budgets, with_annealing) for n in summary.sizes(family)
            ]
            rows += lines
            if lines and all(line[-1] == "yes" for line in lines):
                held[with_annealing].add(family)
    many = {key: f"{len(found)} of {len(summary.families())}" for key, found in held.items()}
    note = (
        f"% below the lowest of the generic rows ({', '.join(GENERIC)}) at the same budget, with a "
        f"paired 95 % interval: {QUICK} at the smallest budget, {LONGER} at larger ones. The bar "
        f"is {BELOW:g} % at every budget and size, in {ENOUGH} families or more; it holds in "
        f"{many[True]}, without annealing among the generic rows in {many[False]}. "
        "* overran its budget."
    )
    columns = ("family", "N", "annealing", *(f"{budget:g} ms" for budget in budgets), "held")
    return Table("Asked half-way, against generic solvers", columns, tuple(rows), note)


def _margins(
    summary: Summary, family: str, n: int, budgets: list[float], with_annealing: bool
) -> tuple[str | int | None, ...]:
    texts: list[str | None] = []
    held = []
    generic = [row for row in GENERIC if with_annealing or row != ANNEALING]
    for budget in budgets:
        ours = CellKey(family, n, QUICK if budget == budgets[0] else LONGER, budget)
        best = lowest(summary, [CellKey(family, n, row, budget) for row in generic])
        if best is None or ours not in summary.cells:
            texts.append(None)
            continue
        above = summary.above(ours, best)
        below = Mean(-above.value, above.half)
        held.append(below.value >= BELOW)
        texts.append(f"{below} ({best.row}){'*' if summary.cells[ours].overrun else ''}")
    verdict = "yes" if held and all(held) else "no"
    return family, n, "with" if with_annealing else "without", *texts, verdict


def auto_misses(summary: Summary, grid: PotentialGrid) -> Table:
    """Where auto is more than 1 % above the best row that kept the same budget."""
    rows, cells = [], 0
    for key, cell in summary.cells.items():
        if key.row != "auto" or key.budget not in grid.budgets:
            continue
        others = (key._replace(row=row) for row in grid.solvers)
        kept = [k for k in others if k in summary.cells and not summary.cells[k].overrun]
        best = lowest(summary, kept)
        if best is None:
            continue
        cells += 1
        above = summary.above(key, best)
        if above.value > WITHIN:
            energy = f"{cell.energy:.2f}{'*' if cell.overrun else ''}"
            other = f"{summary.cells[best].energy:.2f}"
            rows.append((*key[:2], key.budget, energy, best.row, other, str(above)))
    note = (
        f"auto is within {WITHIN:g} % of the best row in {cells - len(rows)} of {cells} cells; "
        "these are the others. Rows that overran their budget do not count as best (* auto did)."
    )
    columns = ("family", "N", "budget_ms", "auto", "best row", "its energy", "above_percent")
    return Table("auto, against the best row", columns, tuple(rows), note)


def overruns(summary: Summary, grid: PotentialGrid) -> Table:
    """Rows that took much more CPU time than they were given."""
    rows = [
        (*key[:3], key.budget, 1000 * cell.budget_seconds, 1000 * cell.cpu_seconds)
        for key, cell in summary.cells.items()
        if cell.overrun and key.budget in grid.budgets and not cell.stands
    ]
    note = "Milliseconds of CPU time that a solve was given, and took, where that is much more."
    columns = ("family", "N", "solver", "budget_ms", "given_ms", "taken_ms")
    return Table("Budgets overrun", columns, tuple(rows), note)


def lowest(summary: Summary, keys: Iterable[CellKey]) -> CellKey | None:
    """The cell of the lowest mean energy, of those there are."""
    found = [key for key in keys if key in summary.cells]
    return min(found, key=lambda key: summary.cells[key].energy, default=None)
