"""How long cells take: by what they do, and by what others of their kind took in this folder.

The constants are of one core of 2020; a work folder that holds finished cells corrects them by the
middle ratio of what those took to what was expected of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from statistics import median

from policrf.bench.reproduce.cells import KINDS, Cell
from policrf.bench.reproduce.store import RESULT, Store
from policrf.crf.io.json_text import read_json
from policrf.errors import InvalidFile

IMAGES = {"voc": {"train": 1464, "val": 1449}, "mots": {"train": 5027, "val": 2981}}
LABELS = {"voc": 21, "mots": 3, "scenes": 5, "drawn": 21}
# Seconds a node of one solve, by the beginning of the row's text.
A_NODE = {
    "unary": 1e-6, "net": 1e-6, "oracle": 1e-6, "icm": 2e-6, "highest": 5e-6, "untrained": 1e-5,
    "alpha": 2e-5, "refine": 1e-4, "belief": 5e-4, "tree": 2e-3, "dual": 2e-3, "lazy": 2e-4,
    "exact": 4e-3,
}  # fmt: skip


class Estimates:
    """Seconds of cells that have not been run."""

    def __init__(self, store: Store, images: Mapping[tuple[str, str], int] | None = None) -> None:
        self.store = store
        self.images = dict(images or {})

    def seconds(self, cell: Cell) -> float:
        """What it is expected to take, in one process."""
        return self._ratios.get(family(cell), 1.0) * self.work(cell)

    def work(self, cell: Cell) -> float:
        """The same before it is corrected."""
        about = cell.about
        if cell.kind == "prepare":
            return float(self._count(cell) * (0.3 + 3e-4 * about["size"]))
        if cell.kind == "calibrate":
            data = cell.needs["data"]
            images = min(about["images"], self._count(data))
            return float(images * 150 * 2e-5 * data.about["size"])
        if cell.kind == "train":
            return self._training(cell)
        if cell.kind == "score":
            return self._scoring(cell)
        if cell.kind == "time":
            return float(10.0 + len(about["rows"]) * about["images"] * about["size"] * 2e-3)
        return 20.0

    def _training(self, cell: Cell) -> float:
        about, drawn = cell.about, "scenes" in cell.about
        data = {**about, "dataset": "drawn"} if drawn else cell.needs["data"].about
        nodes, images = data["size"], data["images"] if drawn else self._count(cell.needs["data"])
        options, graphs = about["options"], images * (about["epochs"] or 0)
        if about["rounds"]:
            graphs = about["rounds"] * options.get("episodes", 4)
        steps = graphs * options.get("updates", 64) / options.get("episodes", 4) * 4e-3
        if about["method"] != "mcts":
            return float(steps + graphs * nodes * 3e-5)
        repeats, actions = options.get("repeats", 1), nodes * LABELS[data["dataset"]]
        state = 2e-8 * actions if not options.get("candidates", 6) else 2e-5
        states = nodes * options.get("simulations", 20) * max(1, options.get("depth", 4) - 1)
        return float(graphs * repeats * states * state + 10 * steps)

    def _scoring(self, cell: Cell) -> float:
        about, data = cell.about, cell.needs["data"]
        images = min(about["images"] or 10**9, self._count(data))
        row, size = str(about["row"]), data.about["size"]
        each = next((s for name, s in A_NODE.items() if row.startswith(name)), 1e-5)
        if "candidates=0" in row:
            each = 2e-8 * size * LABELS[data.about["dataset"]] * 60
        elif "search=" in row:
            each = 2e-4
        return float(images * (0.004 + size * each))

    def _count(self, cell: Cell) -> int:
        """Images of a prepared cell."""
        about = cell.about
        result = self.store.result(cell)
        if result is not None:
            return int(result["images"])
        if "scenes" in about:
            return int(about["scenes"][about["split"] != "train"])
        place = about["dataset"], about["split"]
        known = self.images.get(place, IMAGES[place[0]][place[1]])
        return min(known, about["images"] or known)

    @cached_property
    def _ratios(self) -> dict[str, float]:
        """Middle ratios of what finished cells took to what was expected."""
        found: dict[str, list[float]] = defaultdict(list)
        for path in sorted(self.store.root.glob(f"*/{RESULT}")):
            try:
                entry = read_json(path)
                kind, expected = entry["kind"], entry.get("expected")
                if kind in KINDS and expected:
                    found[entry["family"]].append(entry["seconds"] / expected)
            except (InvalidFile, KeyError, TypeError):
                continue
        return {name: median(ratios) for name, ratios in found.items()}


def family(cell: Cell) -> str:
    """Cells that are expected to be off by the same factor."""
    detail = cell.about.get("method") or str(cell.about.get("row", ""))[:5]
    return f"{cell.kind} {detail}".strip()
