"""The stage itself: a labeling of superpixels in, a label map with finer boundaries out.

Pixels near the boundaries of the solution get their label from the net's scores, from the
superpixels around them and from a 4-connected cut, among the labels that the solution has. All
other pixels keep the label of their superpixel.

Without the superpixels' votes such a cut loses: the net's scores are blurred over 16 pixels, and it
would throw away what the superpixels found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.crf.model import CRF
from policrf.crf.potentials import Potts
from policrf.crf.selection import parse_potentials
from policrf.solvers import solve
from policrf.types import BoolArray, Float32Array, FloatArray, IntArray, LabelMap
from policrf.vision.energy.weights import Energy
from policrf.vision.pixels.around import Around, Widths, look_around
from policrf.vision.pixels.distance import near_boundary
from policrf.vision.pixels.grid import Contrast, grid_of
from policrf.vision.pixels.maps import PixelMaps
from policrf.vision.pixels.options import PixelStage
from policrf.vision.unaries import SMALLEST

SOLVER = "alpha_expansion:orders=1"


class PixelProblem(NamedTuple):
    """The pixels that are decided again, as a CRF over the labels of the solution."""

    crf: CRF
    free: BoolArray
    """Which pixels its nodes are, row by row, `[H, W]`."""
    present: IntArray
    """The solution's labels, which are the labels of the CRF, `[K]`."""


def stage_of(energy: Energy, potentials: str, solver: str) -> PixelStage | None:
    """The stage that follows a solver under an energy, None for none: the one rule for that.

    An energy without edges, or the solver "unary", is the net alone, and stays it.

    Parameters
    ----------
    energy
        Its weight `pixels` is the strength of the stage.
    potentials
        Which terms of the energy take part, joined by +.
    solver
        As `Solution.solver` names it.
    """
    has_edges = energy.alpha > 0 or energy.long_range > 0
    if energy.pixels == 0 or not has_edges or solver == "unary":
        return None
    return PixelStage().scaled(energy.pixels) if Potts in parse_potentials(potentials) else None


def refined_labels(view: PixelMaps, labels: IntArray, stage: PixelStage) -> LabelMap:
    """The label of every pixel at the working size, `[H, W]`.

    Parameters
    ----------
    view
        The image.
    labels
        A label for every superpixel, `[N]`.
    stage
        Which pixels are decided again, and by what.
    """
    out = np.asarray(labels, np.int32)[view.segments]
    problem = pixel_problem(view, labels, stage)
    if problem is not None:
        found = solve(problem.crf, SOLVER).labels
        out[problem.free] = problem.present[found]
    return out


def pixel_problem(view: PixelMaps, labels: IntArray, stage: PixelStage) -> PixelProblem | None:
    """What there is to decide; None where nothing is, such as for one label everywhere."""
    present, index = np.unique(labels, return_inverse=True)
    coarse = index.astype(np.int32)[view.segments]
    if len(present) == 1 or stage.width == 0:
        return None
    free = near_boundary(coarse, stage.width)
    number = np.full(free.shape, -1, np.int32)
    number[free] = np.arange(np.count_nonzero(free), dtype=np.int32)
    grid = grid_of(number, view.lab, coarse, len(present), Contrast(stage.grid, stage.contrast))
    costs = grid.paid - _log_probabilities(view.distribution, present, free)
    if stage.votes > 0 or stage.ratio > 0:
        votes, ratio = look_around(
            number, view.lab, around(view, index.astype(np.int32)),
            Widths(stage.reach, stage.sharp, stage.floor), len(present),
        )  # fmt: skip
        costs -= stage.votes * votes + stage.ratio * ratio
    kept = grid.weights > 0
    crf = CRF(costs, Potts(grid.pairs[kept], grid.weights[kept]))
    return PixelProblem(crf, free, present)


def around(view: PixelMaps, labels: NDArray[np.int32]) -> Around:
    """The superpixels of a view with their labels `[N]`."""
    record = view.record
    return Around(
        position=record.position * np.asarray(view.segments.shape, np.float32),
        colour=record.colour,
        size=record.pixels.astype(np.float32),
        label=labels,
    )


def _log_probabilities(distribution: Float32Array, labels: IntArray, free: BoolArray) -> FloatArray:
    """Of some labels at some pixels, `[P, K]`."""
    chosen = np.stack([distribution[label][free] for label in labels], axis=1)
    return np.asarray(np.log(np.maximum(chosen, SMALLEST)), np.float64)
