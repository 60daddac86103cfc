"""Where refine starts: another solver's labels, or those that the known part of an energy likes.

Where cliques are opaque, cuts minimise what is left without them: a labeling that suits unaries and
edges is closer to one that suits all than the unaries alone are, and costs no call of a function.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from policrf.crf.arrays import PARTIAL, Arrays
from policrf.crf.model import CRF
from policrf.crf.potentials import COMPLETE, CUSTOM, CliquePotential, Potential
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.solvers.run import Run
from policrf.types import IntArray, Solution

DEFAULT_START = "alpha_expansion"
SLOWER = 20  # highest_confidence_first takes up to so many times as long as icm
# With fewer seconds left, in all or a node, the known part is not worth its time.
LEAST_TIME, NODE_TIME = 0.003, 4e-6
KNOWN_SOLVER = "alpha_expansion:orders=1"  # a second order is not worth its time: it is a start
KNOWN_SHARE = 0.2  # of the time left, for the known part
MESSAGE_SHARE = 0.25  # of the time left, for belief propagation where cuts do not apply
MESSAGE_TIME = 0.02  # seconds: with less, laying out its graph is all that it gets to


def is_opaque(a: Arrays) -> bool:
    """Whether there are cliques that are asked half-way, or of which only values are known."""
    return bool(((a.custom[:, PARTIAL] != COMPLETE) | (a.clique_kind >= CUSTOM)).any())


class Start(NamedTuple):
    """Labels to start from."""

    labels: IntArray
    solver: str
    found: Solution | None = None
    """The run that they came from, on the same CRF, and what it claims."""


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
        least = max(LEAST_TIME, NODE_TIME * run.crf.n_nodes)
        labels = known_part(run) if run.remaining() >= least else None
        return None if labels is None else Start(labels, "known part")
    return _best_of_three(run)


def _best_of_three(run: Run) -> Start:
    """icm, then as far as there is time for them highest confidence first and some messages.

    Messages see further than single relabels, but loops may mislead them: the lowest energy wins.
    """
    begun = run.elapsed()
    found = [_solved(run, "icm")]
    spent = run.elapsed() - begun
    if run.remaining() > SLOWER * spent:
        found.append(_solved(run, "highest_confidence_first"))
    if MESSAGE_SHARE * run.remaining() > max(MESSAGE_TIME, 2 * spent):
        # Not where a clique without a closed form is too large for a table.
        with suppress(UnsupportedPotential, TooLarge):
            found.append(_solved(run, "belief_propagation", MESSAGE_SHARE))
    for start in found:
        if start.found is not None:
            run.inherit(start.found)
    return min(found, key=lambda start: run.crf.energy(start.labels))


def _solved(run: Run, solver: str, share: float = 1.0) -> Start:
    from policrf.solvers import solve

    problem = run.instance if run.instance is not None else run.crf
    seconds = None if run.seconds is None else share * run.remaining()
    found = solve(problem, solver, seconds=seconds, seed=run.seed, go_on=False)
    return Start(found.labels, found.solver, found)


def known_groups(crf: CRF) -> list[Potential]:
    """The groups that are not opaque: cuts and messages can look into them."""
    return [
        group
        for group in crf.potentials
        if not isinstance(group, CliquePotential) or group.kind < CUSTOM
    ]


def known_part(run: Run, share: float = KNOWN_SHARE) -> IntArray | None:
    """Labels `[N]` of alpha-expansion without opaque groups; None where no cut takes what is left.

    It gets this share of the time left.
    """
    from policrf.solvers import solve

    known = known_groups(run.crf)
    if not known:
        return None
    seconds = None if run.seconds is None else share * run.remaining()
    try:
        crf = run.crf.with_potentials(*known)
        return solve(crf, KNOWN_SOLVER, seconds=seconds, go_on=False).labels
    except UnsupportedPotential:
        return None
