"""Figures for people: this folder is the one place that touches matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from policrf.crf.io.files import atomic_write
from policrf.errors import InvalidFile
from policrf.optional import need
from policrf.plots.colours import label_colours, overlay
from policrf.types import LabelMap, Pixels

PANELS = 4  # of a row of lines, at most
SCREEN_DPI, PRINT_DPI = 110, 200

if TYPE_CHECKING:
    from policrf.vision.record import Record


@dataclass(frozen=True, eq=False)
class SegmentedImage:
    """What a figure of one image shows."""

    image: Pixels
    segments: LabelMap
    """The superpixel of every pixel, `[H, W]`."""
    record: Record
    """Unaries and boxes."""
    members: Sequence[NDArray[np.int64]]
    """The superpixels of every box's foreground."""
    labels: LabelMap
    """The result, `[H, W]`."""
    label_names: Sequence[str]
    truth: LabelMap | None = None
    title: str = ""


def segmentation_figure(path: str | Path, shown: SegmentedImage) -> None:
    """Image, unaries, boxes with foreground, result and truth, side by side."""
    figure_module = need("matplotlib.figure", "matplotlib")
    panels = _panels(shown)
    height, width = shown.image.shape[:2]
    side = 4.2
    figure = figure_module.Figure(
        figsize=(side * len(panels), side * height / width + 0.9), layout="constrained"
    )
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (name, pixels) in zip(axes, panels, strict=True):
        axis.imshow(pixels)
        axis.set_title(name, fontsize=11)
        axis.set_axis_off()
    _draw_boxes(axes[2], shown.record, shown.label_names, height, width)
    labels = set(shown.record.distribution.argmax(axis=1).tolist()) | set(
        np.unique(shown.labels).tolist()
    )
    if shown.truth is not None:
        labels |= set(np.unique(shown.truth[shown.truth >= 0]).tolist())
    _legend(figure, sorted(labels - {0}), shown.label_names)
    if shown.title:
        figure.suptitle(shown.title, fontsize=10)
    save_figure(figure, path)


def _panels(shown: SegmentedImage) -> list[tuple[str, Pixels]]:
    image, segments = shown.image, shown.segments
    unary = shown.record.distribution.argmax(axis=1)
    boxes = _foreground(image, segments, shown.record, shown.members)
    panels = [
        ("image", image),
        ("unary argmax", overlay(image, unary[segments])),
        ("boxes and foreground", boxes),
        ("result", overlay(image, shown.labels)),
    ]
    if shown.truth is not None:
        panels.append(("truth", overlay(image, np.maximum(shown.truth, 0))))
    return panels


def _foreground(
    image: Pixels, segments: LabelMap, record: Record, members: Sequence[NDArray[np.int64]]
) -> Pixels:
    """Every box's superpixels in its label's colour, more confident boxes on top."""
    node_labels = np.zeros(record.n_nodes, np.int64)
    for b in np.argsort(record.box_scores, kind="stable"):
        if record.box_labels[b] > 0:
            node_labels[members[b]] = record.box_labels[b]
    return overlay(image, node_labels[segments], 0.4)


def _draw_boxes(
    axis: Any, record: Record, label_names: Sequence[str], height: int, width: int
) -> None:
    rectangle = need("matplotlib.patches", "matplotlib").Rectangle
    colours = label_colours(256) / 255
    for box, score, label in zip(record.boxes, record.box_scores, record.box_labels, strict=True):
        left, top, right, bottom = box * np.asarray([width, height] * 2)
        colour = colours[label] if label > 0 else (0.5, 0.5, 0.5)
        name = label_names[label] if label > 0 else "ridden"
        axis.add_patch(
            rectangle((left, top), right - left, bottom - top, fill=False, edgecolor=colour, lw=1.8)
        )
        axis.text(
            left + 3, top + 3, f"{name} {score:.2f}", fontsize=7, color="white", va="top",
            bbox={"facecolor": colour, "edgecolor": "none", "pad": 1},
        )  # fmt: skip


