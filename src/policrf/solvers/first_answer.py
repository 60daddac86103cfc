"""A first answer where cliques are asked half-way, and whether the untrained policy is the second.

The first one labels the nodes in one pass, the surest unaries first, each with the label that is
cheapest then. A clique that counts labels adds the same to all its unlabeled members. While that
stays the same, a step costs O(L); where it changes at every step, as with a parity, all members are
priced again, and one pass ends far from a good labeling.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel, leaf
from policrf.crf.arrays import COUNTS, PARTIAL, Arrays
from policrf.crf.changes import assign, unassign
from policrf.crf.energy import label_costs
from policrf.crf.potentials import COMPLETE
from policrf.crf.state import State, new_state
from policrf.crf.valued.additions import additions_change
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.solvers.moves.highest_confidence_first import best_label
from policrf.solvers.pace import Pace
from policrf.solvers.run import Run
from policrf.types import FloatArray, IntArray

AT_FIRST = 128  # nodes before the first look at the clock
STEPS = 48  # that are tried in one clique
SELDOM = 0.25  # share of steps that may change what the clique adds


def label_in_one_pass(run: Run) -> None:
    """Offer the labels of one pass, if there is time for all of them."""
    arrays = run.crf.arrays
    two = np.partition(arrays.unary, 1, axis=1)[:, :2] if run.crf.n_labels > 1 else arrays.unary
    order = np.argsort(two[:, 0] - two[:, -1], kind="stable")
    state, costs, done = new_state(arrays), np.empty(run.crf.n_labels), 0
    pace = Pace(run, AT_FIRST)
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
        assign(a, s, i, best_label(a, i, costs))


def labels_quickly(arrays: Arrays) -> bool:
    """Whether all cliques asked half-way count labels, and the first seldom changes its answers."""
    asked = np.flatnonzero(arrays.custom[:, PARTIAL] != COMPLETE)
    if not len(asked) or (arrays.custom[asked, COUNTS] < 0).any():
        return False
    state = new_state(arrays)
    seen, scratch = np.full_like(state.added, np.nan), np.zeros(arrays.unary.shape[1])
    changed = share_of_changes(arrays, state, int(asked[0]), seen, scratch)
    raise_if_failed()
    return bool(changed <= SELDOM)


@kernel
def share_of_changes(a: Arrays, s: State, c: int, seen: FloatArray, scratch: FloatArray) -> float:
    """The share of steps that change what clique c adds; three labels in turn, then all undone."""
    start = a.clique_ptr[c]
    size = min(a.clique_ptr[c + 1] - start, STEPS)
    changed = 0
    for m in range(size):
        i = a.clique_nodes[start + m]
        assign(a, s, i, m % min(3, a.cardinalities[i]))
        changed += additions_change(a, s, seen, i, c, start + m, scratch)
    for m in range(size):
        unassign(a, s, a.clique_nodes[start + m])
    return float(changed / size)
