"""Energy: the weights that turn prepared quantities into a CRF (section "Energy Function").

f_ij  = α [y_i ≠ y_j] where the gate is open:   below  |g_i · g_j| < β   (the paper's literal form)
                                                above  |g_i · g_j| ≥ β   (similar superpixels agree)
contrast: α · border length · exp(−‖ΔLab‖² / 2σ_c² − (1 − g_i · g_j) / σ_g) [y_i ≠ y_j]
long range, on top: W · K_ij n_i n_j / √(D_i D_j) [y_i ≠ y_j], K_ij = exp(−‖Δposition‖² / 2 reach²
        − ‖ΔLab‖² / 2σ_f²), D_i = n_i + Σ_j K_ij n_j, n = pixels of a superpixel
f_i   = −log of the mean distribution, or (unary = pixels) −n_i · mean log-probability
HOP1  = w · c_b · min(#match, #mismatch)
HOP2  = λ_b [#{y_i = l} < |I_b| / C] with λ_b = λ c_b |I_b|, or λ for every box (the paper's)

With unary = pixels every weight is in nats a pixel, and so has the same meaning whatever the number
of superpixels: α of a pixel of border (with each gate), W, w and per_node λ of a pixel of area (a
box's w and λ c_b |I_b| are multiplied by the mean number of pixels of its nodes).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from policrf import limits
from policrf.crf.io.checksums import KEY, unsealed, value_digest
from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.yaml_file import read_mapping

Gate = Literal["below", "above", "contrast"]
Penalty = Literal["per_node", "fixed"]
Support = Literal["special", "all"]
Unary = Literal["mean", "pixels"]

_CHOICES = {
    "gate": get_args(Gate),
    "penalty": get_args(Penalty),
    "support": get_args(Support),
    "unary": get_args(Unary),
}
_COUNTS = ("band",)
COMPLETE = "complete"


@dataclass(frozen=True)
class Energy:
    """Every weight of the energy; what `policrf calibrate` chooses and `energy.yaml` holds.

    The defaults are a quarter of the weights that were best on VOC with two nets: above the
    net at every number of superpixels there.

    Parameters
    ----------
    gate
        Which edges are penalised: below or above the threshold, or all by contrast.
    alpha
        α of the pairwise term; per pixel of border with the contrast gate.
    beta
        β, the threshold of the hard gates on |g_i · g_j|.
    sigma_colour
        σ_c of the contrast gate, in units of Lab; .inf ignores colour.
    sigma_feature
        σ_g of the contrast gate; .inf ignores the hypercolumns.
    w
        w of HOP1.
    penalty
        HOP2's λ_b: per_node, λ c_b |I_b|, or fixed, the same λ for every box (the paper's).
    support
        HOP2 for the special boxes only (the paper's), or for all boxes with a label.
    lambda_
        λ of HOP2.
    C
        C of HOP2: at least |I_b| / C nodes should have the label.
    foreground
        A superpixel belongs to I_b if at least this share of its pixels is foreground.
    temperature
        Of the softmax over neighbours' g_i · g_j that gives a policy its edge weights.
    floor
        Smallest probability; the unary of a node (with unary = pixels: a pixel's share of it) is at
        most −log of it.
    unary
        mean: −log of the mean distribution, every superpixel counts the same (the paper's); pixels:
        minus the mean log-probability times the number of pixels.
    long_range
        W, what all long-range edges of a pixel are worth together, about; 0 leaves them out.
    reach
        Of the long-range edges, in pixels.
    sigma_far
        σ_f of the long-range edges, in units of Lab.
    band
        Only superpixels within this many rings of a boundary of the net's labels are variables, the
        others keep the net's label; 0: all are variables.
    unsure
        With a band: superpixels whose best mean probability is below this are variables, too.
    pixels
        Strength of the last stage, which decides pixels near the boundaries again: a factor on all
        its weights but the net's scores (`vision/pixels/options.py`); 0: no such stage.
    """

    gate: Gate = "contrast"
    alpha: float = 2.0
    beta: float = 0.9
    sigma_colour: float = 5.0
    sigma_feature: float = math.inf
    w: float = 0.1
    penalty: Penalty = "per_node"
    support: Support = "special"
    lambda_: float = 0.1
    C: float = 2.0
    foreground: float = 0.5
    temperature: float = 0.1
    floor: float = 1e-3
    unary: Unary = "pixels"
    long_range: float = 0.5
    reach: float = 67.0
    sigma_far: float = 5.0
    band: int = 1
    unsure: float = 0.0
    pixels: float = 1.0

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                raise InvalidOption(
                    f"energy: {name} is {value!r:.40}; it is one of {', '.join(allowed)}"
                )
        for field in fields(self):
            if field.name not in _CHOICES:
                self._keep_number(field.name)
        for name in ("alpha", "w", "lambda_", "long_range", "pixels"):
            value = getattr(self, name)
            _require(
                name, value, 0 <= value <= limits.LARGEST_WEIGHT, "at least 0 and at most 1e12"
            )
        for name in ("sigma_colour", "sigma_feature", "temperature", "reach", "sigma_far"):
            _require(name, getattr(self, name), getattr(self, name) > 0, "above 0")
        _require("C", self.C, 1 <= self.C <= limits.LARGEST_WEIGHT, "at least 1 and at most 1e12")
        _require("band", self.band, self.band <= limits.RINGS, f"at most {limits.RINGS:,}")
        _require("foreground", self.foreground, 0 < self.foreground <= 1, "within 0 … 1")
        _require("floor", self.floor, 0 < self.floor < 0.5, "above 0 and below 0.5")
        _require("unsure", self.unsure, 0 <= self.unsure <= 1, "within 0 … 1")

    def _keep_number(self, name: str) -> None:
        """Keep a weight as a float, a count as an int."""
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise InvalidOption(f"energy: {_shown(name)} is {value!r:.40}, not a number")
        if isinstance(value, int):  # YAML has integers that no float can hold
            value = max(min(value, 10**300), -(10**300))
        if name not in _COUNTS:
            object.__setattr__(self, name, float(value))
            return
        _require(name, value, 0 <= value < math.inf and value % 1 == 0, "a whole number from 0")
        object.__setattr__(self, name, int(value))

    def replace(self, **changes: Any) -> Energy:
        """A copy with some weights changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, `lambda` under its own name."""
        return {_shown(name): value for name, value in asdict(self).items()}

    @staticmethod
    def from_dict(values: dict[str, Any], where: str = "energy") -> Energy:
        """From plain values; an unknown name is an error, a missing one has its default."""
        known = {_shown(field.name): field.name for field in fields(Energy)}
        for name in values:
            if name not in known:
                raise InvalidOption(
                    f"{where}: there is no weight {name!r:.40}; there are {', '.join(known)}"
                )
        try:
            return Energy(**{known[name]: value for name, value in values.items()})
        except InvalidOption as error:
            raise InvalidOption(str(error).replace("energy", where, 1)) from None

    @staticmethod
    def load(path: str | Path) -> Energy:
        """Read `energy.yaml`; keys beside the weights must be under `calibration`."""
        loaded = read_mapping(path, "the energy", "alpha: 0.1")
        # The checksum is the first line and COMPLETE the last: a cut at either end leaves one.
        fix = f"if you changed it yourself, delete its lines {KEY} and {COMPLETE}"
        if (KEY in loaded) != (loaded.pop(COMPLETE, None) is True):
            raise InvalidFile(f"{path}: the energy is damaged, a part of it is missing; {fix}")
        loaded = unsealed(loaded, path, fix)
        loaded.pop("calibration", None)
        return Energy.from_dict(loaded, str(path))

    def save(self, path: str | Path, calibration: dict[str, Any] | None = None) -> None:
        """Write `energy.yaml`, with how it was found under `calibration`, and a checksum."""
        import yaml

        from policrf.crf.io.files import atomic_write

        content = self.as_dict() | ({"calibration": calibration} if calibration else {})
        # The checksum is of what will be read: YAML has its own idea of some values.
        read_back = yaml.safe_load(yaml.safe_dump(content, sort_keys=False))
        with atomic_write(path) as file:
            content = {KEY: value_digest(read_back)} | read_back | {COMPLETE: True}
            file.write(yaml.safe_dump(content, sort_keys=False).encode())


def _require(name: str, value: float, holds: bool, wanted: str) -> None:
    if not holds:
        raise InvalidOption(f"energy: {_shown(name)} is {value:g}; it must be {wanted}")


def _shown(name: str) -> str:
    return name.rstrip("_")
