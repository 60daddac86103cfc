"""What calibrating gives: the chosen energy, and everything that was tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policrf.errors import InvalidFile
from policrf.vision.calibration.choice import Estimate, Scored
from policrf.vision.calibration.options import CalibrateOptions
from policrf.vision.calibration.stages import Terms
from policrf.vision.energy.weights import Energy


@dataclass(frozen=True)
class Trial:
    """One setting with its score on the images that it has seen."""

    stage: str
    energy: Energy
    images: int
    """All of them, unless it was clearly worse and stopped early."""
    score: float
    """What is maximised: mean pixel IoU over the classes that count."""
    error: float
    """Standard error of the score."""
    difference: float
    """To the net alone on the same images."""
    difference_error: float
    """Its standard error, paired by image."""
    iou: float
    """Mean pixel IoU over all classes that occur."""


@dataclass(frozen=True)
class Profile:
    """Scores along one weight, the others as chosen."""

    weight: str
    values: tuple[float, ...]
    trials: tuple[Trial, ...]
    chosen: float


@dataclass(frozen=True)
class Calibration:
    """The chosen energy, and everything that was tried."""

    energy: Energy
    terms: Terms
    """The terms that it has; () is the net alone."""
    chosen: Trial
    net: Trial
    """The net alone."""
    folds: Estimate
    """What the rule gives on images that it does not choose on."""
    kinds: dict[str, Energy]
    """The choice among the energies of every kind: u, u+p, u+p+hop1, u+p+hop1+hop2. A term that
    does not help is there all the same; `estimates` shows it."""
    estimates: dict[Terms, Estimate]
    """What the rule gives on images it does not choose on, with the first terms allowed."""
    trials: tuple[Trial, ...]
    scored: Scored = field(compare=False, repr=False)
    """The settings that were scored on all images, with their counts."""
    profiles: tuple[Profile, ...]
    classes: tuple[str, ...]
    """The labels that the score is a mean over."""
    images: int
    about: dict[str, Any]
    """What was prepared: folder, data set, superpixels, digest of the recipe."""
    options: CalibrateOptions
    warnings: tuple[str, ...] = field(default_factory=tuple)

    def stages(self) -> list[str]:
        """The stages in order."""
        return list(dict.fromkeys(trial.stage for trial in self.trials))

    def verdict(self) -> str:
        """The choice in a sentence."""
        from policrf.vision.calibration.report import verdict

        return verdict(self)

    def markdown(self) -> str:
        """The kinds, and the best five settings of every stage, as Markdown tables."""
        from policrf.vision.calibration.report import calibration_markdown

        return calibration_markdown(self)

    def save(self, path: str | Path) -> list[Path]:
        """Write the energy and, beside it, .KIND.yaml for each kind, .csv, .md and .png."""
        from policrf.vision.calibration.report import write_calibration

        target = Path(path)
        if not target.parent.is_dir():
            raise InvalidFile(f"{target}: the folder {target.parent} does not exist")
        return write_calibration(self, target)
