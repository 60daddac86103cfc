"""Where refine starts: another solver's labels, or those that the known part of an energy likes.

Where cliques are opaque, cuts minimise what is left without them: a labeling that suits unaries and
edges is closer to one that suits all than the unaries alone are, and costs no call of a function.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from policrf.crf.arrays import PARTIAL, Arrays
from policrf.crf.model import CRF
from policrf.crf.potentials import COMPLETE, CUSTOM, CliquePotential, Potential
from policrf.errors import UnsupportedPotential
from policrf.solvers.run import Run
from policrf.types import IntArray

DEFAULT_START = "alpha_expansion"
SLOWER = 20  # highest_confidence_first takes up to so many times as long as icm
# With fewer seconds left, in all or a node, the known part is not worth its time.
LEAST_TIME, NODE_TIME = 0.003, 4e-6
KNOWN_SHARE = 0.2  # of the time left, for the known part


def is_opaque(a: Arrays) -> bool:
    """Whether there are cliques that are asked half-way, or of which only values are known."""
    return bool(((a.custom[:, PARTIAL] != COMPLETE) | (a.clique_kind >= CUSTOM)).any())


class Start(NamedTuple):
    """Labels to start from."""

    labels: IntArray
    solver: str
    bound: float = -math.inf
    """A lower bound of the energy that came with them."""


def find_start(run: Run, start: str) -> Start | None:
    """Where to start; None where the search begins with its own first answer."""
    default, custom = start == DEFAULT_START, (run.crf.arrays.clique_kind == CUSTOM).any()
    if not default or not custom:
        try:
            return _solved(run, start)
        except UnsupportedPotential:
            if not default:
                raise
    if is_opaque(run.crf.arrays):
        labels = known_part(run)
        return None if labels is None else Start(labels, "known part")
    begun = run.elapsed()
    first = _solved(run, "icm")
    if run.remaining() < SLOWER * (run.elapsed() - begun):
        return first
    second = _solved(run, "highest_confidence_first")
    return min(first, second, key=lambda found: run.crf.energy(found.labels))


def _solved(run: Run, solver: str) -> Start:
    from policrf.solvers import solve

    problem = run.instance if run.instance is not None else run.crf
    seconds = None if run.seconds is None else run.remaining()
    found = solve(problem, solver, seconds=seconds, seed=run.seed)
    return Start(found.labels, found.solver, found.lower_bound)


def known_groups(crf: CRF) -> list[Potential]:
    """The groups that are not opaque: cuts and messages can look into them."""
    return [
        group
        for group in crf.potentials
        if not isinstance(group, CliquePotential) or group.kind < CUSTOM
    ]


def known_part(run: Run) -> IntArray | None:
    """Labels `[N]` of alpha-expansion without opaque groups; None without time or other groups."""
    from policrf.solvers import solve

    known = known_groups(run.crf)
    if not known or run.remaining() < max(LEAST_TIME, NODE_TIME * run.crf.n_nodes):
        return None
    seconds = None if run.seconds is None else KNOWN_SHARE * run.remaining()
    try:
        return solve(run.crf.with_potentials(*known), DEFAULT_START, seconds=seconds).labels
    except UnsupportedPotential:
        return None
