"""StandIn: what was learned of one expensive function, and the CRF that asks it instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom, Potential
from policrf.errors import InvalidOption, PolicyMismatch
from policrf.policy.stand_in.function import (
    BY_LABEL,
    BY_PAIR,
    KNOTS,
    MOST_SCALARS,
    NO_INPUTS,
    SCALARS,
    WEIGHTS,
    n_globals,
    stand_in,
)
from policrf.types import Float32Array, FloatArray

MOST = 1 << 20  # labels or parameters of a clique
_FIELDS = ("function", "form", "n_parameters", "n_labels")


@dataclass(frozen=True, eq=False)
class StandIn:
    """Weights of `function.stand_in` for one function.

    Parameters
    ----------
    function
        The name of the function that it stands for.
    form
        How cliques' own parameters are read (`function.SCALARS`, …).
    n_parameters
        How many scalars a clique has of its own, where they are read as such; else 0.
    n_labels
        Of the labels that have a table each; 0: one table for all, any number of labels.
    weights
        By the names of `WEIGHTS`; tables `[1 or L, KNOTS + 1, R]`, first `[H, R + U]`.
    """

    function: str
    form: int
    n_parameters: int
    n_labels: int
    weights: Mapping[str, Float32Array]

    def __post_init__(self) -> None:
        missing = [name for name in WEIGHTS if name not in self.weights]
        if missing:
            raise InvalidOption(f"stand-in for {self.function}: there is no {', '.join(missing)}")
        tables = self.weights["tables"]
        if tables.ndim != 3 or tables.shape[:2] != (max(1, self.n_labels), KNOTS + 1):
            raise InvalidOption(f"stand-in for {self.function}: tables have shape {tables.shape}")
        inputs = tables.shape[2] + n_globals(self.form, self.n_parameters)
        units = len(self.weights["bias"])
        wanted = {
            "mean": (inputs,), "scale": (inputs,), "linear": (inputs,), "first": (units, inputs),
            "bias": (units,), "second": (units,), "constant": (1,),
        }  # fmt: skip
        for name, shape in wanted.items():
            if self.weights[name].shape != shape or not np.isfinite(self.weights[name]).all():
                raise InvalidOption(f"stand-in for {self.function}: {name} is damaged")

    @property
    def asked(self) -> Any:
        """What a clique is asked instead; compiled."""
        return stand_in

    def described(self) -> dict[str, Any]:
        """What a file keeps beside the weights."""
        return {name: getattr(self, name) for name in _FIELDS}

    @staticmethod
    def from_description(described: Any, weights: Mapping[str, Float32Array]) -> StandIn:
        """What `described` gave, with its weights; anything else is an `InvalidOption`."""
        if not isinstance(described, dict) or set(described) != set(_FIELDS):
            raise InvalidOption(f"a stand-in must be a mapping with {', '.join(_FIELDS)}")
        numbers = {name: described[name] for name in _FIELDS[1:]}
        if not all(isinstance(k, int) and 0 <= k < MOST for k in numbers.values()):
            raise InvalidOption("a stand-in's form and sizes must be whole numbers, 0 or more")
        return StandIn(str(described["function"]), **numbers, weights=weights)

    def rows(self, group: Custom, n_labels: int) -> list[FloatArray]:
        """The parameters of every clique of the group, as `function.stand_in` reads them."""
        if self.n_labels not in (0, n_labels):
            raise PolicyMismatch(
                f"the stand-in for {self.function} was learned with {self.n_labels} labels, "
                f"the CRF has {n_labels}"
            )
        tables = self.weights["tables"]
        width, units = tables.shape[2], len(self.weights["bias"])
        flat = np.concatenate([self.weights[name].reshape(-1) for name in WEIGHTS]).astype(float)
        found = []
        for size, own in zip(group.cliques.sizes, own_parameters(group), strict=True):
            form = parameter_form(len(own), n_labels)
            if form != self.form or (form == SCALARS and len(own) != self.n_parameters):
                raise PolicyMismatch(
                    f"the stand-in for {self.function} knows cliques with other parameters; "
                    "train on CRFs like this one"
                )
            kept = own if form != NO_INPUTS else own[:0]
            head = [float(size), float(self.n_labels > 0), width, units, form, len(kept)]
            found.append(np.concatenate([head, kept, flat]))
        return found


def own_parameters(group: Custom) -> list[FloatArray]:
    """The parameters of every clique."""
    ends = zip(group.parameter_ptr[:-1], group.parameter_ptr[1:], strict=True)
    return [group.parameters[a:b] for a, b in ends]


def parameter_form(count: int, n_labels: int) -> int:
    """How so many parameters of a clique are read; many that fit nothing are not."""
    if count == n_labels * n_labels:
        return BY_PAIR
    if count == n_labels:
        return BY_LABEL
    return SCALARS if 0 < count <= MOST_SCALARS else NO_INPUTS


class Replacement(Protocol):
    """What can be asked about counts in the place of a function."""

    @property
    def function(self) -> str:
        """The name of the function."""
        ...

    @property
    def asked(self) -> Any:
        """Takes counts and a row."""
        ...

    def rows(self, group: Custom, n_labels: int) -> list[FloatArray]:
        """One for every clique."""
        ...


def replaced(crf: CRF, stand_ins: Sequence[Replacement]) -> CRF:
    """The CRF with a stand-in wherever a function is expensive; groups without one are left out."""
    by_name = {found.function: found for found in stand_ins}
    groups: list[Potential] = []
    for group in crf.potentials:
        if not isinstance(group, Custom) or not group.expensive:
            groups.append(group)
        elif group.function_name in by_name:
            rows = by_name[group.function_name].rows(group, crf.n_labels)
            cliques = (group.cliques.ptr, group.cliques.nodes)
            name = f"stand_in_{group.function_name}"
            asked = by_name[group.function_name].asked
            groups.append(Custom(cliques, asked, rows, of="counts", name=name))
    return crf.with_potentials(*groups)
