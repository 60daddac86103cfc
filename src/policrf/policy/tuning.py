"""Tuned numbers as a policy carries them: which, and what they were tuned at.

Numbers that are good for one size are poor for another: the gain that was best for 144 nodes was
among the worst for 576. So they hold near the sizes, labels and budget that they were tuned at;
elsewhere a policy goes by the default numbers, and says so in `Solution.info["numbers"]`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from policrf.errors import InvalidOption
from policrf.solvers.numbers import DEFAULT, Numbers
from policrf.solvers.run import Run

NEAR_SIZE, NEAR_BUDGET = 2.0, 4.0  # factors either way within which tuned numbers hold
_FIELDS = ("numbers", "nodes", "labels", "budget", "won")


@dataclass(frozen=True)
class Tuning:
    """Numbers, and the instances and the budget that they were tuned for."""

    numbers: Numbers
    nodes: tuple[int, int]
    """Of the smallest and the largest training instance."""
    labels: tuple[int, int]
    """Fewest and most."""
    budget: float
    """CPU seconds a node at inference."""
    won: bool
    """Whether they beat the default on held-out instances; if not, they are the default."""

    def __post_init__(self) -> None:
        for name in ("nodes", "labels"):
            pair = getattr(self, name)
            if len(pair) != 2 or not all(isinstance(k, int) for k in pair) or not (
                1 <= pair[0] <= pair[1]
            ):  # fmt: skip
                raise InvalidOption(f"{name} is {pair!r}; it must be two numbers, 1 or more")
        if not isinstance(self.budget, float) or not 0 < self.budget < math.inf:
            raise InvalidOption(f"budget is {self.budget!r}; it must be seconds above 0")
        if not isinstance(self.won, bool):
            raise InvalidOption(f"won is {self.won!r}; it must be true or false")

    def strangeness(self, run: Run) -> str:
        """What sets the run apart from those that the numbers are for; empty where nothing does."""
        crf, seconds = run.crf, run.seconds
        for what, count, (low, high) in (
            ("nodes", crf.n_nodes, self.nodes), ("labels", crf.n_labels, self.labels),
        ):  # fmt: skip
            if not low / NEAR_SIZE <= count <= high * NEAR_SIZE:
                return f"{count} {what}, tuned at {low} to {high}"
        if seconds is None:
            return "no limit of time"
        budget = seconds / crf.n_nodes
        if not self.budget / NEAR_BUDGET <= budget <= self.budget * NEAR_BUDGET:
            return f"{budget:.2g} seconds a node, tuned at {self.budget:.2g}"
        return ""

    def as_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return asdict(self)

    @staticmethod
    def from_dict(values: Any) -> Tuning:
        """What `as_dict` gave; anything else is an `InvalidOption` that names the field."""
        if not isinstance(values, Mapping) or set(values) != set(_FIELDS):
            raise InvalidOption(f"tuning must be a mapping with {', '.join(_FIELDS)}")
        pairs = {name: values[name] for name in ("nodes", "labels")}
        for name, pair in pairs.items():
            if not isinstance(pair, list | tuple):
                raise InvalidOption(f"{name} is {pair!r}; it must be two numbers, 1 or more")
        return Tuning(
            Numbers.from_dict(values["numbers"]), tuple(pairs["nodes"]), tuple(pairs["labels"]),
            values["budget"], values["won"],
        )  # fmt: skip


def numbers_for(tuning: Tuning | None, run: Run, given: Mapping[str, Any]) -> Numbers:
    """The numbers to go by: `given` ones first, then tuned ones where they hold, else defaults."""
    if tuning is None:
        return replace(DEFAULT, **given) if given else DEFAULT
    strange = tuning.strangeness(run)
    run.info["numbers"] = f"default: {strange}" if strange else "tuned" if tuning.won else "default"
    return replace(DEFAULT if strange else tuning.numbers, **given)
