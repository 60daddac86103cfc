"""The paper's own figures, to stand beside ours: Tables 2, 3 and 4."""

from __future__ import annotations

from policrf.bench.reproduce.presets import TERMS

LEARNED = ("DQN R1", "MCTS R1", "DQN R2", "MCTS R2")
SOLVERS = ("BP", "TBP", "DD", "L-Flip", "α-Exp")
_COLUMNS = (
    ("BP", *LEARNED), (*SOLVERS, *LEARNED), (*SOLVERS, *LEARNED), LEARNED,
)  # fmt: skip
# Data set and number of superpixels -> IoU (sp), then IoU (p); first the supervised baseline, then
# the columns of U, U+P, U+P+HOP1 and U+P+HOP1+HOP2.
_TABLE_2 = {
    ("voc", 50): (
        (85.21, 88.59, 88.04, 88.19, 88.59, 88.59, 88.73, 88.73, 88.73, 88.73, 88.72, 43.31, 66.51,
         87.91, 88.73, 89.26, 89.27, 89.27, 89.27, 88.58, 57.43, 73.37, 89.55, 89.66, 58.34, 73.85,
         90.05, 90.09),
        (69.05, 72.56, 70.77, 71.99, 72.56, 72.56, 72.43, 72.43, 72.43, 72.43, 72.43, 38.54, 38.75,
         72.16, 72.43, 72.59, 72.59, 72.59, 72.60, 72.35, 51.88, 53.71, 72.83, 72.85, 50.53, 51.71,
         72.94, 72.95),
    ),
    ("voc", 250): (
        (83.54, 88.01, 87.29, 88.01, 88.01, 88.01, 88.10, 88.10, 88.10, 88.10, 88.10, 88.06, 88.22,
         88.56, 88.52, 88.54, 88.53, 88.55, 88.54, 88.07, 60.60, 64.82, 88.94, 88.91, 82.19, 81.89,
         89.30, 89.57),
        (75.88, 80.64, 80.47, 80.64, 80.64, 80.64, 80.68, 80.68, 80.68, 80.68, 80.68, 80.54, 80.86,
         80.84, 80.75, 80.91, 80.91, 80.93, 80.91, 80.65, 57.36, 59.73, 81.07, 81.05, 74.94, 74.77,
         81.23, 81.33),
    ),
    ("voc", 500): (
        (84.91, 87.39, 87.34, 87.39, 87.39, 87.39, 87.55, 87.55, 87.56, 87.55, 87.55, 82.23, 83.67,
         87.80, 87.84, 87.95, 87.96, 87.96, 87.95, 87.54, 37.80, 57.66, 88.73, 88.69, 43.99, 45.67,
         88.43, 88.21),
        (77.93, 82.35, 82.20, 82.35, 82.35, 82.35, 82.48, 82.48, 82.48, 82.47, 82.47, 77.36, 79.14,
         82.64, 82.70, 82.72, 82.72, 82.72, 82.71, 82.47, 36.65, 52.73, 83.05, 82.95, 41.74, 42.44,
         82.79, 82.67),
    ),
    ("mots", 2000): (
        (82.49, 82.64, 80.98, 82.64, 82.64, 82.64, 82.64, 82.64, 82.64, 82.64, 82.64, 80.39, 82.64,
         82.65, 82.64, 83.17, 83.17, 83.17, 83.17, 83.16, 83.14, 83.30, 83.27, 83.28, 83.13, 83.19,
         83.29, 83.29),
        (79.01, 79.23, 73.85, 79.82, 79.85, 79.85, 79.86, 79.86, 79.86, 79.86, 79.86, 78.08, 78.85,
         79.88, 79.86, 81.21, 81.21, 81.21, 81.21, 81.17, 80.61, 81.92, 82.68, 82.69, 80.61, 80.63,
         82.77, 82.77),
    ),
}  # fmt: skip


