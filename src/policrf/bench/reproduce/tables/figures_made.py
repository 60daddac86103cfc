"""Which figures there are, what each shows, and which could not be drawn."""

from __future__ import annotations

from policrf.bench.reproduce.other_cells import FIGURES, figure
from policrf.bench.reproduce.tables.lookup import Lookup
from policrf.evaluation.tables import Table


def table_of_figures(lookup: Lookup) -> Table:
    """A line a figure."""
    rows = []
    for name in FIGURES:
        cell = figure(lookup.catalogue, name)
        result = lookup.store.result(cell)
        if result is None:
            rows.append((name, lookup.not_run([cell]), ""))
        else:
            rows.append((name, ", ".join(result["files"]), result["shows"]))
    return Table("Figures", ("figure", "files", "what it shows"), tuple(rows))
