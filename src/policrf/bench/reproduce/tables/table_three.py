"""Table 3: policies used at other numbers of superpixels than they were learned at."""

from __future__ import annotations

from policrf.bench.reproduce import published
from policrf.bench.reproduce.presets import DataSet
from policrf.bench.reproduce.tables.lookup import Lookup, Value
from policrf.evaluation.tables import Table


def tables_three(lookup: Lookup) -> list[Table]:
    """A table a data set, energies with all terms."""
    return [_table(lookup, found) for found in lookup.catalogue.preset.data_sets]


def _table(lookup: Lookup, found: DataSet) -> Table:
    rows: list[tuple[Value | int, ...]] = []
    for size, row, cell in lookup.catalogue.carried(found):
        figures = [
            lookup.measure([cell], level, "iou")
            for level in ("superpixels_all", "pixels_all", "pixels_frequent")
        ]
        if row == "net":
            figures[0] = None
        energy = None if row == "net" else lookup.measure([cell], "energy")
        theirs = published.table_3(found.name, size, row) or (None, None)
        rows.append((size, row, *figures, energy, *theirs))
    columns = (
        "N", "row", "IoU (sp)", "IoU (p)", "IoU (p), frequent classes", "mean energy",
        "IoU (sp), paper", "IoU (p), paper",
    )  # fmt: skip
    title = f"Table 3: {found.name.upper()}, learned at N = {found.learned_at}"
    note = (
        "Energy with all terms, under the weights chosen at the size of learning. The paper's net "
        "is PSPNet (VOC) and TrackR-CNN (MOTS)."
    )
    return Table(title, columns, tuple(rows), note)
