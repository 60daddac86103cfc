"""What is tried, as data: terms, from simple to complex, and the stages with their values.

A stage varies some weights of the energies that come from the stages before it. A weight that this
version of `Energy` does not have takes its stage along.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from policrf.crf.io.json_text import to_json
from policrf.vision.calibration.options import Grids
from policrf.vision.energy.weights import Energy, Gate

FIELDS = frozenset(field.name for field in fields(Energy))
# Weight -> name of its term, the simplest first. A weight of 0 leaves the term out.
TERMS = {
    name: term
    for name, term in (
        ("alpha", "p"), ("long_range", "far"), ("w", "hop1"), ("lambda_", "hop2"),
        ("pixels", "pixels"),
    )
    if name in FIELDS
}  # fmt: skip
Terms = tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """All combinations of some values."""

    fixed: dict[str, Any] = field(default_factory=dict)
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    times: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Factors on a weight of the energy that the stage begins with."""

    def energies(self, base: Energy) -> Iterator[Energy]:
        """The energies of all combinations; none where a weight does not exist."""
        named = {**self.fixed, **self.values, **self.times}
        if not FIELDS.issuperset(named):
            return
        factors = {n: [getattr(base, n) * f for f in many] for n, many in self.times.items()}
        axes = {**self.values, **factors}
        for combination in itertools.product(*axes.values()):
            yield base.replace(**self.fixed, **dict(zip(axes, combination, strict=True)))


@dataclass(frozen=True)
class Stage:
    """Grids that compete with each other."""

    name: str
    grids: tuple[Grid, ...]
    axes: tuple[str, ...]
    """The weights that it varies, for tables."""
    boxes: bool = False
    """It needs boxes."""
    pixels: bool = False
    """It needs pixels."""

    def energies(self, bases: Sequence[Energy]) -> list[Energy]:
        """Everything to try, each once."""
        found = {
            energy_key(energy): energy
            for base in bases
            for grid in self.grids
            for energy in grid.energies(base)
            if terms_of(energy)
        }
        return list(found.values())


@dataclass(frozen=True)
class Survey:
    """What the images say about the values to try."""

    quantiles: tuple[float, ...] = ()
    """Of |g_i · g_j| over edges."""
    spread: float = 1.0
    """Mean of 1 − g_i · g_j over edges."""
    boxes: bool = False
    """Whether any box has a label."""
    pixels: bool = False
    """Whether the pixels were kept."""


def all_stages(grids: Grids, gates: Sequence[Gate], survey: Survey) -> list[Stage]:
    """The stages in order, those that cannot be left out."""
    pairwise = [grid for gate in gates for grid in _pairwise(gate, grids, survey)]
    far = Grid(values={"long_range": grids.long_range}, times={"alpha": (0.5, 1.0)})
    agreement = Grid(values={"w": grids.w}, times={"alpha": (0.5, 1.0, 2.0)})
    # A quota that is met by a part of the box asks HOP1 for the rest: w is tried again beside it.
    quota: dict[str, Sequence[Any]] = {
        "support": grids.support,
        "lambda_": grids.lambda_,
        "C": grids.C,
    }
    fixed: dict[str, Sequence[Any]] = {"lambda_": grids.lambda_fixed, "C": grids.C}
    support = (
        Grid({"penalty": "per_node"}, quota),
        Grid({"penalty": "per_node"}, {"w": grids.w_support, **quota}),
        Grid({"penalty": "fixed", "support": "special"}, fixed),
    )
    strong = {"alpha": grids.alpha_stage, "long_range": grids.long_range_stage}
    form = {"gate": "contrast", "unary": "pixels", "sigma_feature": math.inf, "band": 1}
    at_pixels = (
        Grid(values={"pixels": grids.pixels}),
        Grid({**form, "sigma_colour": 5.0}, {"pixels": grids.pixels, **strong}),
    )
    stages = [
        Stage("pairwise", tuple(pairwise), ("gate", "alpha", "beta", "sigma_colour")),
        Stage("far", (far,), ("long_range", "alpha")),
        Stage("band", (Grid(values={"band": grids.band}),), ("band",)),
        Stage("hop1", (agreement,), ("w", "alpha"), boxes=True),
        Stage("hop2", support, ("lambda_", "C", "support", "penalty", "w"), boxes=True),
        Stage("pixels", at_pixels, ("pixels", "alpha", "long_range"), pixels=True),
    ]
    return [
        stage
        for stage in stages
        if FIELDS.issuperset(stage.axes)
        and (survey.boxes or not stage.boxes)
        and (survey.pixels or not stage.pixels)
    ]


def paper_stages(grids: Grids, gates: Sequence[Gate], survey: Survey) -> list[Stage]:
    """The stages in which every energy is one that the paper could have chosen."""
    hard = [gate for gate in gates if gate != "contrast"]
    pairwise = [grid for gate in hard for grid in _pairwise(gate, grids, survey)]
    agreement = Grid(values={"w": grids.w}, times={"alpha": (0.5, 1.0, 2.0)})
    support = Grid(values={"lambda_": grids.lambda_fixed, "C": grids.C})
    stages = [Stage("pairwise", tuple(pairwise), ("gate", "alpha", "beta"))]
    if survey.boxes:
        stages.append(Stage("hop1", (agreement,), ("w", "alpha"), boxes=True))
        stages.append(Stage("hop2", (support,), ("lambda_", "C"), boxes=True))
    return stages


# What the paper's energy is where calibration has not chosen anything.
PAPER = {
    "gate": "below", "unary": "mean", "penalty": "fixed", "support": "special", "band": 0,
    "long_range": 0.0, "pixels": 0.0,
}  # fmt: skip


def _pairwise(gate: Gate, grids: Grids, survey: Survey) -> Iterator[Grid]:
    # The band has a stage of its own.
    by_node = {"gate": gate, "unary": "mean", "band": 0}
    if gate != "contrast":
        yield Grid(by_node, {"alpha": grids.alpha, "beta": survey.quantiles})
        return
    widths = sorted({round(width * survey.spread, 6) for width in grids.sigma_feature})
    values = {"alpha": grids.alpha_contrast, "sigma_colour": grids.sigma_colour}
    yield Grid(by_node, values | {"sigma_feature": widths})
    pixels = {"alpha": grids.alpha_pixels, "sigma_colour": grids.sigma_colour_pixels}
    yield Grid(by_node | {"unary": "pixels", "sigma_feature": math.inf}, pixels)


def net_alone(energy: Energy) -> Energy:
    """The energy without any term: every node has its best label by itself."""
    return energy.replace(**dict.fromkeys(TERMS, 0.0))


def terms_of(energy: Energy) -> Terms:
    """The terms that an energy has, the simplest first; () is the net alone."""
    return tuple(term for name, term in TERMS.items() if getattr(energy, name) > 0)


def crf_terms(energy: Energy) -> Terms:
    """The same without the pixel stage, which follows the CRF."""
    return tuple(term for term in terms_of(energy) if term != "pixels")


def energy_key(energy: Energy) -> str:
    """A text that two energies share if and only if they are equal."""
    return to_json(energy.as_dict(), infinity="inf")
