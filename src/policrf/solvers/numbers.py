"""The few numbers of the search that matter, with one default each.

The untrained rule, `refine`, `auto` and policies read them from here. A user gives them as options
of a solver; `train(goal="energy")` tunes them for a family of CRFs and a budget, and a policy's
file carries the tuned ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from policrf.errors import InvalidOption
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.options import Option, dataclass_options

StartName = Literal[
    "rule", "auto", "known_part", "unary", "by_edges", "one_pass", "highest_confidence_first",
    "first_pass",
]  # fmt: skip
CostsName = Literal["expected", "partial", "relaxed"]
STARTS: tuple[str, ...] = get_args(StartName)
UNTRAINED_STARTS = STARTS[:-1]  # those that need nothing learned
KNOWN = (
    "unary", "edges", "of_clique", "change", "drop", "downhill", "value", "present", "age", "since",
)  # fmt: skip
"""What is known of a clique move before it is tried, each from −1 to 1 (`refine_known`): what the
unaries, the edges, the clique and all of these change by; the last again if it falls; the unaries
that fall; the clique's value; the share of labels that it has; how long ago the move was tried, and
the clique last changed."""
MOVE_WEIGHTS = (0.0, 0.0, 0.0, 0.3, 3.0, 0.0, 0.0, 0.0, -0.3, 0.4)
RULE = ("gain", "costs", "foresight")  # numbers of the untrained rule itself


@dataclass(frozen=True)
class Numbers:
    """How the first labeling is made, and how random moves go on from it."""

    start: StartName = "rule"
    """Who labels first: the rule (the policy), what auto begins with, known_part (cuts without
    the groups of which only values are known), nobody (unary), by_edges, one_pass,
    highest_confidence_first, or the first_pass that a policy has learned."""
    gain: float = 0.5
    """What a label's promise to a clique that is asked half-way counts in the untrained rule."""
    costs: CostsName = "expected"
    """Costs that the untrained rule goes by: expected (by mean field), partial or relaxed."""
    foresight: int = 10
    """Sweeps of mean field by which expected costs foresee unlabeled nodes; 0: their unaries."""
    icm: bool = False
    """Whether single nodes are relabeled right after the start, before any other move."""
    sweep: bool = True
    """Whether the random moves begin with every clique once, its members labeled anew half-way."""
    move_temperature: float = 0.06
    """How far uphill random moves go, in units of the mean size of a random relabel's change."""
    halfway_share: float = 0.5
    """Of the work of random moves: half-way repairs; the rest are moves of whole cliques."""
    halfway_gain: float = 0.3
    """What a label's promise counts in every other half-way repair."""
    replace_share: float = 0.6
    """Of the moves of whole cliques: those that replace a label by another."""
    remove_share: float = 0.2
    """Of the moves of whole cliques: those that remove a label; the others grow one."""
    choices: int = 8
    """Moves of whole cliques that are drawn for one that is tried: that of the lowest score."""
    move_weights: Sequence[float] = MOVE_WEIGHTS
    """What each of the things that are known of such a move counts in its score (`KNOWN`)."""
    random_first: int = 50
    """Random moves a clique, or for every 30 nodes, before the moves that converge."""
    converging_share: float = 0.25
    """Of the time left after those: for the moves that converge."""

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise InvalidOption(f"start is {self.start!r}; it must be one of {', '.join(STARTS)}")
        for name in ("icm", "sweep"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidOption(f"{name} is {getattr(self, name)!r}; it must be true or false")
        for name in ("gain", "move_temperature", "halfway_gain"):
            _check_number(name, getattr(self, name), math.inf)
        for name in ("halfway_share", "replace_share", "remove_share", "converging_share"):
            _check_number(name, getattr(self, name), 1.0)
        if self.replace_share + self.remove_share > 1 + 1e-9:
            raise InvalidOption("replace_share and remove_share must not exceed 1 together")
        if self.costs not in get_args(CostsName):
            known = ", ".join(get_args(CostsName))
            raise InvalidOption(f"costs is {self.costs!r}; it must be one of {known}")
        if self.move_weights is not MOVE_WEIGHTS:
            object.__setattr__(self, "move_weights", _weights(self.move_weights))
        require_whole_numbers(choices=self.choices)
        require_whole_numbers(at_least=0, random_first=self.random_first, foresight=self.foresight)

    @property
    def of_rule(self) -> dict[str, Any]:
        """What the untrained rule itself goes by."""
        return {name: getattr(self, name) for name in RULE}

    @property
    def changes(self) -> dict[str, Any]:
        """Those that are not at their default."""
        return {name: value for name, value in asdict(self).items() if value != _default(name)}

    def as_dict(self) -> dict[str, Any]:
        """Names and values that JSON can hold."""
        return asdict(self)

    @staticmethod
    def from_dict(values: Any) -> Numbers:
        """What `as_dict` gave; anything else is an `InvalidOption` that names the field."""
        if not isinstance(values, Mapping):
            raise InvalidOption(f"numbers are a mapping of names to values, not {values!r}")
        for name in values:
            if name not in NAMES:
                raise InvalidOption(f"numbers have no {name!r}; there are {', '.join(NAMES)}")
        return Numbers(**values)


def _default(name: str) -> Any:
    return Numbers.__dataclass_fields__[name].default


def search_options() -> dict[str, Option]:
    """The numbers of random moves as options of a solver that has a start of its own."""
    return dataclass_options(Numbers, without=("start", "icm", *RULE))


def all_options() -> dict[str, Option]:
    """All numbers as options of a solver."""
    return dataclass_options(Numbers)


def _check_number(name: str, value: Any, most: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most or math.isinf(value):
        span = "0 or more" if math.isinf(most) else f"from 0 to {most:g}"
        raise InvalidOption(f"{name} is {value!r}; it must be a number, {span}")


def _weights(values: Any) -> tuple[float, ...]:
    if not isinstance(values, Sequence) or len(values) != len(KNOWN):
        raise InvalidOption(
            f"move_weights is {values!r:.60}; it must be a list of {len(KNOWN)} numbers"
        )
    for value in values:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise InvalidOption(f"move_weights has {value!r:.60}; they must be finite numbers")
    return tuple(map(float, values))


NAMES: tuple[str, ...] = tuple(field.name for field in fields(Numbers))
DEFAULT = Numbers()
