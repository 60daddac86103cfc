"""Which kernels a solver needs, in the order in which it does: kernel_plan.json.

`scripts/kernel_plan.py` writes the file from what solvers ask for. A plan that is out of date
costs time, never a result: kernels that it does not name are compiled when they are needed, and
those that are gone are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from policrf.ahead.type_texts import Tuples, from_text

FILE = "kernel_plan.json"
# About what compiling takes: what every process does first, then by the size of machine code. A bar
# goes by the pace so far.
FIRST_SECONDS, SECONDS_A_MEGABYTE = 6.0, 2.5


class Kernel(NamedTuple):
    """One kernel, compiled for one list of types."""

    name: str
    """Module and function, with a colon between."""
    types: tuple[str, ...]
    megabytes: float
    """Of what numba keeps: compiling takes a time about in proportion."""

    @property
    def key(self) -> str:
        """Tells it from all others."""
        return f"{self.name} {' '.join(self.types)}"


class Plans(NamedTuple):
    """The whole file."""

    tuples: Tuples
    kernels: tuple[Kernel, ...]
    orders: dict[str, dict[str, list[int]]]
    """Solver -> names of potentials -> places in `kernels`."""

    def of(self, solver: str, shape: str) -> list[Kernel]:
        """What the solver needs for such a CRF, or one with other potentials; else nothing."""
        orders = self.orders.get(solver, {})
        order = orders.get(shape) or next(iter(orders.values()), [])
        return [self.kernels[place] for place in order]


@cache
def plans() -> Plans:
    """What the package knows: nothing, where the file is not there or damaged."""
    try:
        stored = json.loads(files("policrf.ahead").joinpath(FILE).read_text(encoding="utf-8"))
        kernels = tuple(Kernel(name, tuple(types), size) for name, types, size in stored["kernels"])
        return Plans(stored["tuples"], kernels, stored["orders"])
    except (OSError, ValueError, KeyError, TypeError):
        return Plans({}, (), {})


def shape_of(crf: Any) -> str:
    """The names of a CRF's potentials: solvers need other kernels for others."""
    return "+".join(sorted({type(group).__name__ for group in crf.potentials}))


def seconds_of(kernels: Sequence[Kernel], processes: int) -> float:
    """An estimate for so many processes at once."""
    size = sum(kernel.megabytes for kernel in kernels)
    return FIRST_SECONDS + SECONDS_A_MEGABYTE * size / processes


def types_of(kernel: Kernel) -> tuple[Any, ...]:
    """What to compile it for."""
    return tuple(from_text(text, plans().tuples) for text in kernel.types)
