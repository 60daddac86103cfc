"""Pictures side by side: labels laid over images, maps of values, one legend of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policrf.optional import need
from policrf.plots.colours import label_colours, overlay
from policrf.plots.figures import save_figure
from policrf.types import FloatArray, IntArray, LabelMap, Pixels
from policrf.vision.superpixels.project import enlarged

INCHES = 1.6  # width of a panel: six of them are a text's width
PHOTO_DPI = 150  # what photos need in print
VALUES = "viridis"  # perceptually uniform, and readable in grey


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture."""

    title: str
    image: Pixels
    labels: LabelMap | None = None
    """Laid over the image."""
    values: FloatArray | None = None
    """A map instead of the image; NaN is white."""
    text: str = ""
    """Below the picture."""


def picture_grid(
    path: Path, rows: Sequence[Sequence[Panel]], label_names: Sequence[str], *, bar: str = ""
) -> None:
    """Rows of panels; `bar` names the values of a colour bar, if panels show any."""
    figure_module = need("matplotlib.figure", "matplotlib")
    shapes = [panels[0].image.shape for panels in rows]
    heights = [INCHES * height / width + 0.42 for height, width, _ in shapes]
    columns = max(map(len, rows))
    figure = figure_module.Figure(
        figsize=(INCHES * columns, sum(heights) + 0.4), layout="constrained"
    )
    axes = figure.subplots(len(rows), columns, squeeze=False, height_ratios=heights)
    maps = [panel.values for panels in rows for panel in panels if panel.values is not None]
    span = (min(map(np.nanmin, maps)), max(map(np.nanmax, maps))) if maps else (0.0, 1.0)
    shown = None
    for line, panels in zip(axes, rows, strict=True):
        for axis in line:
            axis.set_axis_off()
        for axis, panel in zip(line, panels, strict=False):
            shown = _draw(axis, panel, span) or shown
    if bar and shown is not None:
        beside = figure.colorbar(shown, ax=axes, shrink=0.8, aspect=30)
        beside.set_label(bar, fontsize=8)
        beside.ax.tick_params(labelsize=7)
    _legend(figure, rows, label_names)
    save_figure(figure, path, dpi=PHOTO_DPI)


def _draw(axis: Any, panel: Panel, span: tuple[float, float]) -> Any:
    axis.set_title(panel.title, fontsize=8)
    if panel.text:
        axis.text(0.5, -0.03, panel.text, fontsize=7, ha="center", va="top",
                  transform=axis.transAxes)  # fmt: skip
    if panel.values is not None:
        colours = need("matplotlib", "matplotlib").colormaps[VALUES].with_extremes(bad="white")
        values = np.ma.masked_invalid(panel.values)
        return axis.imshow(values, cmap=colours, vmin=span[0], vmax=span[1])
    pixels = panel.image
    if panel.labels is not None:
        pixels = overlay(pixels, np.maximum(panel.labels, 0), 0.7)
    axis.imshow(pixels)
    return None


def _legend(figure: Any, rows: Sequence[Sequence[Panel]], label_names: Sequence[str]) -> None:
    used: set[int] = set()
    for panels in rows:
        for panel in panels:
            if panel.labels is not None:
                used |= set(np.unique(panel.labels).tolist())
    classes = sorted(label for label in used if label > 0)
    if not classes:
        return
    patch = need("matplotlib.patches", "matplotlib").Patch
    colours = label_colours(256) / 255
    handles = [patch(color=colours[label], label=label_names[label]) for label in classes]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(8, len(classes)),
                  fontsize=7, frameon=False)  # fmt: skip


def over_pixels(labels: IntArray | FloatArray, segments: LabelMap) -> Any:
    """A value of every superpixel at every pixel."""
    return np.asarray(labels)[segments]


def truth_at(truth: LabelMap | None, shape: tuple[int, ...]) -> LabelMap | None:
    """The truth at the working size."""
    return None if truth is None else np.asarray(enlarged(truth, shape[:2]))
