"""What the fields of a recipe may hold: a damaged or hand-written one is refused by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, get_args

from policrf import limits
from policrf.errors import InvalidOption
from policrf.vision.boxes import SupportRule
from policrf.vision.nets.segmentation_net import Fit
from policrf.vision.unaries import ScoreKind

# Whole numbers with their least and largest value.
_COUNTS = {
    "superpixels": (1, 10**7), "slic_iterations": (1, 1000), "smallest": (1, 10**7),
    "long_range": (0, 10_000), "max_side": (16, 2**16), "net_windows": (0, 1000),
    "detector_windows": (1, 1000), "grabcut_iterations": (0, 1000), "components": (0, limits.WIDTH),
}  # fmt: skip
_ABOVE_ZERO = ("compactness", "grabcut_scale", "far_reach", "far_colour")
_SHARES = ("threshold", "overlap")
_FLAGS = ("follow_net", "bgr", "feature_bgr", "keep_pixels")
_NAMES = ("labels", "net_classes", "hypercolumns", "detector_classes")
_CHOICES = {
    "score_kind": get_args(ScoreKind), "fit": get_args(Fit), "support": get_args(SupportRule)
}  # fmt: skip
_LARGEST = 1e6  # of widths, distances and scales


def check_fields(values: Mapping[str, Any]) -> None:
    """Refuse the first field that a recipe cannot have."""
    for name, (least, most) in _COUNTS.items():
        value = values[name]
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or value < least:
            raise InvalidOption(f"{name} is {value!r:.40}; it must be at least {least}")
        if value > most:
            raise InvalidOption(f"{name} is {value!r:.40}; it must be at most {most}")
    for name in _ABOVE_ZERO:
        _require(name, values[name], "above 0 and at most 1e6", 0 < _real(values[name]) <= _LARGEST)
    _require("smoothing", values["smoothing"], "0 or more", 0 <= _real(values["smoothing"]) <= 1000)
    for name in _SHARES:
        _require(name, values[name], "within 0 … 1", 0 <= _real(values[name]) <= 1)
    for name in _FLAGS:
        _require(name, values[name], "true or false", isinstance(values[name], bool))
    for name, choices in _CHOICES.items():
        _require(name, values[name], f"one of {', '.join(choices)}", values[name] in list(choices))
    _check_names(values)
    for name in ("mean", "deviation", "feature_mean", "feature_deviation"):
        triple = values[name]
        fits = isinstance(triple, tuple | list) and len(triple) == 3
        _require(name, triple, "three numbers", fits and all(map(_is_finite, triple)))
    for name in ("deviation", "feature_deviation"):
        _require(name, values[name], "without 0", 0 not in values[name])


def _check_names(values: Mapping[str, Any]) -> None:
    for name in _NAMES:
        names = values[name]
        fits = isinstance(names, tuple | list) and all(isinstance(text, str) for text in names)
        _require(name, names, "a list of names", fits)
    for name in ("net", "detector"):
        _require(name, values[name], "a checksum", isinstance(values[name], str))
    _require("scores", values["scores"], "a name", isinstance(values["scores"], str | None))
    _require("dataset", values["dataset"], "a mapping", isinstance(values["dataset"], dict))
    chosen = values["class_map"]
    pairs = chosen.items() if isinstance(chosen, dict) else ()
    fits = all(isinstance(key, str) and isinstance(label, str | None) for key, label in pairs)
    _require("class_map", chosen, "from names to names", isinstance(chosen, dict | None) and fits)


def _require(name: str, value: Any, wanted: str, holds: bool) -> None:
    if not holds:
        raise InvalidOption(f"{name} is {value!r:.40}; it must be {wanted}")


def _is_finite(value: Any) -> bool:
    return math.isfinite(_real(value))


def _real(value: Any) -> float:
    """The number as a float; NaN, which no comparison holds for, where it is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # an integer that no float can hold
        return math.nan
