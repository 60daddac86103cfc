"""Which start suits a CRF, tried on a few of its cliques that are asked half-way.

Their members are labeled in three ways, all other nodes left unlabeled: by their unaries, by what
suits unaries and edges, and one after the other by half-way questions. Single relabels that hear
all terms settle each. The energies tell, for the price of some hundred visits of nodes, what whole
labelings would cost many times as much to find out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import PARTIAL, Arrays
from policrf.crf.changes import assign, load_labels, relabel
from policrf.crf.energy import label_costs
from policrf.crf.potentials import COMPLETE
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.solvers.moves.highest_confidence_first import best_label
from policrf.types import FloatArray, IntArray

LEAST_MEMBERS, MOST_MEMBERS = 24, 256  # nodes that are tried
ROUNDS = 2  # visits of a node, at most, while labels are settled
VISITS = 3 * ROUNDS + 2  # of each node in a trial, about
BY_UNARIES, BY_EDGES, BY_QUESTIONS = range(3)  # how labels are given first
MUCH, LITTLE = 0.04, 0.01  # shares of an energy: that promise a better start, and a worse one


class Tried(NamedTuple):
    """Energies of the members of the cliques that were tried, settled."""

    unaries: float
    edges: float
    questions: float

    @property
    def halfway_helps(self) -> bool:
        """Whether labels given by half-way questions are much lower than all others."""
        return _below(self.questions, min(self.unaries, self.edges), MUCH)

    @property
    def edges_hurt(self) -> bool:
        """Whether labels that suit the edges are higher than those of the unaries alone."""
        return _below(self.unaries, self.edges, LITTLE)


def _below(energy: float, other: float, share: float) -> bool:
    if not np.isfinite(other):
        return bool(np.isfinite(energy))
    return energy < other - share * max(abs(energy), abs(other))


def try_starts(arrays: Arrays, n_visits: float) -> Tried:
    """Try the three ways on some cliques, by about as many visits of nodes."""
    members = int(min(max(n_visits / VISITS, LEAST_MEMBERS), MOST_MEMBERS))
    nodes = _some_members(arrays, members)
    state, costs = new_state(arrays), np.empty(arrays.unary.shape[1])
    nobody = np.full(len(arrays.unary), -1, np.int64)
    found = []
    for way in (BY_UNARIES, BY_EDGES, BY_QUESTIONS):
        labels = nobody.copy()
        if way != BY_QUESTIONS:
            labels[nodes] = arrays.unary[nodes].argmin(axis=1)
        energy = settled_energy(arrays, state, nodes, labels, costs, way)
        raise_if_failed()
        found.append(float(energy))
    return Tried(*found)


def _some_members(arrays: Arrays, members: int) -> IntArray:
    """So many members of cliques from all over the CRF, those with the clearest unaries first."""
    asked = np.flatnonzero(arrays.custom[:, PARTIAL] != COMPLETE)
    ptr = arrays.clique_ptr
    size = max(1, int(ptr[asked[0] + 1] - ptr[asked[0]])) if len(asked) else 1
    chosen = asked[:: max(1, len(asked) * size // members)]
    parts = [arrays.clique_nodes[ptr[c] : ptr[c + 1]] for c in chosen[: 1 + members // size]]
    nodes = np.unique(np.concatenate([*parts, np.zeros(0, np.int64)])[:members])
    if arrays.unary.shape[1] > 1:
        two = np.partition(arrays.unary[nodes], 1, axis=1)
        nodes = nodes[np.argsort(two[:, 0] - two[:, 1], kind="stable")]
    return nodes


@leaf
def settled_energy(
    a: Arrays, s: State, nodes: IntArray, labels: IntArray, costs: FloatArray, way: int
) -> float:
    """The energy of the nodes alone, labeled in a way and settled; `labels` [N] are those before.

    Labels by edges are settled on unaries and edges first, without a question to any clique.
    """
    if way == BY_EDGES:
        for _ in range(ROUNDS):
            for i in nodes:
                edge_costs(a, labels, i, costs)
                labels[i] = cheapest(costs, labels[i])
    load_labels(a, s, labels)
    if way == BY_QUESTIONS:
        for i in nodes:
            label_costs(a, s, i, costs)
            assign(a, s, i, best_label(a, s, i, costs))
    for _ in range(ROUNDS):
        for i in nodes:
            label_costs(a, s, i, costs)
            best = cheapest(costs, s.labels[i])
            if best != s.labels[i]:
                relabel(a, s, i, best)
    return np.inf if s.forbidden[0] else s.total[0]


@inner
def edge_costs(a: Arrays, labels: IntArray, i: int, costs: FloatArray) -> None:
    """What the labels of node i cost by its unary and its edges, up to a constant."""
    for label in range(len(costs)):
        costs[label] = a.unary[i, label]
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        y = labels[a.adj_node[k]]
        if y >= 0:
            costs[y] -= a.adj_weight[k]


@inner
def cheapest(costs: FloatArray, own: int) -> int:
    """The label of the lowest cost; `own` where none is lower."""
    best = own
    for label in range(len(costs)):
        if costs[label] < costs[best]:
            best = label
    return best
