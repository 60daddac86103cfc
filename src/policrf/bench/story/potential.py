"""The second part: potentials of five lines, solved at once, then a minute of training.

The goal is the energy: there is no truth to come close to. Which of the potentials is trained on is
decided by a rule: the one with the most room, that is, where a millisecond of the untrained rule
and refine ends furthest above what refine finds in thirty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom, Potts
from policrf.evaluation.tables import Table
from policrf.learn.train import train
from policrf.policy.policy import Policy
from policrf.solvers import solve
from policrf.types import FloatArray, IntArray

SIDE, LABELS, WINDOW = 12, 6, 6
BUDGET = "7us"  # of CPU a node: a millisecond an instance
SECONDS, LONGER = 0.001, 0.03
TRAINING_SEEDS, ROOM_SEEDS = 3_000_000, 4_000_000
INSTANCES, LOOKED_AT = 150, 6


@numba.njit(cache=True)
def none_a_third_or_all(counts: IntArray, parameters: FloatArray) -> float:
    """What a label's share of a window costs: none, a third or all of it is free."""
    cost = 0.0
    for count in counts:
        cost += min(count, abs(count - parameters[0] / 3), parameters[0] - count, 6.0)
    return cost


@numba.njit(cache=True)
def an_even_number(counts: IntArray, parameters: FloatArray) -> float:
    """What odd numbers of a label in a window cost."""
    cost = 0.0
    for count in counts:
        cost += 1.5 * (count % 2)
    return cost


@numba.njit(cache=True)
def at_most_two_labels(counts: IntArray, parameters: FloatArray) -> float:
    """What every label of a window beyond the second costs."""
    used = 0
    for count in counts:
        used += count > 0
    return 6.0 * max(0, used - 2)


POTENTIALS: dict[str, Any] = {
    "none, a third or all of a window's 36 nodes for every label": none_a_third_or_all,
    "an even number of a window's 36 nodes for every label": an_even_number,
    "at most two labels in a window of 36 nodes": at_most_two_labels,
}
"""What each wants, and the function that says so."""


class Play(NamedTuple):
    """One labeling of a CRF, node after node."""

    name: str
    energy: float
    seconds: float
    order: IntArray
    """Empty if the nodes were not labeled one after the other."""
    labels: IntArray


class PotentialStory(NamedTuple):
    """What the part has to show."""

    function: Any
    wants: str
    table: Table
    said: tuple[str, ...]
    """Which potential, why, and whether training won."""
    won: bool
    policy: Policy
    plays: tuple[Play, ...]
    """Of the same CRF, which was not trained on: the untrained rule, and the trained one."""
    side: int = SIDE
    n_labels: int = LABELS


def make(potential: Any, seed: int) -> CRF:
    """A grid whose windows of six by six nodes have the potential."""
    rng = np.random.default_rng(seed)
    grid = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    pairs = [(grid[:, :-1], grid[:, 1:]), (grid[:-1], grid[1:])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    corners = range(0, SIDE, WINDOW)
    windows = [grid[r : r + WINDOW, c : c + WINDOW].ravel() for r in corners for c in corners]
    sizes = np.full((len(windows), 1), float(WINDOW * WINDOW))
    unary = rng.exponential(size=(SIDE * SIDE, LABELS))
    return CRF(unary, Potts(edges, 0.3), Custom(windows, potential, sizes, of="counts"))


def room(potential: Any, seed: int) -> float:
    """How far a millisecond ends above thirty of them, in percent of the latter's energy."""
    crfs = [make(potential, ROOM_SEEDS + seed + k) for k in range(LOOKED_AT)]
    for crf in crfs[:1]:  # kernels
        solve(crf, "untrained:refine=true")
        solve(crf, "refine", seconds=SECONDS)
    quick = sum(solve(crf, "untrained:refine=true", seconds=SECONDS).energy for crf in crfs)
    slow = sum(solve(crf, "refine", seconds=LONGER).energy for crf in crfs)
    return 100 * (quick - slow) / max(abs(slow), 1e-9)


def show_potential(
    seconds: float, seed: int, report: Callable[[dict[str, Any]], None] | None = None
) -> PotentialStory:
    """Solve one of the potentials, train on it, and say what that brought.

    Parameters
    ----------
    seconds
        Of training.
    seed
        Of instances and training.
    report
        Called with figures while it goes on.
    """
    rooms = {wants: room(potential, seed) for wants, potential in POTENTIALS.items()}
    wants = max(rooms, key=lambda each: rooms[each])
    chosen = POTENTIALS[wants]
    crfs = [make(chosen, TRAINING_SEEDS + 1000 * seed + k) for k in range(INSTANCES)]
    first = solve(crfs[0])
    last: dict[str, Any] = {}

    def listen(line: dict[str, Any]) -> None:
        if "verdict" in line:
            last.update(line)
        elif report is not None:
            report(line)

    policy = train(crfs, goal="energy", budget=BUDGET, seconds=seconds, seed=seed, report=listen)
    known = ", ".join(f"{value:.1f} %" for value in rooms.values())
    said = (
        f"Solved at once, without training: energy {first.energy:.4g} in "
        f"{1000 * first.seconds:.0f} ms.",
        f"This one of {len(rooms)} potentials was taken because a millisecond leaves most room "
        f"there ({known}).",
        f"Training had {seconds:.0f} s, and {BUDGET} of CPU a node when it is used.",
        str(last["verdict"]) + ".",
    )
    plays = _plays(make(chosen, ROOM_SEEDS + seed), policy)
    return PotentialStory(chosen, wants, last["table"], said, bool(last["won"]), policy, plays)


def _plays(crf: CRF, policy: Policy) -> tuple[Play, ...]:
    """How both rules label a CRF: one to its end, the other in the time it was trained for."""
    found = []
    for name, solver, limit in (("untrained", "untrained", None), ("trained", policy, SECONDS)):
        solve(crf, solver, seconds=limit)  # kernels
        solution = solve(crf, solver, seconds=limit)
        order = np.zeros(0, np.int64) if solution.order is None else solution.order
        found.append(Play(name, solution.energy, solution.seconds, order, solution.labels))
    return tuple(found)
