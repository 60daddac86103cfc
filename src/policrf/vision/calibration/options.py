"""What calibrating is asked for: CalibrateOptions, and Grids, the values that are tried."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from policrf.errors import InvalidOption
from policrf.random_numbers import checked_seed
from policrf.vision.energy.weights import Gate

Score = Literal["all", "frequent"]
Form = Literal["all", "paper"]
GATES: tuple[Gate, ...] = ("below", "above", "contrast")


@dataclass(frozen=True)
class CalibrateOptions:
    """How the weights are chosen; `calibrate` and its command take these."""

    solver: str = "alpha_expansion"
    """A solver or policy (a name or a file), with options as NAME:option=value,…"""
    gates: tuple[Gate, ...] = GATES
    """Which forms of the pairwise term to try."""
    images: int | None = None
    """Use only this many images, drawn by the seed; all without it."""
    folds: int = 5
    """Parts of the images; what is chosen on the others is judged on each."""
    score: Score = "frequent"
    """Mean IoU over all classes, or over those that occur in at least ten of the images."""
    force: bool = False
    """Choose although fewer than two classes are frequent; the score is then over all classes."""
    seed: int = 0
    """Seed of the draw, of the folds and of the solver."""
    form: Form = "all"
    """paper: only what the paper's energy can be: hard gates on g_i · g_j, mean distributions, the
    same λ for every special box, no long-range edges, band or pixel stage."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gates", tuple(self.gates))
        if not self.gates:
            raise InvalidOption(f"gates: give at least one of {', '.join(GATES)}")
        for gate in self.gates:
            if gate not in GATES:
                raise InvalidOption(f"gate {gate!r}: there are {', '.join(GATES)}")
        if self.form not in get_args(Form):
            raise InvalidOption(f"form {self.form!r}: it is all or paper")
        if self.form == "paper" and set(self.gates) == {"contrast"}:
            raise InvalidOption("form paper: the contrast gate is none of the paper's gates")
        if self.score not in ("all", "frequent"):
            raise InvalidOption(f"score {self.score!r}: it is all or frequent")
        if self.images is not None and self.images < 1:
            raise InvalidOption(f"images is {self.images}; calibration needs at least one")
        checked_seed(self.seed)
        if self.folds < 2:
            raise InvalidOption(f"folds is {self.folds}; it must be at least 2")


@dataclass(frozen=True)
class Grids:
    """The values that are tried."""

    alpha: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    """For the hard gates."""
    alpha_contrast: tuple[float, ...] = (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4)
    """For the contrast gate, per pixel of border."""
    beta: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)
    """Quantiles of |g_i · g_j| over the training edges."""
    sigma_colour: tuple[float, ...] = (5.0, 10.0, 20.0, math.inf)
    sigma_feature: tuple[float, ...] = (0.5, 2.0, math.inf)
    """In units of the mean of 1 − g_i · g_j over the training edges."""
    alpha_pixels: tuple[float, ...] = (2.0, 4.0, 8.0, 16.0)
    """For the contrast gate where unaries are sums over pixels."""
    sigma_colour_pixels: tuple[float, ...] = (3.0, 5.0, 10.0)
    """The widths in colour beside `alpha_pixels`."""
    long_range: tuple[float, ...] = (1.0, 2.0, 4.0)
    band: tuple[int, ...] = (0, 1, 2)
    """Rings; 0 is all superpixels."""
    w: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    w_support: tuple[float, ...] = (0.4,)
    """Values of w that are tried beside the chosen one when HOP2 joins."""
    lambda_: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    """Times confidence and number of nodes of a box."""
    lambda_fixed: tuple[float, ...] = (1.0, 4.0, 16.0, 64.0)
    """The same for every box, as in the paper."""
    C: tuple[float, ...] = (1.5, 2.0, 3.0)
    support: tuple[str, ...] = ("special", "all")
    pixels: tuple[float, ...] = (0.5, 1.0)
    """Strengths of the pixel stage."""
    alpha_stage: tuple[float, ...] = (4.0, 8.0, 16.0)
    """Where unaries are sums over pixels, tried together with the stage: stronger edges go with
    it."""
    long_range_stage: tuple[float, ...] = (1.0, 2.0, 4.0)
    """The same for the long-range edges."""
    temperature: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