def table_2(data_set: str, size: int, terms: str, row: str) -> tuple[float, float] | None:
    """IoU (sp) and IoU (p) of a cell of the paper's Table 2; None where it has none.

    >>> table_2("voc", 50, "u+p+hop1+hop2", "DQN R2")
    (90.05, 72.94)
    """
    levels = _TABLE_2.get((data_set, size))
    if levels is None:
        return None
    columns = [("", "supervised")]
    for kind, names in zip(TERMS, _COLUMNS, strict=True):
        columns += [(kind, name) for name in names]
    place = ("", row) if row == "supervised" else (terms, row)
    if place not in columns:
        return None
    at = columns.index(place)
    return levels[0][at], levels[1][at]


# Data set, used at, learner -> IoU (sp), IoU (p); learned at 250 (VOC) and at 2,000 (MOTS).
_TABLE_3 = {
    ("voc", 500, "DQN"): (88.74, 83.06), ("voc", 500, "MCTS"): (88.73, 83.01),
    ("voc", 1000, "DQN"): (87.58, 83.71), ("voc", 1000, "MCTS"): (87.61, 83.73),
    ("voc", 2000, "DQN"): (86.36, 83.74), ("voc", 2000, "MCTS"): (86.39, 83.78),
    ("voc", 10_000, "DQN"): (84.66, 83.80), ("voc", 10_000, "MCTS"): (84.67, 83.82),
    ("mots", 5000, "DQN"): (79.81, 83.49), ("mots", 5000, "MCTS"): (79.80, 83.46),
    ("mots", 10_000, "DQN"): (76.73, 84.69), ("mots", 10_000, "MCTS"): (76.69, 84.63),
}  # fmt: skip
NET_PIXELS = {"voc": 82.61, "mots": 84.98}  # PSPNet, TrackR-CNN


def table_3(data_set: str, size: int, row: str) -> tuple[float, float] | None:
    """IoU (sp) and IoU (p) of a cell of the paper's Table 3; None where it has none."""
    if row == "net" and data_set in NET_PIXELS:
        return float("nan"), NET_PIXELS[data_set]
    return _TABLE_3.get((data_set, size, row.split()[0])) if row.endswith("R2") else None


SIZES = (50, 250, 500, 1000, 2000, 10_000)
# Seconds on the authors' machine (policies on a GPU), by energy and number of nodes.
TABLE_4 = {
    "u+p": {
        "BP": (0.14, 1.56, 3.26, 6.63, 12.3, 72.8),
        "TBP": (0.52, 2.13, 4.76, 9.65, 19.9, 130.9),
        "DD": (0.28, 1.26, 2.82, 6.84, 14.8, 143.7),
        "L-Flip": (0.12, 0.53, 1.07, 1.80, 3.57, 22.6),
        "α-Exp": (0.01, 0.04, 0.12, 0.30, 0.70, 4.81),
        "DQN": (0.04, 0.22, 0.52, 0.78, 1.70, 8.23),
        "MCTS": (0.20, 2.22, 7.27, 18.5, 38.3, 202.1),
    },
    "u+p+hop1": {
        "BP": (0.15, 1.70, 3.37, 7.22, 12.7, 88.7),
        "TBP": (0.62, 2.77, 5.37, 10.4, 23.9, 140.1),
        "DD": (0.31, 1.65, 3.70, 7.47, 15.1, 106.9),
        "L-Flip": (0.187, 0.59, 0.97, 2.25, 4.47, 23.5),
        "α-Exp": (0.01, 0.07, 0.22, 0.36, 0.72, 4.72),
        "DQN": (0.04, 0.22, 0.53, 0.78, 1.70, 8.25),
        "MCTS": (0.23, 2.89, 9.17, 21.6, 43.2, 209.7),
    },
    "u+p+hop1+hop2": {
        "DQN": (0.04, 0.22, 0.52, 0.78, 1.72, 8.20),
        "MCTS": (0.24, 3.01, 9.69, 22.8, 46.2, 210.3),
    },
}


def table_4(size: int, terms: str, row: str) -> float | None:
    """Seconds of a cell of the paper's Table 4; None where it has none.

    >>> table_4(10_000, "u+p", "α-Exp")
    4.81
    """
    known = TABLE_4.get(terms, {}).get(row)
    return known[SIZES.index(size)] if known and size in SIZES else None
