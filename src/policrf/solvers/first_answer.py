"""First answers where cliques are asked half-way, in a fraction of a millisecond.

A clique that counts labels adds the same to all its unlabeled members. While that stays the same, a
step of the half-way rule costs O(L), and the untrained policy is the best answer to begin with
(`labels_quickly`). Where it changes at every step, as with a parity, all members are priced again,
for less than that is worth. *When complete* is for functions that are too expensive to be asked at
every step: a clique has a say in the label of its last member.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.crf.arrays import COUNTS, PARTIAL, Arrays
from policrf.crf.changes import assign, load_labels, unassign
from policrf.crf.checks import frozen
from policrf.crf.energy import label_costs
from policrf.crf.potentials import COMPLETE
from policrf.crf.state import State, new_state
from policrf.crf.valued.additions import additions_change
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.solvers.moves.highest_confidence_first import best_label, label_surest_first
from policrf.solvers.moves.icm import relabel_single_nodes
from policrf.solvers.pace import Pace, first_visits
from policrf.solvers.question_cost import QuestionCost
from policrf.solvers.run import Run
from policrf.types import FloatArray, IntArray

AT_FIRST = 64  # nodes that are priced, most without a question, before the first look at the clock
ONE_PASS_AT_FIRST = 128  # the same where every node costs questions, unless these are timed
STEPS = 8  # that are tried in one clique
SELDOM = 0.4  # share of steps that may change what the clique adds


def label_when_complete(run: Run) -> None:
    """Offer highest confidence first with cliques asked when their last member is labeled.

    A clique costs one question for each label of that member, whatever its size. What time is left
    goes to single relabels.
    """
    arrays = run.crf.arrays
    custom = arrays.custom.copy()
    custom[:, PARTIAL] = COMPLETE
    found, order = label_surest_first(run, arrays._replace(custom=frozen(custom)), AT_FIRST)
    if len(order) == run.crf.n_nodes:  # the state of a complete labeling is that of the CRF
        relabel_single_nodes(run, found, np.arange(run.crf.n_nodes))
        raise_if_failed()
        run.offer(found.labels)
    else:
        run.offer(np.where(found.labels >= 0, found.labels, run.start_labels()))


def descend_from(run: Run, labels: IntArray) -> None:
    """Offer what single relabels (ICM) make of `labels` in time."""
    state = new_state(run.crf.arrays)
    load_labels(run.crf.arrays, state, labels)
    settle(run, state)


def settle(run: Run, state: State) -> None:
    """Offer what single relabels make of a labeled state in time."""
    relabel_single_nodes(run, state, np.arange(run.crf.n_nodes))
    raise_if_failed()
    run.offer(state.labels)


def label_in_time(run: Run, cost: QuestionCost, labels: IntArray) -> IntArray:
    """Labels where the half-way rule takes too long: by one question a node, and by few questions.

    One pass asks half-way too, about every node once, in an order that is known before; it comes
    first where there is time to end it by relabels, and relabels of `labels` alone where there is
    time for no more. Then cliques are asked when complete. The lowest of all is returned.
    """
    if cost.one_pass + cost.descent < run.remaining():
        label_in_one_pass(run)
        if run.best is not None and not run.expired():
            descend_from(run, run.best)
    elif cost.descent < run.remaining():
        descend_from(run, labels)
    if not run.expired():
        label_when_complete(run)
    return labels if run.best is None else run.best.copy()


def label_in_one_pass(run: Run) -> None:
    """Offer labels given in the order of the unaries' margins, each the cheapest then.

    Nothing is offered if time is out before the last one.
    """
    arrays, state = run.crf.arrays, new_state(run.crf.arrays)
    two = np.partition(arrays.unary, 1, axis=1)[:, :2] if run.crf.n_labels > 1 else arrays.unary
    order = np.argsort(two[:, 0] - two[:, -1], kind="stable")
    costs, done = np.empty(run.crf.n_labels), 0
    pace = Pace(run, first_visits(run, ONE_PASS_AT_FIRST))
    while done < len(order) and not run.expired():
        stop = min(done + pace.begin(), len(order))
        label_cheapest(arrays, state, order[done:stop], costs)
        raise_if_failed()
        pace.end()
        done = stop
    if done == len(order):
        run.offer(state.labels)


@leaf
def label_cheapest(a: Arrays, s: State, nodes: IntArray, costs: FloatArray) -> None:
    """Give the nodes, one after the other, the label that is cheapest then."""
    for i in nodes:
        label_costs(a, s, i, costs)
        assign(a, s, i, best_label(a, s, i, costs))


def labels_quickly(arrays: Arrays, state: State) -> bool:
    """Whether all cliques asked half-way count labels, and the first seldom changes its answers.

    The empty `state` is empty again afterwards.
    """
    asked = np.flatnonzero(arrays.custom[:, PARTIAL] != COMPLETE)
    if not len(asked) or (arrays.custom[asked, COUNTS] < 0).any():
        return False
    seen, scratch = np.full_like(state.added, np.nan), np.zeros(arrays.unary.shape[1])
    changed = share_of_changes(arrays, state, int(asked[0]), seen, scratch)
    raise_if_failed()
    return bool(changed <= SELDOM)


@kernel
def share_of_changes(a: Arrays, s: State, c: int, seen: FloatArray, scratch: FloatArray) -> float:
    """The share of steps that change what clique c adds; two labels in turn, then all undone."""
    start = a.clique_ptr[c]
    size = min(a.clique_ptr[c + 1] - start, STEPS)
    changed = 0
    for m in range(size):
        i = a.clique_nodes[start + m]
        assign(a, s, i, m % min(2, a.cardinalities[i]))
        changed += additions_change(a, s, seen, i, c, start + m, scratch)
    for m in range(size):
        unassign(a, s, a.clique_nodes[start + m])
    return float(changed / size)
