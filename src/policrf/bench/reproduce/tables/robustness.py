"""The paper's limitations, measured: wrong boxes and mis-set weights."""

from __future__ import annotations

from policrf.bench.reproduce.other_cells import robustness
from policrf.bench.reproduce.tables.lookup import Lookup, Value
from policrf.evaluation.tables import Table

WORDS = {"weights": "all weights times"}


def table_robustness(lookup: Lookup) -> Table:
    """A line for what is damaged and a row."""
    found, size = lookup.catalogue.shown()
    rows: list[tuple[Value, ...]] = []
    for damage, row, cell in robustness(lookup.catalogue):
        kind, share = next(iter(damage.items()), ("nothing", 0.0))
        figures = [
            lookup.measure([cell], level, "iou")
            for level in ("superpixels_all", "pixels_all", "pixels_frequent")
        ]
        energy = lookup.measure([cell], "energy")
        rows.append(
            (WORDS.get(kind, f"boxes {kind}" if damage else kind), share, row, *figures, energy)
        )
    columns = (
        "damage", "share or factor", "row", "IoU (sp)", "IoU (p)", "IoU (p), frequent classes",
        "mean energy",
    )  # fmt: skip
    note = (
        "Energy with all terms. Shares are of an image's boxes: mislabeled ones get a random other "
        "label, added ones are copies elsewhere with a random label. Policies were learned on "
        "undamaged images. Energies are of the damaged model each line is about."
    )
    title = f"Robustness: {found.name.upper()}, N = {size}"
    return Table(title, columns, tuple(rows), note)
