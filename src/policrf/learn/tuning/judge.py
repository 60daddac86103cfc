"""Judging on held-out instances: paired tests, and the last table.

Tuned numbers are published if they win against the default: at least 10 held-out instances, the
upper end of the one-sided 95 % confidence interval of the mean paired difference below 0 (Student's
t, outliers clipped), and the plain mean below 0 too. What was learned, such as a first pass, is
published if it wins so against what would be published without it, and its mean is below that of
the tuned numbers in any case. Otherwise a run ends with these, or with the default.

The hand rule is the untrained rule with the gain that was the best of a few on training instances:
one number, found without racing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from policrf.evaluation.cpu_time import SHORT
from policrf.evaluation.tables import Table
from policrf.learn.tuning.budget import budget_text
from policrf.learn.tuning.candidates import SPACE
from policrf.learn.tuning.paired import LEAST, Difference, difference
from policrf.learn.tuning.trials import Measured, Solver, Trials
from policrf.policy.policy import Policy
from policrf.solvers.numbers import DEFAULT, Numbers

GENERIC = ("icm", "highest_confidence_first", "lazy_flipper", "annealing", "refine", "auto")
REPEATS = 3  # seeds of a short solve, whose median energy counts
BY_HAND = 8  # training instances that the hand rule's gain is chosen on
NO_RACE = "training did not win: no time for a race at this budget; give more seconds"
DEFAULTS, TUNED, LEARNED = "untrained", "tuned numbers", "what was learned"  # rows of the table
Recall = Callable[[str, Callable[[], Any]], Any]
Way = tuple[Solver, dict[str, Any]]  # a solver and its options


class Figures(NamedTuple):
    """One row of the table: by held-out instance."""

    energies: list[float]
    cpu: float
    """Mean CPU seconds of a solve."""


class Judged(NamedTuple):
    """What held-out instances say."""

    numbers: Numbers
    """What is published."""
    unlearned: Numbers
    """What would be published had nothing been learned."""
    difference: Difference
    """Of what is published from the default; of the last that was judged where that is none."""
    won: bool
    """Whether anything but the default is published."""
    sentence: str


def judge(
    trials: Trials, found: Mapping[str, Numbers], recall: Recall, *, raced: bool = True
) -> Judged:
    """Tuned numbers and what was learned against the default, and against each other.

    `found`: what training ended with, by the names TUNED and LEARNED; `raced`: anything was tried.
    """
    if not found:
        same = difference([0.0] * len(trials.problems), [0.0] * len(trials.problems))
        return Judged(DEFAULT, DEFAULT, same, False, _nothing(trials.budget) if raced else NO_RACE)
    ways: dict[str, Way] = {
        name: (trials.policy(numbers), {}) for name, numbers in _chain(found).items()
    }
    rows = {name: one.energies for name, one in measure_all(trials, ways, recall).items()}
    kept, unlearned, told = DEFAULTS, DEFAULTS, list[str]()
    for name in found:
        unlearned = kept if name == LEARNED else unlearned
        less = difference(rows[name], rows[kept], clipped=True)
        told.append(f"{name} {less} from {kept}")
        lowest = all(np.mean(rows[name]) <= np.mean(rows[other]) for other in found)
        kept = name if less.wins and (name == TUNED or lowest) else kept
    won, chain = kept != DEFAULTS, _chain(found)
    unlearned = unlearned if LEARNED in found else kept
    best = difference(rows[kept if won else name], rows[DEFAULTS], clipped=True)
    verdict = _verdict(kept, told, best.count, trials.budget)
    return Judged(chain[kept], chain[unlearned], best, won, verdict)


def _chain(found: Mapping[str, Numbers]) -> dict[str, Numbers]:
    return {DEFAULTS: DEFAULT, **found}


def _nothing(budget: float) -> str:
    at = f"at {budget_text(budget)} of CPU a node"
    return f"training did not win: no numbers were surely better than the default {at}"


def _verdict(kept: str, told: Sequence[str], count: int, budget: float) -> str:
    at = f"on {count} held-out instances at {budget_text(budget)} of CPU a node (paired, 95 %)"
    pairs = f"energy of {' and of '.join(told)} {at}"
    if kept == DEFAULTS:
        return f"training did not win: {pairs} is within noise; the default is returned"
    return f"training won with {kept}: {pairs}"


def measure_all(trials: Trials, ways: dict[str, Way], recall: Recall) -> dict[str, Figures]:
    """Ways to solve by name, on all instances; of short solves the median over a few seeds.

    They take turns on every instance: a machine that gets slower does so for all of them.
    """
    count = len(trials.problems)
    short = trials.budget * float(np.mean(trials.sizes)) < SHORT
    solves: dict[str, list[Measured]] = {name: [] for name in ways}
    for trial in range(count * (REPEATS if short else 1)):
        for name, (solver, options) in ways.items():
            find = partial(trials.measure, solver, trial, **options)
            solved = recall(f"held out: {_key(solver)} {json.dumps(options)} {trial}", find)
            solves[name].append(Measured(*map(float, solved)))
    return {name: _figures(found, count) for name, found in solves.items()}


def _key(solver: Solver) -> str:
    """What the journal calls it: policies by their numbers, which may be others when it goes on."""
    if isinstance(solver, Policy) and solver.tuning is not None:
        return json.dumps(solver.tuning.numbers.changes)
    return str(solver)


def _figures(solves: list[Measured], count: int) -> Figures:
    energies = [float(np.median([s.energy for s in solves[k::count]])) for k in range(count)]
    return Figures(energies, float(np.mean([solved.cpu for solved in solves])))


def hand_rule(trials: Trials, recall: Recall) -> Numbers:
    """The default numbers with the gain of the lowest mean energy of the rule alone."""
    few = range(min(BY_HAND, len(trials.problems)))

    def find() -> float:
        means = {
            gain: float(np.mean([
                trials.measure(trials.policy(Numbers(gain=gain)), t, refine=False).energy
                for t in few
            ]))
            for gain in SPACE["gain"]
        }  # fmt: skip
        return float(min(means, key=lambda gain: means[gain]))

    return Numbers(gain=float(recall("the hand rule's gain", find)))


def last_table(trials: Trials, rows: Sequence[tuple[str, Numbers]], recall: Recall) -> Table:
    """Rules alone and with refine, and generic solvers, on held-out instances at the budget.

    Parameters
    ----------
    trials
        Held-out instances and the budget.
    rows
        Names and numbers; the first is what the others are compared with.
    recall
        Keeps what was measured.
    """
    ways: dict[str, Way] = {
        name: (trials.policy(numbers), {"refine": False}) for name, numbers in rows
    }
    ways |= {f"{name} + refine": (trials.policy(numbers), {}) for name, numbers in rows}
    ways |= {solver: (solver, {}) for solver in GENERIC}
    found = measure_all(trials, ways, recall)
    base = found[f"{rows[0][0]} + refine"].energies
    body = [
        (
            name,
            float(np.mean(f.energies)),
            str(difference(f.energies, base, clipped=True)),
            1000 * f.cpu,
        )
        for name, f in found.items()
    ]
    best = min(GENERIC, key=lambda name: float(np.mean(found[name].energies)))
    note = (
        f"{len(trials.problems)} held-out instances, {budget_text(trials.budget)} of CPU a node "
        f"for every row. Best generic solver: {best}. Differences are paired, with 95 % intervals, "
        f"outliers clipped; nothing is published on fewer than {LEAST} instances."
    )
    columns = ("row", "energy", f"less {rows[0][0]} + refine", "CPU ms")
    return Table("Trained, untrained and generic solvers at equal time", columns, tuple(body), note)
