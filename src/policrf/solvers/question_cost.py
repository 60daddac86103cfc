"""What questions to cliques cost, measured: what fits into the time that is left.

A custom function may take nanoseconds or milliseconds, and nothing tells but a call. A few visits
of a descent are timed; they are not lost, since the labels they leave are no worse. What a whole
descent or the half-way rule takes is then a number of visits, counted from the sizes of the CRF.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import COUNTS, PARTIAL, Arrays
from policrf.crf.changes import load_labels
from policrf.crf.potentials import COMPLETE, CUSTOM
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.solvers.moves.icm import descend
from policrf.solvers.run import Run

SLICES = (1, 1, 3, 40)  # visits that are timed at a time, if the first do not take too long
PROBES = sum(SLICES)
CALL = 5e-6  # seconds of a compiled call that visits nothing, about
DEAR, NOISE = 0.01, 1e-5  # of the time left, and seconds: a longer visit is measured well enough
DEAREST = 0.08  # of the time left: a visit as long as that is not repeated, cold caches or not
HOPELESS = 0.25  # of the time left: a visit as long as that, by what loading tells, is not made
SHORT, CHEAP = 0.003, 2e-6  # seconds left, and of a visit as loading tells: none is timed then
LOAD = 5e-8  # seconds a node of loading labels, without questions
LEAST = 4e-7  # seconds of a visit, at least
VISITS = 3.0  # visits of a node until no relabel lowers the energy, about
# Of the untrained policy, about: seconds to begin, and a node, without any question; visits a node,
# and for every two members of a clique whose answers differ from member to member.
BEGIN, NODE, STEPS, PAIRS = 3e-4, 3e-6, 2.0, 1.25


class QuestionCost(NamedTuple):
    """Seconds that ways to a labeling take, as a few visits predict them."""

    visit: float
    """To price all labels of one node, where all others are labeled."""
    descent: float
    """From the unaries until no single relabel lowers the energy (ICM)."""
    policy: float
    """The untrained policy, from nothing to the last label."""
    unasked: float
    """The same if questions took no time."""
    one_pass: float
    """Every node priced and labeled once, in an order that is known before."""


def question_cost(run: Run) -> QuestionCost:
    """What questions cost on this CRF; measured once in a run."""
    if run.visit_seconds is None:
        measure_visits(run, new_state(run.crf.arrays))
    visit, arrays = run.visit_seconds or LEAST, run.crf.arrays
    one_pass = run.crf.n_nodes * visit
    unasked = BEGIN + NODE * run.crf.n_nodes
    policy = unasked + policy_visits(arrays) * visit
    return QuestionCost(visit, VISITS * one_pass, policy, unasked, one_pass)


def measure_visits(run: Run, state: State) -> None:
    """Time some visits of nodes; `state` gets the start's labels, or slightly better ones.

    To load the labels asks every clique once: where that tells that a visit takes a good part of
    the time left, none is made; nor where it is cheap, and time is short. One that takes a smaller
    part is made twice, since caches are cold at first. Of all slices the fastest counts: other
    processes slow down one or the other.
    """
    arrays = run.crf.arrays
    n_nodes = run.crf.n_nodes
    labels = run.start_labels()
    begun = run.elapsed()
    load_labels(arrays, state, labels)
    raise_if_failed()
    visit = _visit_by_loading(arrays, run.elapsed() - begun)
    left = run.remaining()
    if visit > max(NOISE, HOPELESS * left) or (visit <= CHEAP and left < SHORT):
        run.visit_seconds = visit
        return
    queue = np.zeros(n_nodes, np.int64)
    nodes = np.arange(min(PROBES, n_nodes)) * max(1, n_nodes // PROBES)
    queue[: len(nodes)] = nodes
    queued = np.ones(n_nodes, np.bool_)  # so that none is added
    cursor = np.array([0, len(nodes)], np.int64)
    visit = np.inf
    for number, count in enumerate(SLICES):
        begun = run.elapsed()
        descend(arrays, state, queue, queued, cursor, count)
        raise_if_failed()
        visit = min(visit, max((run.elapsed() - begun - CALL) / count, LEAST))
        if visit > max(NOISE, (DEAR if number else DEAREST) * run.remaining()):
            break
    run.visit_seconds = float(visit)


def _visit_by_loading(arrays: Arrays, seconds: float) -> float:
    """Seconds of a visit, as those tell in which all labels were loaded: one question a clique."""
    asking = seconds - CALL - LOAD * len(arrays.unary)
    if asking <= 0:
        return LEAST
    asked = arrays.clique_kind >= CUSTOM
    if not asked.any():
        return LEAST
    sizes = np.diff(arrays.clique_ptr)[asked]
    a_node = float(sizes.sum()) / len(arrays.unary)  # cliques that a node is in, on average
    questions = a_node * arrays.unary.shape[1]
    return max(LEAST, float(asking / len(sizes) * questions))


def policy_visits(arrays: Arrays) -> float:
    """Visits of nodes that take as long as the untrained policy, about."""
    asked = (arrays.custom[:, PARTIAL] != COMPLETE) & (arrays.custom[:, COUNTS] < 0)
    visits = STEPS * len(arrays.unary)
    if asked.any():
        sizes = np.diff(arrays.clique_ptr)[asked].astype(np.float64)
        visits += PAIRS * float(sizes @ sizes) / 2
    return visits
