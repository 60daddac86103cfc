"""Table 2: IoU of every row under every energy, the paper's own figures below."""

from __future__ import annotations

from collections.abc import Iterator

from policrf.bench.reproduce import published
from policrf.bench.reproduce.catalogue import REFERENCES
from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.score_job import results_of
from policrf.bench.reproduce.presets import FULL, TERMS, DataSet
from policrf.bench.reproduce.tables.lookup import Lookup, Value
from policrf.evaluation.tables import Table

HEADS = ("U", "U+P", "U+P+HOP1", "U+P+HOP1+HOP2")
MEASURES = {
    "IoU (sp)": ("superpixels_all", "iou"),
    "IoU (p)": ("pixels_all", "iou"),
    "IoU (p), frequent classes": ("pixels_frequent", "iou"),
    "mean energy": ("energy",),
}
NOTE = (
    "Learners: mean over seeds ± their deviation (number of seeds). A cell that was not run says "
    "how long it and what it needs would take. Frequent classes occur on at least ten images."
)


def tables_two(lookup: Lookup) -> list[Table]:
    """A table for every data set, size and measure."""
    return [
        _table(lookup, found, size, measure)
        for found, size in lookup.catalogue.places()
        for measure in (*MEASURES, "gap %")
    ]


def rows_at(
    lookup: Lookup, found: DataSet, size: int
) -> Iterator[tuple[str, dict[str, list[Cell]]]]:
    """Row -> energy -> cells, one a seed; rows that look at no energy stand under all of them."""
    catalogue = lookup.catalogue
    for row in REFERENCES:
        yield row, {FULL: [catalogue.solver(found, size, FULL, row)]}
    names = [*catalogue.preset.solvers, *catalogue.preset.beside]
    for row in names:
        yield (
            row,
            {
                terms: [catalogue.solver(found, size, terms, row)]
                for terms in TERMS
                if row in catalogue.rows(terms)
            },
        )
    for row in catalogue.preset.learners:
        yield row, {terms: catalogue.seeds(found, size, terms, row) for terms in TERMS}


def _table(lookup: Lookup, found: DataSet, size: int, measure: str) -> Table:
    rows: list[tuple[Value, ...]] = []
    for row, by_terms in rows_at(lookup, found, size):
        if measure in ("gap %", "mean energy") and row in REFERENCES:
            continue
        cells = [
            _value(lookup, found, size, terms, by_terms[terms], measure)
            if terms in by_terms
            else None
            for terms in TERMS
        ]
        rows.append((row, *cells))
        if measure in ("IoU (sp)", "IoU (p)"):
            theirs = [published.table_2(found.name, size, terms, row) for terms in TERMS]
            if any(theirs):
                at = 0 if measure == "IoU (sp)" else 1
                rows.append((f"{row} (paper's figure)", *(f[at] if f else None for f in theirs)))
    title = f"Table 2: {found.name.upper()}, N = {size}, {measure}"
    return Table(title, ("row", *HEADS), tuple(rows), NOTE)


def _value(
    lookup: Lookup, found: DataSet, size: int, terms: str, cells: list[Cell], measure: str
) -> Value:
    if measure == "gap %":
        return _gap(lookup, found, size, terms, cells)
    return lookup.measure(cells, *MEASURES[measure])


def _gap(lookup: Lookup, found: DataSet, size: int, terms: str, cells: list[Cell]) -> Value:
    """Mean of (E − E*) / |E*| over seeds and the images whose minimum is proven, in percent."""
    exact = lookup.catalogue.solver(found, size, terms, "exact")
    done = [cell for cell in cells if lookup.store.finished(cell)]
    if not done:
        return lookup.not_run(cells)
    if not lookup.store.finished(exact):
        return None
    optima = {r.name: r.energy for r in results_of(lookup.store, exact) if r.optimal}
    gaps = [
        100 * (result.energy - optima[result.name]) / max(abs(optima[result.name]), 1e-12)
        for cell in done
        for result in results_of(lookup.store, cell)
        if result.name in optima
    ]
    return sum(gaps) / len(gaps) if gaps else None
