"""Training curves with their spread over seeds, and figures against damage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.train_job import read_log
from policrf.bench.reproduce.store import Store
from policrf.optional import need
from policrf.plots.figures import save_figure

CURVES = {"energy": "mean energy", "iou": "IoU (sp), %"}


def draw_curves(cell: Cell, store: Store) -> dict[str, Any]:
    """Energy and IoU on held-out training images against rounds: mean, least and most of seeds."""
    rows: dict[str, list[list[dict[str, Any]]]] = {}
    for role, need_cell in cell.needs.items():
        if need_cell.kind == "train":
            rows.setdefault(role.split(" seed ")[0], []).append(read_log(store, need_cell))
    figure = need("matplotlib.figure", "matplotlib").Figure(figsize=(7, 2.8), layout="constrained")
    axes = figure.subplots(1, len(CURVES))
    for axis, (name, title) in zip(axes, CURVES.items(), strict=True):
        for k, (row, logs) in enumerate(rows.items()):
            _band(axis, logs, name, row, f"C{k}")
        axis.set_xlabel("rounds", fontsize=8)
        axis.set_ylabel(title, fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=7, frameon=False)
    name = f"{cell.about['figure']}.png"
    save_figure(figure, store.folder(cell) / name)
    told = "; ".join(f"{row}: {_last(logs)}" for row, logs in rows.items())
    shows = (
        "Mean energy and IoU on held-out training images while learning, bands from the least to "
        f"the most of the seeds. At the end {told}"
    )
    return {"files": [name], "shows": shows}


def _band(
    axis: Any, logs: Sequence[list[dict[str, Any]]], name: str, row: str, colour: str
) -> None:
    rounds = [line["round"] for line in logs[0]]
    values = np.asarray([[line.get(name, np.nan) for line in log] for log in logs])
    axis.plot(rounds, values.mean(axis=0), color=colour, label=row)
    axis.fill_between(
        rounds, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.25, lw=0
    )


def _last(logs: Sequence[list[dict[str, Any]]]) -> str:
    energies = [log[-1]["energy"] for log in logs]
    return f"energy {np.mean(energies):.4g} ± {np.std(energies):.2g} ({len(logs)})"


def draw_robustness(cell: Cell, store: Store) -> dict[str, Any]:
    """Pixel IoU of every row as boxes are damaged and weights mis-set."""
    lines = cell.about["lines"]
    points: dict[str, dict[str, list[tuple[float, float]]]] = {}
    clean: dict[str, float] = {}
    for k, (damage, row) in enumerate(lines):
        iou = 100 * float(store.result(cell.needs[f"score {k}"])["pixels_all"]["iou"])
        if not damage:
            clean[row] = iou
        for kind, share in damage.items():
            points.setdefault(kind, {}).setdefault(row, []).append((share, iou))
    figure_module = need("matplotlib.figure", "matplotlib")
    figure = figure_module.Figure(figsize=(2.3 * len(points), 2.7), layout="constrained")
    axes = figure.subplots(1, len(points), sharey=True, squeeze=False)[0]
    for axis, (kind, by_row) in zip(axes, points.items(), strict=True):
        for row, line in by_row.items():
            whole = (1.0 if kind == "weights" else 0.0, clean[row])
            x, y = zip(*sorted([whole, *line]), strict=True)
            axis.plot(x, y, marker="o", markersize=3, label=row)
        if kind == "weights":
            axis.set_xscale("log", base=2)
        axis.set_xlabel("factor" if kind == "weights" else "share of boxes", fontsize=8)
        axis.set_title("all weights" if kind == "weights" else f"boxes {kind}", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("IoU (p), %", fontsize=8)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    save_figure(figure, store.folder(cell) / "robustness.png")
    shows = "Pixel IoU as boxes are mislabeled, dropped or added, and as all weights are mis-set"
    return {"files": ["robustness.png"], "shows": shows}
