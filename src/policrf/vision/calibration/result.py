"""What calibrating is asked for, and what it gives: CalibrateOptions, Grids, Trial, Calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.energy_weights import Energy, Gate

Score = Literal["all", "frequent"]
GATES: tuple[Gate, ...] = ("below", "above", "contrast")


@dataclass(frozen=True)
class CalibrateOptions:
    """How the weights are chosen; `calibrate` and its command take these."""

    solver: str = "alpha_expansion"
    """A solver or policy (a name or a file), with options as NAME:option=value,…"""
    gates: tuple[Gate, ...] = GATES
    """Which forms of the pairwise term to try."""
    images: int | None = None
    """Use only this many images, drawn by the seed."""
    score: Score = "frequent"
    """Mean IoU over all classes, or over those that occur in at least ten of the images."""
    seed: int = 0
    """Seed of the draw and of the solver."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gates", tuple(self.gates))
        for gate in self.gates:
            if gate not in GATES:
                raise InvalidOption(f"gate {gate!r}: there are {', '.join(GATES)}")
        if self.score not in ("all", "frequent"):
            raise InvalidOption(f"score {self.score!r}: it is all or frequent")

    def passes(self) -> int:
        """How many passes over the images `calibrate` makes, or one or two more than it does."""
        return len(self.gates) + 4


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
    w: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
    w_support: tuple[float, ...] = (0.4,)
    """Values of w that are tried beside the chosen one when HOP2 joins."""
    lambda_: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    C: tuple[float, ...] = (1.5, 2.0, 3.0)
    support: tuple[str, ...] = ("special", "all")
    temperature: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Trial:
    """One setting and its score."""

    stage: str
    energy: Energy
    potentials: str
    iou: float
    """Mean pixel IoU over all classes that occur."""
    frequent: float
    """The same over the frequent ones."""

    def value(self, score: Score) -> float:
        """What is maximised."""
        return self.frequent if score == "frequent" else self.iou


@dataclass(frozen=True)
class Calibration:
    """The chosen energy, and everything that was tried."""

    energy: Energy
    kinds: dict[str, Energy]
    """The best energy of every kind: u, u+p, u+p+hop1, u+p+hop1+hop2. A term that lowers the score
    is there with the weight that harms least; `best` shows it."""
    trials: tuple[Trial, ...]
    baseline: float
    """Score of the unary argmax on the same images."""
    images: int
    prepared: str
    """Name of the prepared folder."""
    options: CalibrateOptions
    best: dict[str, float] = field(default_factory=dict)
    """The score of the best setting of every stage."""

    def value(self, trial: Trial) -> float:
        """What was maximised."""
        return trial.value(self.options.score)

    def stages(self) -> list[str]:
        """The stages that varied weights, in order."""
        return list(dict.fromkeys(t.stage for t in self.trials if t.stage != "unary"))

    def markdown(self) -> str:
        """The best five settings of every stage, as a Markdown table."""
        from policrf.vision.calibration.report import calibration_markdown

        return calibration_markdown(self)

    def save(self, path: str | Path) -> list[Path]:
        """Write the energy and, beside it, .KIND.yaml for each kind, .csv, .md and .png."""
        from policrf.vision.calibration.report import write_calibration

        target = Path(path)
        if not target.parent.is_dir():
            raise InvalidFile(f"{target}: the folder {target.parent} does not exist")
        return write_calibration(self, target)
