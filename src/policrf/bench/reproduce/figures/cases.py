"""Success and failure cases, and potentials added one by one; images are chosen by a rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.figures.answers import compared, image_ious
from policrf.bench.reproduce.figures.panels import picture_grid
from policrf.bench.reproduce.jobs.instances import instances_of
from policrf.bench.reproduce.presets import TERMS
from policrf.bench.reproduce.store import Store
from policrf.types import FloatArray

SHOWN = 3  # images of each kind
HEADS = ("U", "U+P", "U+P+HOP1", "all terms")


def draw_cases(cell: Cell, store: Store) -> dict[str, Any]:
    """The largest gains and the largest losses of the policy against the best solver."""
    rows = [role.removeprefix("score ") for role in cell.needs if role.startswith("score ")]
    solver = _best_solver(cell, store)
    best = cell.needs[f"solver {solver}"]
    gains = image_ious(store, cell.needs[f"score {rows[0]}"]) - image_ious(store, best)
    instances = instances_of(store, cell)
    columns: list[tuple[str, Cell | None]] = [("unary", None), (solver, best)]
    columns += [(row, cell.needs[f"score {row}"]) for row in rows]
    files = []
    for kind, order in (("success", np.argsort(-gains)), ("failure", np.argsort(gains))):
        chosen = [int(k) for k in order[:SHOWN]]
        grid = [compared(store, instances, k, columns) for k in chosen]
        name = f"{cell.about['figure']}-{kind}.png"
        picture_grid(store.folder(cell) / name, grid, instances.prepared.labels)
        files.append(name)
    shows = (
        f"The {SHOWN} images with the largest gain and the {SHOWN} with the largest loss of pixel "
        f"IoU of {rows[0]} against {solver}, the solver of the highest IoU on all images. Gains "
        f"{_told(gains, -1)}; losses {_told(gains, 1)}; {rows[0]} is ahead on "
        f"{int((gains > 0).sum())} of {len(gains)} images, behind on {int((gains < 0).sum())}"
    )
    return {"files": files, "shows": shows}


def _best_solver(cell: Cell, store: Store) -> str:
    solvers = [role.removeprefix("solver ") for role in cell.needs if role.startswith("solver ")]
    known = {row: store.result(cell.needs[f"solver {row}"]) for row in solvers}
    able = {row: result for row, result in known.items() if not result["failed"]}
    return max(able, key=lambda row: float(able[row]["pixels_all"]["iou"]))


def _told(gains: FloatArray, sign: int) -> str:
    order = np.argsort(sign * gains)[:SHOWN]
    return ", ".join(f"{gains[k]:+.1f}" for k in order)


def draw_potentials(cell: Cell, store: Store) -> dict[str, Any]:
    """The images that gain most from U to all terms under the policies of each energy."""
    scores = {terms: cell.needs[f"score {terms}"] for terms in TERMS}
    gains = image_ious(store, scores[TERMS[-1]]) - image_ious(store, scores[TERMS[0]])
    chosen = [int(k) for k in np.argsort(-gains)[:SHOWN]]
    instances = instances_of(store, cell)
    columns: list[tuple[str, Cell | None]] = [
        (head, scores[terms]) for head, terms in zip(HEADS, TERMS, strict=True)
    ]
    grid = [compared(store, instances, k, columns) for k in chosen]
    picture_grid(store.folder(cell) / "potentials.png", grid, instances.prepared.labels)
    shows = (
        f"Policies learned under each energy on the {SHOWN} images whose pixel IoU gains most from "
        f"U to all terms ({_told(gains, -1)}); over all images the mean gain of an image is "
        f"{gains.mean():+.2f}"
    )
    return {"files": ["potentials.png"], "shows": shows}
