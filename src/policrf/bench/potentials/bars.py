"""The bars of the benchmark: what was promised of asking half-way and of `auto`, and what is so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policrf.bench.potentials.grid import PotentialGrid
from policrf.bench.potentials.summary import CellKey, Mean, Summary
from policrf.bench.rows import COMPLETE_ONLY, GENERIC
from policrf.evaluation.tables import Table

QUICK, LONGER = "untrained + icm", "untrained:refine=true"
BELOW, ENOUGH = 10.0, 5  # % below every generic solver, and in how many families
WITHIN = 1.0  # % that auto may be above the best row
# The bar was set against the first; annealing asks no question half-way either, but is newer.
COMPARED = {
    "generic solvers from before half-way questions": COMPLETE_ONLY,
    "generic solvers, annealing too": GENERIC,
}


def bars(summary: Summary, grid: PotentialGrid) -> list[Table]:
    """What was promised, and the tables that it is read from."""
    margins = [below_generic(summary, grid, name) for name in COMPARED]
    misses = auto_misses(summary, grid)
    return [_verdicts(margins, misses), *margins, misses, overruns(summary, grid)]


def _verdicts(margins: list[Table], misses: Table) -> Table:
    rows = []
    for table, name in zip(margins, COMPARED, strict=True):
        held: dict[int | str, set[str]] = {n: set() for n in sorted({row[1] for row in table.rows})}
        for family, n, *_, verdict in table.rows:
            if verdict == "yes":
                held[n].add(family)
        failed = {row[0] for row in table.rows if row[-1] != "yes"}
        held["all"] = {row[0] for row in table.rows} - failed
        for n, families in held.items():
            what = f"families {BELOW:g} % below all {name}, N = {n}"
            verdict = "yes" if len(families) >= ENOUGH else "no"
            rows.append((what, len(families), f"≥ {ENOUGH}", verdict))
    verdict = "no" if misses.rows else "yes"
    rows.append((f"cells with auto above the best by {WITHIN:g} %", len(misses.rows), "0", verdict))
    note = f"{QUICK} at the smallest budget, {LONGER} at all larger ones. {misses.note}"
    return Table("Bars", ("what", "measured", "bar", "held"), tuple(rows), note)


def below_generic(summary: Summary, grid: PotentialGrid, compared: str) -> Table:
    """How far the untrained policy is below the lowest generic row, by family, size and budget."""
    budgets = sorted({float(budget) for budget in grid.budgets})
    generic = COMPARED[compared]
    rows = [
        _margins(summary, (family, n), budgets, generic)
        for family in summary.families()
        for n in summary.sizes(family)
    ]
    note = (
        f"% below the lowest of {', '.join(generic)} at the same budget, with a paired 95 % "
        f"interval: {QUICK} at the smallest budget, {LONGER} at larger ones. Held: {BELOW:g} % at "
        "every budget. Room: how far the lowest energy that anything has found, long runs too, is "
        "below the lowest of those rows at any budget; nothing known holds more. * overran its "
        "budget."
    )
    columns = ("family", "N", *(f"{budget:g} ms" for budget in budgets), "room", "held")
    return Table(f"Asked half-way, against {compared}", columns, tuple(rows), note)


def _margins(
    summary: Summary, place: tuple[str, int], budgets: list[float], generic: Sequence[str]
) -> tuple[str | int | None, ...]:
    texts: list[str | None] = []
    held = []
    for budget in budgets:
        ours = CellKey(*place, QUICK if budget == budgets[0] else LONGER, budget)
        best = lowest(summary, [ours._replace(row=row) for row in generic])
        if best is None or ours not in summary.cells:
            texts.append(None)
            continue
        above = summary.above(ours, best)
        below = Mean(-above.value, above.half)
        held.append(below.value >= BELOW)
        texts.append(f"{below} ({best.row}){'*' if summary.cells[ours].overrun else ''}")
    return *place, *texts, _room(summary, place, generic), "yes" if held and all(held) else "no"


def _room(summary: Summary, place: tuple[str, int], generic: Sequence[str]) -> str | None:
    """How far the lowest energy of all rows and long runs is below the lowest generic one."""
    cells = [key for key in summary.cells if key[:2] == place]
    best = lowest(summary, cells)
    other = lowest(summary, [key for key in cells if key.row in generic])
    if best is None or other is None:
        return None
    above = summary.above(best, other)
    return str(Mean(-above.value, above.half))


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
        f"auto is within {WITHIN:g} % of the best row in {cells - len(rows)} of {cells} cells. "
        "Rows that overran their budget do not count as best (* auto did)."
    )
    columns = ("family", "N", "budget_ms", "auto", "best row", "its energy", "above_percent")
    return Table("Where auto misses the best row", columns, tuple(rows), note)


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
