"""PixelStage: the weights with which pixels near the boundaries are decided again."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from policrf.errors import InvalidOption


@dataclass(frozen=True)
class PixelStage:
    """Which pixels are decided again, and by what; all weights are in nats a pixel.

    The cost of label l at pixel p, for the labels that the solution has:

        −log probability_l(p) − votes · V_l(p) − ratio · log(D_l(p) + floor)

    V_l is the share of label l among the superpixels around p, by position, colour and size; D_l
    says how common the pixel's colour is within label l around p (`around.py`). Neighbouring pixels
    with different labels cost grid · exp(−‖ΔLab‖² / 2 contrast²).
    """

    width: float = 8.0
    """Pixels closer than this to a boundary of the solution are decided again."""
    votes: float = 2.0
    """What the votes of all superpixels around a pixel are worth together."""
    ratio: float = 1.0
    """What the log of the share of a label's pixels with the pixel's colour is worth."""
    reach: float = 67.0
    """Superpixels farther away have no say, in pixels; also the width of their Gaussian weight."""
    sharp: float = 2.0
    """Width in Lab of what counts as the same colour in votes; in shares it is 4 times as wide."""
    floor: float = 0.01
    """Smallest share of a label's pixels with the pixel's colour."""
    grid: float = 10.0
    """What a boundary between two pixels of the same colour costs."""
    contrast: float = 5.0
    """Difference in Lab at which such a boundary is cheap."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value):
                raise InvalidOption(f"pixels: {field.name} is {value!r}, not a finite number")
            object.__setattr__(self, field.name, float(value))
        for name in ("reach", "sharp", "floor", "contrast"):
            if not getattr(self, name) > 0:
                raise InvalidOption(f"pixels: {name} is {getattr(self, name):g}; give it above 0")
        for name in ("width", "votes", "ratio", "grid"):
            if getattr(self, name) < 0:
                raise InvalidOption(f"pixels: {name} is {getattr(self, name):g}; give 0 or more")

    def scaled(self, strength: float) -> PixelStage:
        """The same with everything but the net's scores weighed by a factor."""
        weights = {name: strength * getattr(self, name) for name in ("votes", "ratio", "grid")}
        return replace(self, **weights)
