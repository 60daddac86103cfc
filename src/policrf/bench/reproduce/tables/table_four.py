"""Table 4: CPU seconds to label an instance, ratios within one run, and the paper's seconds."""

from __future__ import annotations

from policrf.bench.reproduce import published
from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.other_cells import SYNTHETIC, TIMED, timed_rows, timings
from policrf.bench.reproduce.tables.lookup import Lookup, Value
from policrf.evaluation.tables import Table

BASE = "α-Exp"


def tables_four(lookup: Lookup) -> list[Table]:
    """For every source and energy: seconds and ratios to alpha-expansion by row and size."""
    cells = {place[:3]: place[3] for place in timings(lookup.catalogue)}
    names = list(dict.fromkeys(source for source, _, _ in cells))
    sizes = list(dict.fromkeys(size for _, size, _ in cells))
    tables = []
    for source in names:
        for terms in TIMED:
            of_terms = {size: cells[source, size, terms] for size in sizes}
            tables.append(_table(lookup, source, terms, of_terms))
    return tables


def _table(lookup: Lookup, source: str, terms: str, cells: dict[int, Cell]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for row in timed_rows(lookup.catalogue):
        seconds: list[Value] = []
        ratios: list[Value] = []
        for cell in cells.values():
            found = lookup.measure([cell], "seconds", row)
            base = lookup.measure([cell], "seconds", BASE)
            stopped = row in (lookup.store.result(cell) or {}).get("stopped", ())
            seconds.append(f"> {found:.3g}" if stopped else found)
            ratios.append(None if stopped else ratio(found, base))
        rows.append((row, *seconds))
        rows.append((f"{row}, times {BASE}", *ratios))
        theirs = [published.table_4(size, terms, row) for size in cells]
        if any(theirs):
            rows.append((f"{row} (paper's figure)", *theirs))
    shown = "scenes of regime B" if source == SYNTHETIC else source.upper()
    note = (
        "Seconds of processor time, one thread, mean over instances of the best of several runs, "
        "all rows of a column in one process; > means that the limit ended it. DQN and MCTS: the "
        "policy of DQN R2 learned with all terms at the size of Table 3, greedy and with search. "
        "The paper's figures are wall seconds of another machine, its policies on a GPU."
    )
    heads = tuple(f"N = {size:,}" for size in cells)
    return Table(f"Table 4: run time, {shown}, {terms}", ("row", *heads), tuple(rows), note)


def ratio(one: Value, other: Value) -> float | None:
    """One measured time over another; None unless both were measured."""
    if isinstance(one, float) and isinstance(other, float):
        return one / other
    return None
