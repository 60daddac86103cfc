"""Training curves with their spread over seeds, and figures against damage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.train_job import read_log
from policrf.bench.reproduce.store import Store
from policrf.optional import need
from policrf.plots.figures import PRINT_DPI, save_figure

WIDE = 10  # times the least value is the most of a linear scale
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
        axis.tick_params(which="both", labelsize=7)
        axis.grid(alpha=0.3)
    _set_scale(axes[0], [line["energy"] for logs in rows.values() for log in logs for line in log])
    axes[0].legend(fontsize=7, frameon=False)
    name = f"{cell.about['figure']}.png"
    save_figure(figure, store.folder(cell) / name, dpi=PRINT_DPI)
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
    """Pixel IoU and energy of every row as boxes are damaged and weights mis-set."""
    lines = [
        (damage, row, *_measured(store.result(cell.needs[f"score {k}"])))
        for k, (damage, row) in enumerate(cell.about["lines"])
    ]
    kinds = list(dict.fromkeys(kind for damage, *_ in lines for kind in damage))
    rows = list(dict.fromkeys(row for _, row, *_ in lines))
    figure_module = need("matplotlib.figure", "matplotlib")
    figure = figure_module.Figure(figsize=(1.8 * len(kinds), 4.2), layout="constrained")
    axes = figure.subplots(2, len(kinds), sharey="row", sharex="col", squeeze=False)
    for column, kind in zip(axes.T, kinds, strict=True):
        whole = 1.0 if kind == "weights" else 0.0
        for k, row in enumerate(rows):
            of_row = [line for line in lines if line[1] == row and set(line[0]) <= {kind}]
            points = sorted((line[0].get(kind, whole), *line[2:]) for line in of_row)
            _points(column, points, row, k)
        if kind == "weights":
            column[0].set_xscale("log", base=2)
        column[1].set_xlabel("factor" if kind == "weights" else "share of boxes", fontsize=8)
        column[0].set_title("all weights" if kind == "weights" else f"boxes {kind}", fontsize=8)
    for axis, title in zip(axes[:, 0], ("IoU (p), frequent, %", "mean energy"), strict=True):
        axis.set_ylabel(title, fontsize=8)
    _set_scale(axes[1, 0], [energy for *_, energy in lines])
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    save_figure(figure, store.folder(cell) / "robustness.png", dpi=PRINT_DPI)
    shows = (
        "Pixel IoU over the frequent classes and mean energy of the damaged model as boxes are "
        "mislabeled, dropped or added, and as all weights beside the unaries are mis-set"
    )
    return {"files": ["robustness.png"], "shows": shows}


def _set_scale(axis: Any, values: Sequence[float]) -> None:
    """Logarithmic where values have a wide range."""
    if min(values) > 0 and max(values) > WIDE * min(values):
        axis.set_yscale("log")


def _measured(result: dict[str, Any]) -> tuple[float, float]:
    """IoU in percent and mean energy; IoU over all classes where none is frequent."""
    iou = result.get("pixels_frequent", result["pixels_all"])["iou"]
    return 100 * float(iou), float(result["energy"])


def _points(column: Any, points: Sequence[tuple[float, float, float]], row: str, k: int) -> None:
    """A row's line in the panel of IoU and in that of energy; lines that coincide stay visible."""
    shares, ious, energies = zip(*points, strict=True)
    for axis, values in zip(column, (ious, energies), strict=True):
        axis.plot(
            shares, values, marker="os^vDPX"[k % 7], markersize=3.5, lw=1,
            ls=("-", "--", ":")[k % 3], alpha=0.8, label=row,
        )  # fmt: skip
        axis.tick_params(which="both", labelsize=7)
        axis.grid(alpha=0.3)
