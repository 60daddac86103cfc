"""auto where cliques are asked half-way: quick answers first, then refine, all in one run.

What questions cost is measured (`question_cost`), and what kind of start suits the CRF is tried on
a few cliques (`start_trial`) where that takes a small part of the time:

    a clique seldom changes its answers        the half-way rule (untrained), where it fits
    questions are too dear to end a descent    cuts without them, then few questions
    half-way questions give lower labels       the half-way rule, or one question a node
    else                                       cuts without the custom groups, where they fit

With less than some milliseconds refine begins with single relabels of the unary argmin, and with
hardly any time there is nothing else: its setup takes as long as they do. Single relabels alone
come first wherever they take a small part of the time: no answer is above theirs then. The rule is
not begun where it would not end in time: its own steps take three microseconds a node.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.state import new_state
from policrf.solvers.first_answer import (
    descend_from,
    label_in_one_pass,
    label_when_complete,
    labels_quickly,
    settle,
)
from policrf.solvers.numbers import Numbers
from policrf.solvers.question_cost import (
    CHEAP,
    SHORT,
    QuestionCost,
    measure_visits,
    question_cost,
)
from policrf.solvers.refine.refine import refine_on
from policrf.solvers.refine.refine_rounds import Moves
from policrf.solvers.refine.refine_start import known_part
from policrf.solvers.run import Run
from policrf.solvers.spec import SOLVERS
from policrf.solvers.start_trial import LEAST_MEMBERS, VISITS, try_starts
from policrf.types import IntArray

CUT_TIME, CUT_NODE_TIME = 0.0003, 2.5e-6  # seconds of cuts, in all and a node
SMALL, LARGE = 0.1, 1.5  # shares of the time left: of what is soon over, and of what is hopeless
COMPLETE_NODE_TIME = 2.5e-6  # seconds a node of questions about complete cliques, these apart
HURRY, HURRY_NODE = 3e-4, 2.5e-7  # seconds, in all and a node: with less, refine hardly begins
LENIENT = 1.3  # times the time left: the first visits are slow, and a policy cut short does well
TRIAL_SHARE = 0.12  # of the time left: what a trial may take
HALF = 0.5  # of the time left: what the rule may take, and cuts


def ask_halfway(run: Run, numbers: Numbers) -> None:
    """Find a start by the rules above, and refine it while there is time."""
    start = begin_halfway(run)
    part(run, "refine", lambda run: refine_on(run, start, Moves(), numbers=numbers))


def begin_halfway(run: Run) -> IntArray:
    """Labels `[N]` to refine, by the rules above; what is found on the way is offered."""
    arrays, state = run.crf.arrays, new_state(run.crf.arrays)
    measure_visits(run, state)
    if (
        run.remaining() < HURRY + HURRY_NODE * run.crf.n_nodes
        and (run.visit_seconds or 0.0) <= CHEAP
    ):
        part(run, "icm", lambda run: settle(run, state))
        return state.labels
    cost, start, left = question_cost(run), state.labels, run.remaining()
    if cost.descent <= SMALL * left:
        part(run, "icm", lambda run: descend_from(run, run.start_labels()))
    if _rule_fits(arrays, cost, left) and labels_quickly(arrays, new_state(arrays)):
        part(run, "untrained", SOLVERS.get("untrained"))
    elif left < np.inf and cost.descent > LARGE * left:
        if COMPLETE_NODE_TIME * run.crf.n_nodes <= HALF * left:
            part(run, "few questions", _ask_seldom)
    elif run.initial is None:
        _find_start(run, cost)
    return start if run.best is None else run.best.copy()


def _rule_fits(arrays: Arrays, cost: QuestionCost, left: float) -> bool:
    """Whether the half-way rule ends soon enough to be worth more than relabels and moves.

    Its own steps should leave time for these, unless a clique has most of the nodes: moves of it
    are moves of the whole CRF, and take as long as the rule.
    """
    if cost.policy > LENIENT * left:
        return False
    sizes = np.diff(arrays.clique_ptr)
    return cost.unasked <= HALF * left or bool(2 * sizes.max(initial=0) > len(arrays.unary))


def _find_start(run: Run, cost: QuestionCost) -> None:
    """Offer a start where questions are cheap, if there is one that is worth its time."""
    left, cuts = run.remaining(), CUT_TIME + CUT_NODE_TIME * run.crf.n_nodes
    if left < SHORT:  # no start but relabels is worth its time
        return
    settled = cost.descent <= SMALL * left  # as the labels are that it is compared with

    def cut(run: Run) -> None:
        known = known_part(run)
        if known is not None:
            (descend_from if settled else Run.offer)(run, known)

    visits = TRIAL_SHARE * left / cost.visit
    if visits < VISITS * LEAST_MEMBERS:
        if cuts <= HALF * left:
            part(run, "known part", cut)
        return
    tried = try_starts(run.crf.arrays, visits)
    if tried.halfway_helps and cost.policy <= HALF * left:
        part(run, "untrained", SOLVERS.get("untrained"))
    elif tried.halfway_helps:
        if cost.policy > left or cost.one_pass <= SMALL * left:  # else refine asks soon enough
            part(run, "one pass", label_in_one_pass)
    elif cuts <= SMALL * left or (not tried.edges_hurt and cuts <= HALF * left):
        part(run, "known part", cut)


def _ask_seldom(run: Run) -> None:
    """Cuts on the known part, and questions about complete cliques, as far as time allows."""
    begun, left = run.elapsed(), run.remaining()
    if left >= CUT_TIME + CUT_NODE_TIME * run.crf.n_nodes:
        known = known_part(run, HALF)
        if known is not None:
            run.offer(known)
    if run.best is None or run.elapsed() - begun < SMALL * left:
        label_when_complete(run)


def part(run: Run, name: str, function: Callable[[Run], None]) -> None:
    """A part of this run, unless that is over; it is noted if anything is known after it."""
    if not is_done(run):
        begun = run.elapsed()
        function(run)
        if run.best is not None:
            run.info.setdefault("steps", []).append((name, run.energy, run.elapsed() - begun))


def is_done(run: Run) -> bool:
    """Whether nothing is left to do: time is out, or the labeling is proven to be best."""
    return run.optimal or run.expired() or run.proven()
