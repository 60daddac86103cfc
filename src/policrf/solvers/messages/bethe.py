"""The minimum of an energy without cycles, from converged belief propagation.

Whatever the messages, E(x) = Σ_i (1 − d_i) b_i(x_i) + Σ over terms [f + Σ_i (b_i − m_fi)](x_f), d_i
being the number of terms of node i. On a forest the b_i and the brackets are min-marginals: a
minimiser of E is one of each of them, so that E* is the same sum of their minima.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.solvers.messages.clique_messages import clique_minimum, member_costs
from policrf.solvers.messages.graph.factor_graph import FactorGraph, all_terms
from policrf.solvers.messages.message_passing import Messages, collect
from policrf.solvers.messages.message_state import MessageState
from policrf.solvers.messages.pair_messages import send
from policrf.solvers.messages.spanning_forests import forest
from policrf.types import FloatArray


def has_no_cycle(g: FactorGraph) -> bool:
    """Whether the factor graph is a forest, on which min-sum messages are exact."""
    ptr, nodes, _ = all_terms(g)
    return bool(forest(ptr, nodes, np.arange(len(ptr) - 1), len(g.unary)).all())


def bethe_value(state: MessageState) -> float:
    """The sum above, of converged messages."""
    ones = np.ones(len(state.graph.clique_nodes))
    return float(sum_of_minima(state.graph, state.messages, ones))


@kernel
def sum_of_minima(g: FactorGraph, m: Messages, ones: FloatArray) -> float:
    """Beliefs less their minima cancel out of the first sum: what is left of it are the minima.

    A clique is told the whole beliefs of its members: `ones` [M] is its share of them.
    """
    n_nodes, width = g.unary.shape
    messages, belief = m.along, m.belief
    h, out = np.empty(width), np.empty(width)
    total = 0.0
    for i in range(n_nodes):
        total += collect(g, i, messages, m.from_cliques, belief)
    for i in range(n_nodes):
        for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
            back = g.arc_reverse[k]
            if k < back:
                for x in range(width):
                    h[x] = belief[i, x] - messages[k, x]
                total += send(g, k, h, out)
                j = g.arc_node[k]
                low = np.inf
                for x in range(g.sizes[j]):
                    low = min(low, out[x] + belief[j, x] - messages[back, x])
                total += low
    for c in range(len(g.clique_kind)):
        size = g.clique_ptr[c + 1] - g.clique_ptr[c]
        h_clique, labels = np.empty((size, width)), np.empty(size, np.int64)
        member_costs(g, c, ones, belief, m.from_cliques, h_clique)
        total += clique_minimum(g, c, h_clique, labels)
    return total
