"""Energy: the weights that turn prepared quantities into a CRF (section "Energy Function").

f_ij  = α [y_i ≠ y_j] where the gate is open:   below  |g_i · g_j| < β   (the paper's literal form)
                                                above  |g_i · g_j| ≥ β   (similar superpixels agree)
contrast: α · border length · exp(−‖ΔLab‖² / 2σ_c² − (1 − g_i · g_j) / σ_g) [y_i ≠ y_j]
HOP1  = w · c_b · min(#match, #mismatch)
HOP2  = λ_b [#{y_i = l} < |I_b| / C] with λ_b = λ c_b |I_b|, or λ for every box (the paper's)
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from policrf.errors import InvalidOption
from policrf.vision.yaml_file import read_mapping

Gate = Literal["below", "above", "contrast"]
Penalty = Literal["per_node", "fixed"]
Support = Literal["special", "all"]

_CHOICES = {"gate": get_args(Gate), "penalty": get_args(Penalty), "support": get_args(Support)}


@dataclass(frozen=True)
class Energy:
    """Every weight of the energy; what `policrf calibrate` chooses and `energy.yaml` holds.

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
        Smallest probability; the unary of a node is at most −log of it.
    """

    gate: Gate = "contrast"
    alpha: float = 0.1
    beta: float = 0.9
    sigma_colour: float = 10.0
    sigma_feature: float = math.inf
    w: float = 0.3
    penalty: Penalty = "per_node"
    support: Support = "special"
    lambda_: float = 0.5
    C: float = 2.0
    foreground: float = 0.5
    temperature: float = 0.1
    floor: float = 1e-3

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InvalidOption(
                    f"energy: {name} is {getattr(self, name)!r}; it is one of {', '.join(allowed)}"
                )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _CHOICES:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
                raise InvalidOption(f"energy: {_shown(field.name)} is {value!r}, not a number")
            object.__setattr__(self, field.name, float(value))
        for name in ("alpha", "w", "lambda_"):
            _require(name, getattr(self, name), 0 <= getattr(self, name) < math.inf, "at least 0")
        for name in ("sigma_colour", "sigma_feature", "temperature"):
            _require(name, getattr(self, name), getattr(self, name) > 0, "above 0")
        _require("C", self.C, self.C >= 1, "at least 1")
        _require("foreground", self.foreground, 0 < self.foreground <= 1, "within 0 … 1")
        _require("floor", self.floor, 0 < self.floor < 0.5, "above 0 and below 0.5")

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
                    f"{where}: there is no weight {name!r}; there are {', '.join(known)}"
                )
        return Energy(**{known[name]: value for name, value in values.items()})

    @staticmethod
    def load(path: str | Path) -> Energy:
        """Read `energy.yaml`; keys beside the weights must be under `calibration`."""
        loaded = read_mapping(path, "the energy", "alpha: 0.1")
        loaded.pop("calibration", None)
        return Energy.from_dict(loaded, str(path))

    def save(self, path: str | Path, calibration: dict[str, Any] | None = None) -> None:
        """Write `energy.yaml`, with how it was found under `calibration`."""
        import yaml

        from policrf.crf.io.files import atomic_write

        content = self.as_dict() | ({"calibration": calibration} if calibration else {})
        with atomic_write(path) as file:
            file.write(yaml.safe_dump(content, sort_keys=False).encode())


def _require(name: str, value: float, holds: bool, wanted: str) -> None:
    if not holds:
        raise InvalidOption(f"energy: {_shown(name)} is {value:g}; it must be {wanted}")


def _shown(name: str) -> str:
    return name.rstrip("_")
