"""Everything that a target writes: tables, figures, the energies behind them, the claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from policrf.bench.reproduce import report
from policrf.bench.reproduce.catalogue import Catalogue
from policrf.bench.reproduce.claims import tables_of_claims
from policrf.bench.reproduce.other_cells import figures, wanted
from policrf.bench.reproduce.store import Store
from policrf.bench.reproduce.tables.figures_made import table_of_figures
from policrf.bench.reproduce.tables.lookup import Lookup
from policrf.bench.reproduce.tables.robustness import table_robustness
from policrf.bench.reproduce.tables.table_four import tables_four
from policrf.bench.reproduce.tables.table_one import table_one
from policrf.bench.reproduce.tables.table_three import tables_three
from policrf.bench.reproduce.tables.table_two import tables_two
from policrf.evaluation.tables import Table

TABLES: dict[str, Callable[[Lookup], list[Table]]] = {
    "table1": lambda lookup: [table_one()],
    "table2": tables_two,
    "table3": tables_three,
    "table4": tables_four,
    "robustness": lambda lookup: [table_robustness(lookup)],
    "figures": lambda lookup: [table_of_figures(lookup)],
}


def write_all(
    out: Path, targets: Sequence[str], catalogue: Catalogue, store: Store, made: report.Made
) -> list[Table]:
    """Write what the targets are made of; returns the tables.

    Parameters
    ----------
    out
        Folder of the files.
    targets
        Names of TABLES.
    catalogue, store
        Which cells there are, and what they found.
    made
        What every file says of its making.
    """
    lookup = Lookup(catalogue, store)
    shown = []
    for target in targets:
        tables = TABLES[target](lookup)
        report.write_tables(out, target, tables, made)
        shown += tables
        report.copy_energies(out, wanted(catalogue, target), store)
    if "figures" in targets:
        report.copy_figures(out, figures(catalogue), store)
    if "table2" in targets:
        claims = tables_of_claims(lookup)
        report.write_tables(out, "claims", claims, made)
        shown += claims
    return shown
