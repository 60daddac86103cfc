"""The demo's page: three parts, each with the lines of Python that made it. One file, no links."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np

from policrf.bench.story.denoising import LEVELS, Denoised, denoise
from policrf.bench.story.photo import NAMES, Segmented, segment
from policrf.bench.story.potential import PotentialStory
from policrf.evaluation.tables import Table, format_value
from policrf.explore.page import write_page
from policrf.explore.payload import packed
from policrf.plots.png import data_url
from policrf.types import Pixels


def write_story_page(
    path: Path, grid: Denoised, potential: PotentialStory | None, photo: Segmented | None
) -> None:
    """Write the page; parts that could not be had are left out.

    Parameters
    ----------
    path
        Of the page.
    grid, potential, photo
        The parts.
    """
    data = {
        "grid": _grid(grid),
        "potential": None if potential is None else _potential(potential),
        "photo": None if photo is None else _photo(photo),
    }
    write_page(path, "story", "policrf: three things it does", data)


def shown_source(function: Callable[..., Any]) -> str:
    """The lines of a function as a reader sees them, without decorators and docstring."""
    text = dedent(inspect.getsource(inspect.unwrap(function)))
    docstring = inspect.getdoc(function)
    lines = [line for line in text.splitlines() if not line.startswith("@")]
    if docstring is not None:
        lines = [line for line in lines if line.strip() != f'"""{docstring}"""']
    return "\n".join(line.replace("  # fmt: skip", "") for line in lines)


def _grid(part: Denoised) -> dict[str, Any]:
    solution = part.solution
    return {
        "width": part.truth.shape[1],
        "noisy": data_url(_grey(part.noisy)),
        "result": data_url(_grey(part.labels)),
        "truth": data_url(_grey(part.truth)),
        "nodes": part.truth.size,
        "energy": solution.energy,
        "bound": solution.lower_bound,
        "proven": solution.optimal,
        "seconds": solution.seconds,
        "wrong": [part.wrong_before, part.wrong_after],
        "code": shown_source(denoise),
    }


def _grey(levels: np.ndarray) -> Pixels:
    shades = np.clip(levels / (LEVELS - 1), 0, 1) * 215 + 20
    return np.repeat(shades.astype(np.uint8)[..., None], 3, axis=2)


def _potential(part: PotentialStory) -> dict[str, Any]:
    return {
        "code": shown_source(part.function),
        "wants": part.wants,
        "said": list(part.said),
        "table": _table(part.table),
        "side": part.side,
        "labels": part.n_labels,
        "plays": [
            {
                "name": play.name,
                "energy": play.energy,
                "seconds": play.seconds,
                "order": packed(play.order, "<u4"),
                "labels": packed(play.labels, "u1"),
            }
            for play in part.plays
        ],
    }


def _table(table: Table) -> dict[str, Any]:
    rows: list[Sequence[str]] = [[format_value(value) for value in row] for row in table.rows]
    return {"title": table.title, "columns": table.columns, "rows": rows, "note": table.note}


def _photo(part: Segmented) -> dict[str, Any]:
    answer, scene = part.segmentation, part.scene
    detections = scene.detections
    boxes = [
        {"box": [float(x) for x in box], "label": int(label), "confidence": float(confidence)}
        for box, label, confidence in zip(*detections, strict=True)
    ]
    void = len(NAMES)  # drawn as nothing
    return {
        "height": scene.image.shape[0],
        "width": scene.image.shape[1],
        "photo": data_url(scene.image),
        "net": packed(answer.net_labels, "u1"),
        "result": packed(answer.labels, "u1"),
        "truth": packed(np.where(scene.truth < 0, void, scene.truth), "u1"),
        "boxes": boxes,
        "names": list(NAMES),
        "ious": [list(pair) for pair in part.ious],
        "superpixels": answer.instance.crf.n_nodes,
        "seconds": answer.solution.seconds,
        "code": shown_source(segment),
    }
