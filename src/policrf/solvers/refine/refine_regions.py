"""Region moves: a connected set of nodes of one label (over Potts edges) relabeled as a whole.

For a region R of label y the change to label b is Σ_{i ∈ R} f_i(b) − f_i(y), plus w ([b ≠ y_j] − 1)
for every edge that leaves R, plus what the counting cliques of labels y and b say to the moved
members.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel
from policrf.crf.arrays import Arrays
from policrf.crf.changes import relabel
from policrf.crf.energy import counting_energy
from policrf.crf.state import State
from policrf.solvers.moves.local_search import LocalSearch, adopt
from policrf.types import BoolArray, FloatArray, IntArray


@kernel
def region_move(
    a: Arrays,
    s: State,
    q: LocalSearch,
    visited: BoolArray,
    region: IntArray,
    start: int,
    limit: int,
) -> tuple[int, bool]:
    """Relabel the first region that promises a gain, of the nodes from `start` on not `visited`.

    Returns the node to go on from, after about `limit` nodes or a move, and whether there was one.
    Tables and custom cliques are not foreseen: the caller descends, then keeps or takes it back.
    `region` [N] is scratch space.
    """
    n_nodes, n_labels = a.unary.shape
    shift = np.empty(n_labels)
    inside = np.zeros(len(a.clique_kind), np.int64)
    seed = start
    while seed < n_nodes and limit > 0:
        if not visited[seed]:
            size = collect(a, s, visited, region, seed)
            limit -= size
            if size > 1:
                predict(a, s, region, size, inside, shift)
                best = int(np.argmin(shift))
                if shift[best] < -q.margin[0]:
                    for at in range(size):
                        old = s.labels[region[at]]
                        relabel(a, s, region[at], best)
                        adopt(a, s, q, region[at], old)
                    return seed + 1, True
        seed += 1
    return seed, False


@inner
def collect(a: Arrays, s: State, visited: BoolArray, region: IntArray, seed: int) -> int:
    """The connected nodes of the seed's label, into `region`; returns how many."""
    label = s.labels[seed]
    region[0] = seed
    visited[seed] = True
    size, at = 1, 0
    while at < size:
        i = region[at]
        at += 1
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            if s.labels[j] == label and not visited[j]:
                visited[j] = True
                region[size] = j
                size += 1
    return size


@inner
def predict(
    a: Arrays, s: State, region: IntArray, size: int, inside: IntArray, shift: FloatArray
) -> None:
    """The change in energy for every label of the region, tables and custom cliques left out."""
    own = s.labels[region[0]]
    shift[:] = 0.0
    base = 0.0
    for at in range(size):
        i = region[at]
        for label in range(len(shift)):
            shift[label] += a.unary[i, label]
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            other = s.labels[a.adj_node[k]]
            if other != own:
                # An edge that leaves the region: its weight is paid now, and by all labels but one.
                shift[other] -= a.adj_weight[k]
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            inside[a.node_clique[k]] += 1
    for at in range(size):
        i = region[at]
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            label, moved = a.clique_label[c], inside[c]
            inside[c] = 0
            if moved and label >= 0:
                now = counting_energy(a, c, s.matches[c])
                if label == own:
                    base += counting_energy(a, c, s.matches[c] - moved) - now
                else:
                    shift[label] += counting_energy(a, c, s.matches[c] + moved) - now
    current = shift[own]
    for label in range(len(shift)):
        shift[label] = (
            shift[label] + base - current if label != own and current < np.inf else np.inf
        )
