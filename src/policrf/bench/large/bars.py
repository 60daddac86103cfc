"""What `policrf bench large` promises: auto at or below every other row, and how far."""

from __future__ import annotations

import numpy as np

from policrf.bench.large.figures import Figures
from policrf.bench.large.grid import FieldSpec
from policrf.bench.potentials.summary import mean_with_interval
from policrf.evaluation.tables import Table

LONG = 1.0  # seconds from which on auto is to be the lowest
BELOW, PLAIN, AT = 0.3, "plain_annealing", 10.0  # % below plain annealing at this budget
EQUAL = 1e-6  # % above which an energy is not the same


def bars(figures: Figures) -> Table:
    """Where auto is the lowest row, and how far it is below plain annealing."""
    rows: list[tuple[str | None, ...]] = []
    for field in figures.fields:
        texts = [_lowest(figures, field, budget) for budget in figures.budgets]
        plain = figures.above(field, AT, PLAIN)
        rows.append((field, *texts, f"{-np.mean(plain):.2f}" if plain else None))
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


def by_family(figures: Figures) -> Table:
    """auto against the row that is closest to it in a family, over all its CRFs."""
    fields: dict[str, list[str]] = {}
    for field in figures.fields:
        fields.setdefault(FieldSpec.parse(field).family, []).append(field)
    rows = [
        (family, *(_closest(figures, own, budget) for budget in figures.budgets))
        for family, own in fields.items()
    ]
    columns = ("family", *(f"{budget:g} s" for budget in figures.budgets))
    note = (
        "% that auto is above the row that is closest to it or furthest below, CRF by CRF, with "
        "95 % intervals: negative where auto is below all. Rows have the fields that they were run "
        "on in time."
    )
    return Table("Families", columns, tuple(rows), note)


def _closest(figures: Figures, fields: list[str], budget: float) -> str | None:
    found = {
        row: [percent for field in fields for percent in figures.above(field, budget, row)]
        for row in figures.others
    }
    found = {row: above for row, above in found.items() if above}
    if not found:
        return None
    row = max(found, key=lambda row: float(np.mean(found[row])))
    mean = mean_with_interval(found[row])
    spread = "" if np.isnan(mean.half) else f" ± {mean.half:.3f}"
    crfs = f"{len(found[row])} CRF{'s' if len(found[row]) > 1 else ''}"
    return f"{mean.value:+.3f}{spread} ({row}, {crfs})"


def _lowest(figures: Figures, field: str, budget: float) -> str | None:
    """Whether auto is at or below every other row; else how far above which one."""
    found = [
        (float(np.mean(above)), row)
        for row in figures.others
        if (above := figures.above(field, budget, row))
    ]
    if not found:
        return None
    worst, row = max(found)
    return "yes" if worst <= EQUAL else f"{worst:.3f} % above {row}"
