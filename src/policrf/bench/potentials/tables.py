"""Tables of `policrf bench potentials`: one a family, and one line a cell for programs."""

from __future__ import annotations

from policrf.bench.potentials.grid import ALL_FAMILIES, PotentialGrid, instances, left_out
from policrf.bench.potentials.summary import Cell, CellKey, Summary
from policrf.evaluation.tables import Table

NOTE = (
    "Mean energy (% above the lowest energy known of the same CRF, with a paired 95 % interval). "
    "Budgets are CPU time for 144 nodes; N nodes get N / 144 times as much. * overran its budget, "
    "by half of it and a millisecond. Calls are of custom functions, at the largest budget. "
    "The minimum is proven for {proven} of {crfs} CRFs."
)
COLUMNS = (
    "family", "n", "solver", "budget_ms", "energy", "gap_percent", "gap_interval", "calls",
    "wall_seconds", "cpu_seconds", "budget_seconds", "overrun", "stands", "crfs",
)  # fmt: skip


def family_tables(summary: Summary, grid: PotentialGrid) -> list[Table]:
    """One table a family: energy and gap of every row at every size and budget."""
    return [_family_table(family, summary, grid) for family in summary.families()]


def all_figures(summary: Summary) -> Table:
    """One line a cell, for programs."""
    rows = [
        (*key, c.energy, c.gap.value, c.gap.half, c.calls, c.wall_seconds, c.cpu_seconds,
         c.budget_seconds, c.overrun, c.stands, c.crfs)
        for key, c in summary.cells.items()
    ]  # fmt: skip
    note = "Means over CRFs; gap_interval is half of a 95 % interval, budget_ms is for 144 nodes"
    return Table("All figures", COLUMNS, tuple(rows), note)


def left_out_note(grid: PotentialGrid) -> str:
    """What was not measured, and why; empty if nothing."""
    return " ".join(f"Left out: {name}, {why}." for name, why in left_out(grid).items())


def _family_table(family: str, summary: Summary, grid: PotentialGrid) -> Table:
    budgets = sorted({float(budget) for budget in grid.budgets})
    rows = []
    for n in summary.sizes(family):
        for row in dict.fromkeys(grid.solvers):
            cells = [summary.cells.get(CellKey(family, n, row, budget)) for budget in budgets]
            found = [cell for cell in cells if cell is not None]
            if found:
                rows.append((row, n, *map(_text, cells), f"{found[-1].calls:,.0f}"))
            elif (family, n, row) in summary.refused:
                rows.append((row, n, *("refused" for _ in budgets), ""))
    columns = ("solver", "N", *(f"{budget:g} ms" for budget in budgets), "calls")
    note = _note(family, summary, grid)
    return Table(f"{family}: {ALL_FAMILIES[family]}", columns, tuple(rows), note)


def _note(family: str, summary: Summary, grid: PotentialGrid) -> str:
    crfs = {instance for instance in instances(grid) if instance[0] == family}
    note = NOTE.format(proven=len(crfs & summary.proven), crfs=len(crfs))
    return f"{note} {left_out_note(grid)}".strip()


def _text(cell: Cell | None) -> str | None:
    if cell is None:
        return None
    return f"{cell.energy:.1f} ({cell.gap}){'*' if cell.overrun else ''}"
