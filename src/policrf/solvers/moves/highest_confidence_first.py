"""Highest confidence first (after Chou & Brown 1990): the surest node is labeled next.

The cost of label l of an unlabeled node i is what it adds to the partial energy, in which a term
counts once all its nodes are labeled; the node's confidence is the margin of its second-best label
over its best. Labeling a node changes the margins of its neighbours, and of the last unlabeled
member of each of its cliques, and of no other node: O(degree · (L + log N)) a step. A clique that
is asked half-way may change those of all its unlabeled members; where it counts labels, it does so
only where what it adds to them has changed.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel
from policrf.crf.arrays import COUNTS, PARTIAL, Arrays
from policrf.crf.changes import assign
from policrf.crf.energy import label_costs
from policrf.crf.potentials import COMPLETE
from policrf.crf.state import State, new_state
from policrf.crf.valued.additions import additions_change
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.solvers.feasibility.allowed_start import allowed_start
from policrf.solvers.moves.icm import relabel_single_nodes
from policrf.solvers.moves.indexed_heap import Heap, change_key, new_heap, order_heap, pop_first
from policrf.solvers.moves.violations import least_violating_first
from policrf.solvers.pace import Pace
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import FloatArray, IntArray

SLICE = 4_000  # nodes that a kernel call prices, about, without a limit
AT_FIRST = 8  # the same before the first look at the clock, with one


@declares(goes_on=True)
def highest_confidence_first(run: Run, *, descend: bool = True) -> None:
    """Label one node after the other, the one with the largest margin between two labels first.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Among equal margins the lowest node is first. A node with a single allowed label has an infinite
    margin. `Solution.order` is the order.

    Parameters
    ----------
    descend
        Whether to end in a local minimum, by single relabels (ICM), and at an allowed labeling
        where one is found.
    """
    start = run.start_labels()
    state, order = label_surest_first(run, run.crf.arrays)
    if len(order) < run.crf.n_nodes:
        run.info["labeled"] = len(order)
        run.offer(start)
        if len(order):
            run.offer(np.where(state.labels >= 0, state.labels, start))
        return
    run.order = order
    run.offer(state.labels)
    if descend:
        run.info["converged"] = relabel_single_nodes(run, state, np.arange(run.crf.n_nodes))
        run.offer(state.labels)
        if np.isinf(run.energy):  # looking for an allowed one asks every function again
            run.offer(allowed_start(run, state.labels))


def label_surest_first(
    run: Run, arrays: Arrays, at_first: int = AT_FIRST
) -> tuple[State, IntArray]:
    """The nodes labeled in the time of a run, and their order.

    `arrays` are the run's, or those with fewer terms or questions. A step that would take longer
    than what is left, by what pricing a node took so far, is not begun.
    """
    n_nodes = len(arrays.unary)
    state, heap = new_state(arrays), new_heap(n_nodes)
    order = np.empty(n_nodes, np.int64)
    seen = np.full_like(state.added, np.nan)
    began = run.elapsed()
    pace = None if run.seconds is None else Pace(run, at_first)
    scored, done, most = 0, 0, priced_at_once(arrays)
    while done < n_nodes and not run.expired():
        limit = SLICE if pace is None else pace.begin()
        if scored < n_nodes:
            stop = min(scored + limit, n_nodes)
            score_nodes(arrays, state, heap, scored, stop)
            raise_if_failed()
            scored = stop
            if scored == n_nodes:
                order_heap(heap)
                if most * (run.elapsed() - began) > n_nodes * run.remaining():
                    break
                if pace is not None and most:
                    pace = Pace(run, at_first)  # a question about more members takes longer
                    continue
        else:
            done = label_nodes(arrays, state, heap, order, seen, done, limit)
        raise_if_failed()
        if pace is not None:
            pace.end()
    return state, order[:done]


def priced_at_once(arrays: Arrays) -> int:
    """Members of the largest clique that answers each of them differently, at every step."""
    asked = (arrays.custom[:, PARTIAL] != COMPLETE) & (arrays.custom[:, COUNTS] < 0)
    return int(np.diff(arrays.clique_ptr)[asked].max(initial=0)) if asked.any() else 0


@inner
def best_label(a: Arrays, s: State, i: int, costs: FloatArray) -> int:
    """The cheapest label of node i; if all are forbidden by now, the least violating."""
    best, least = 0, np.inf
    for label in range(len(costs)):
        if costs[label] < least:
            best, least = label, costs[label]
    return best if least < np.inf else least_violating_first(a, s, i)


@inner
def margin(costs: FloatArray) -> float:
    """Second-lowest minus lowest cost; +inf where fewer than two labels are allowed."""
    least = second = np.inf
    for cost in costs:
        if cost < least:
            least, second = cost, least
        elif cost < second:
            second = cost
    return np.inf if second == np.inf else second - least


@kernel
def score_nodes(a: Arrays, s: State, h: Heap, start: int, stop: int) -> None:
    """Set the keys of the nodes start … stop − 1."""
    costs = np.empty(a.unary.shape[1])
    for i in range(start, stop):
        label_costs(a, s, i, costs)
        h.keys[i] = margin(costs)


@kernel
def label_nodes(
    a: Arrays, s: State, h: Heap, order: IntArray, seen: FloatArray, done: int, limit: int
) -> int:
    """Label nodes, `done` so far, until `limit` are priced or none is left; how many are."""
    costs = np.empty(a.unary.shape[1])
    priced = 0
    while done < len(order) and priced < limit:
        i = pop_first(h)
        label_costs(a, s, i, costs)
        assign(a, s, i, best_label(a, s, i, costs))
        order[done] = i
        done += 1
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            priced += rescore(a, s, h, a.adj_node[k], costs)
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            if clique_speaks(a, s, seen, i, c, a.node_entry[k], costs):
                for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                    priced += rescore(a, s, h, a.clique_nodes[m], costs)
    return done


@inner
def clique_speaks(
    a: Arrays, s: State, seen: FloatArray, i: int, c: int, entry: int, costs: FloatArray
) -> bool:
    """Whether labeling its member i changed what clique c costs its unlabeled members."""
    if a.custom[c, PARTIAL] == COMPLETE:
        return bool(s.labeled[c] == a.clique_ptr[c + 1] - a.clique_ptr[c] - 1)
    return a.custom[c, COUNTS] < 0 or additions_change(a, s, seen, i, c, entry, costs)


@inner
def rescore(a: Arrays, s: State, h: Heap, i: int, costs: FloatArray) -> int:
    """Bring the key of node i up to date, if it is not labeled yet; how many nodes that were."""
    if s.labels[i] >= 0:
        return 0
    label_costs(a, s, i, costs)
    change_key(h, i, margin(costs))
    return 1
