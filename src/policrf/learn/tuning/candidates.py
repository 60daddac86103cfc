"""Which numbers are tried: starts first, then single changes, then random draws and neighbours.

The starts, and ICM after three of them, begin as every generic solver does: none of these is out of
reach. What was learned, a first pass and which moves to try, challenges the best numbers that were
found without it: with them, and with changes of its own.

The space is a short list of values for every number, about even on a log scale. Random candidates
draw every number with probability 1/2 and keep the default otherwise: most numbers matter little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from policrf.errors import InvalidOption
from policrf.solvers.numbers import DEFAULT, RULE, UNTRAINED_STARTS, Numbers

SPACE: dict[str, tuple[Any, ...]] = {
    "start": UNTRAINED_STARTS,
    "gain": (0.0, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2),
    "costs": ("expected", "partial", "relaxed"),
    "foresight": (0, 3, 10),
    "icm": (False, True),
    "sweep": (True, False),
    "move_temperature": (0.0, 0.01, 0.03, 0.06, 0.12, 0.25),
    "halfway_share": (0.0, 0.1, 0.3, 0.5, 0.8, 1.0),
    "halfway_gain": (0.0, 0.1, 0.3, 0.6, 1.0),
    "replace_share": (0.2, 0.4, 0.6, 0.8),
    "remove_share": (0.0, 0.1, 0.2, 0.4),
    "choices": (1, 4, 8, 12),
    "random_first": (0, 5, 50, 500, 5000),
    "converging_share": (0.05, 0.25, 0.6),
}
Changes = dict[str, Any]
CHANGED = 0.5  # probability that a random candidate draws a number
# What first passes are tried with, one at a time: they leave little time, and good labels.
PASS_CHANGES: tuple[Changes, ...] = (
    {"icm": True}, {"sweep": False}, {"icm": True, "sweep": False}, {"random_first": 0},
    {"move_temperature": 0.0}, {"halfway_share": 0.0, "sweep": False}, {"converging_share": 0.6},
)  # fmt: skip


class Learned(NamedTuple):
    """What the best numbers are challenged with."""

    numbers: Sequence[Numbers]
    """The best of the race without it, best first."""
    choice: Changes
    """Which moves to try, as changes of numbers; empty where nothing was learned of it."""
    has_pass: bool
    """Whether there is a first pass."""
    also: Sequence[Numbers] = ()
    """Those of a policy that the run starts from."""


def first_candidates(
    count: int, rng: np.random.Generator, also: Sequence[Numbers] = ()
) -> list[Numbers]:
    """`count` different candidates for the first race; the default is number 0.

    `also`: those of a policy that the run starts from.
    """
    return list(islice(_distinct(_first(rng, also)), count))


def next_candidates(
    count: int, elite: Sequence[Numbers], rng: np.random.Generator
) -> list[Numbers]:
    """For a later race: the elite, and neighbours of the elite."""
    return list(islice(_distinct(_near(elite, rng)), count))


def challengers(
    count: int, elite: Sequence[Numbers], rng: np.random.Generator, learned: Learned
) -> list[Numbers]:
    """For the race between the best numbers, `learned.numbers[0]`, and what was learned."""
    return list(islice(_distinct(_near(elite, rng) if elite else _challenge(learned, rng)), count))


def _challenge(learned: Learned, rng: np.random.Generator) -> Iterator[Numbers]:
    bases, choice = [*learned.numbers, DEFAULT], learned.choice
    passes = [replace(one, start="first_pass", **DEFAULT.of_rule) for one in bases]
    chosen = [replace(one, **choice) for one in bases] if choice else []
    if learned.has_pass:
        yield from (one for one in learned.also if one.start == "first_pass")
        yield from (passes[0], passes[-1])
    yield from chosen[:1]
    if learned.has_pass:
        yield from (replace(passes[-1], **change) for change in PASS_CHANGES)
        yield from (replace(passes[0], **choice), *passes[1:-1])
    yield from chosen[1:]
    yield from _near([*(passes if learned.has_pass else ()), *chosen], rng)


def _first(rng: np.random.Generator, also: Sequence[Numbers]) -> Iterator[Numbers]:
    yield DEFAULT
    yield from also
    changes: list[Changes] = [{"start": start} for start in SPACE["start"][1:]]
    changes += [{"start": s, "icm": True} for s in ("unary", "known_part")]
    changes += [{"start": "highest_confidence_first", "icm": True}]
    changes += [{"start": s, "sweep": False, "halfway_share": 0.0} for s in ("unary", "by_edges")]
    changes += [{"icm": True}, {"sweep": False}, *({"gain": c} for c in (0.0, 0.2, 0.8))]
    changes += [{"costs": "partial"}, {"costs": "relaxed"}, {"foresight": 0}]
    for change in changes:
        yield replace(DEFAULT, **change)
    while True:
        yield random_numbers(rng)


def _near(elite: Sequence[Numbers], rng: np.random.Generator) -> Iterator[Numbers]:
    """The elite, then its neighbours; those of a first pass are with a first pass."""
    yield from elite
    while elite:
        one = elite[int(rng.integers(len(elite)))]
        near = neighbour(one, rng)
        yield replace(near, start="first_pass") if one.start == "first_pass" else near


def random_numbers(rng: np.random.Generator) -> Numbers:
    """Some numbers drawn, the others at their default."""
    while True:
        drawn = {
            name: _draw(values, rng)
            for name, values in SPACE.items()
            if rng.random() < CHANGED or (name == "start" and rng.random() < CHANGED)
        }
        if (found := _allowed(DEFAULT, drawn)) is not None:
            return found


def neighbour(numbers: Numbers, rng: np.random.Generator) -> Numbers:
    """One or two numbers moved to the next value of their list, or drawn anew where unordered."""
    while True:
        changes: Changes = {}
        names = [name for name in SPACE if numbers.start == "rule" or name not in RULE]
        for name in rng.choice(names, size=1 + int(rng.random() < 0.5), replace=False):
            values, value = SPACE[str(name)], getattr(numbers, str(name))
            if isinstance(value, str | bool) or value not in values:
                changes[str(name)] = _draw(values, rng)
            else:
                place = values.index(value) + (1 if rng.random() < 0.5 else -1)
                changes[str(name)] = values[min(max(place, 0), len(values) - 1)]
        found = _allowed(numbers, changes)
        if found is not None and found != numbers:
            return found


def _draw(values: Sequence[Any], rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]


def _allowed(numbers: Numbers, changes: Changes) -> Numbers | None:
    """The numbers with these changes; those of the rule at their default where none labels."""
    try:
        found = replace(numbers, **changes)
    except InvalidOption:  # shares above 1 together
        return None
    return found if found.start == "rule" else replace(found, **DEFAULT.of_rule)


def _distinct(candidates: Iterator[Numbers]) -> Iterator[Numbers]:
    seen = set()
    for candidate in candidates:
        if candidate not in seen:
            seen.add(candidate)
            yield candidate
