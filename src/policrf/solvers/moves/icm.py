"""ICM, iterated conditional modes (Besag 1986): relabel single nodes while it lowers the energy.

Where terms forbid, fewer of them come first (`violations`).
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, inner_kernel, kernel
from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels, relabel
from policrf.crf.energy import label_costs
from policrf.crf.potentials import CUSTOM
from policrf.crf.state import State, new_state
from policrf.solvers.moves.node_rounding import node_rounding
from policrf.solvers.moves.violations import least_violating
from policrf.solvers.pace import Pace, first_visits
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import BoolArray, FloatArray, IntArray

FIRST = 1_000  # nodes that the first kernel call visits (a hundredth with Custom terms)


@declares(goes_on=True)
def icm(run: Run) -> None:
    """Relabel single nodes while that lowers the energy, until no node is left where it does.

    With `seconds`, search goes on from its labels until they are over (`go_on`).
    """
    state = new_state(run.crf.arrays)
    load_labels(run.crf.arrays, state, run.start_labels())
    run.info["converged"] = relabel_single_nodes(run, state, np.arange(run.crf.n_nodes))
    run.offer(state.labels)


def relabel_single_nodes(run: Run, state: State, nodes: IntArray) -> bool:
    """Lower the energy of `state` by single relabels, from `nodes` outwards; False without time."""
    n_nodes = run.crf.n_nodes
    queue, queued = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.bool_)
    queue[: len(nodes)] = nodes
    queued[nodes] = True
    cursor = np.array([0, len(nodes)], np.int64)
    arrays = run.crf.arrays
    plain = (arrays.clique_kind != CUSTOM).all()
    pace = Pace(run, first_visits(run, FIRST if plain else FIRST // 100))
    while cursor[1] > 0 and not run.expired():
        descend(arrays, state, queue, queued, cursor, pace.begin())
        pace.end()
    return bool(cursor[1] == 0)


@kernel
def descend(
    a: Arrays, s: State, queue: IntArray, queued: BoolArray, cursor: IntArray, limit: int
) -> None:
    """Visit up to `limit` nodes of the ring buffer `queue` (cursor = first, length)."""
    n_nodes, n_labels = a.unary.shape
    costs = np.empty(n_labels)
    for _ in range(limit):
        if cursor[1] == 0:
            return
        i = queue[cursor[0]]
        cursor[0] = (cursor[0] + 1) % n_nodes
        cursor[1] -= 1
        queued[i] = False
        label_costs(a, s, i, costs)
        best = s.labels[i]
        # The margin keeps rounding from relabeling back and forth between equal labels.
        lowest = costs[best] - 1e-12 * abs(costs[best]) if np.isfinite(costs[best]) else np.inf
        if lowest < np.inf:
            for label in range(n_labels):
                if costs[label] < lowest:
                    best, lowest = label, costs[label]
        else:
            best = least_violating(a, s, i, 1e-12 * abs(s.total[0]))
        if best != s.labels[i] and _take(a, s, i, best, costs):
            push_neighbours(a, i, queue, queued, cursor)


@inner
def _take(a: Arrays, s: State, i: int, label: int, costs: FloatArray) -> bool:
    """Relabel node i, unless what that gains may be rounding: relabels would go round in circles.

    Terms that cancel make sums that say nothing of what they were rounded by.
    """
    old, total, before = s.labels[i], s.total[0], node_rounding(a, s, i)
    gain = costs[old] - costs[label]
    relabel(a, s, i, label)
    if gain > before + node_rounding(a, s, i) or not np.isfinite(gain):
        return True
    relabel(a, s, i, old)
    s.total[0] = total
    return False


@inner_kernel
def push_neighbours(
    a: Arrays, i: int, queue: IntArray, queued: BoolArray, cursor: IntArray
) -> None:
    """Queue every node that shares an edge or a clique with node i."""
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        push(a.adj_node[k], queue, queued, cursor)
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            if a.clique_nodes[m] != i:
                push(a.clique_nodes[m], queue, queued, cursor)


@inner
def push(j: int, queue: IntArray, queued: BoolArray, cursor: IntArray) -> None:
    """Queue node j unless it is in the queue already."""
    if not queued[j]:
        queued[j] = True
        queue[(cursor[0] + cursor[1]) % len(queue)] = j
        cursor[1] += 1


def local_minimum(run: Run, labels: IntArray) -> IntArray:
    """ICM from `labels`, as far as the time allows."""
    state = new_state(run.crf.arrays)
    load_labels(run.crf.arrays, state, labels)
    relabel_single_nodes(run, state, np.arange(len(labels)))
    return state.labels