def _legend(figure: Any, labels: Sequence[int], label_names: Sequence[str]) -> None:
    if not labels:
        return
    patch = need("matplotlib.patches", "matplotlib").Patch
    colours = label_colours(256) / 255
    handles = [patch(color=colours[label], label=label_names[label]) for label in labels]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), 10),
        fontsize=9,
        frameon=False,
    )


@dataclass(frozen=True)
class Band:
    """One panel: a figure with its error over the values of one weight."""

    title: str
    x: Sequence[str]
    """The values as text, in order."""
    y: Sequence[float]
    error: Sequence[float]
    """Half the height of the band."""
    chosen: int
    """Which value was chosen."""


def band_figure(path: str | Path, panels: Sequence[Band], y_name: str, *, title: str = "") -> None:
    """Lines with bands side by side, the chosen value of each marked.

    Parameters
    ----------
    path
        Where the picture goes.
    panels
        From left to right.
    y_name
        What y is, with its unit.
    title
        Above all panels.
    """
    figure_module = need("matplotlib.figure", "matplotlib")
    figure = figure_module.Figure(figsize=(max(5.0, 3.6 * len(panels)), 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axis, panel in zip(axes, panels, strict=True):
        at, y, error = range(len(panel.x)), np.asarray(panel.y), np.asarray(panel.error)
        axis.fill_between(at, y - error, y + error, alpha=0.25, linewidth=0)
        axis.plot(at, y, marker="o")
        axis.axhline(0.0, color="0.5", linewidth=0.8)
        axis.plot([panel.chosen], [y[panel.chosen]], "s", color="C3", markersize=9, zorder=3)
        axis.set_xticks(at, panel.x, fontsize=8, rotation=45)
        axis.set_title(panel.title, fontsize=10)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(y_name, fontsize=9)
    if title:
        figure.suptitle(title, fontsize=10)
    save_figure(figure, path)


@dataclass(frozen=True)
class Lines:
    """One panel of lines, such as energies against time."""

    title: str
    lines: dict[str, tuple[Sequence[float], Sequence[float]]]
    """Name -> x and y of its points, in the order they are joined."""
    span: tuple[float, float] | None = None
    """Where the y axis begins and ends, if it does not hold all points."""


def line_figure(
    path: str | Path, panels: Sequence[Lines], x_name: str, y_name: str, *, title: str = ""
) -> None:
    """Lines over a logarithmic x, up to four panels a row, one legend; a name has one colour.

    Parameters
    ----------
    path
        Where the picture goes.
    panels
        From left to right, row by row.
    x_name
        What x is, with its unit.
    y_name
        What y is.
    title
        Above all panels.
    """
    figure_module = need("matplotlib.figure", "matplotlib")
    columns = min(len(panels), PANELS)
    rows = -(-len(panels) // columns)
    size = max(8.0, 4.4 * columns), 5.0 if rows == 1 else 3.4 * rows + 1.0
    figure = figure_module.Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    drawn: dict[str, Any] = {}
    for axis, panel in zip(axes.flat, panels, strict=False):
        for k, name in enumerate(names):
            if name in panel.lines:
                x, y = panel.lines[name]
                marker = "osD^vP*X"[k // 10 % 8]
                (drawn[name],) = axis.plot(x, y, marker=marker, color=f"C{k % 10}", label=name)
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter("")
        if panel.span is not None:
            axis.set_ylim(*panel.span)
        axis.set_title(panel.title, fontsize=10)
        axis.set_xlabel(x_name)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel(y_name)
    figure.legend(
        handles=[drawn[name] for name in names],
        loc="outside lower center",
        ncols=min(len(names), max(4, 2 * columns)) or 1,
        fontsize=8,
        frameon=False,
    )
    if title:
        figure.suptitle(title, fontsize=10)
    save_figure(figure, path)


def save_figure(figure: Any, path: str | Path, *, dpi: int = SCREEN_DPI) -> None:
    """Write a figure, whole or not at all; the ending says the format."""
    suffix = Path(path).suffix.lower() or ".png"
    try:
        with atomic_write(path) as file:
            figure.savefig(file, dpi=dpi, format=suffix[1:])
    except ValueError as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{path}: the figure cannot be written ({error})") from None
