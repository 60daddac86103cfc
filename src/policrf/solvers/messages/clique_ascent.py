"""A step of dual ascent for cliques: costs move between a clique and its members.

A clique is told a share h_i of each member's belief; with it, it has the minimum F* and the
min-marginals M_i(x_i) ≥ 0, counted from F*. Giving ω M_i back to every member leaves the clique's
minimum at F* up to some largest ω, so that the bound does not fall. ω = 1/n is always possible
(MPLP, Globerson and Jaakkola 2007), but tells each of a thousand members next to nothing; the
largest ω is the least ratio of (cost − F*) to Σ M_i over labelings: Dinkelbach's iteration finds it
in a few minimisations.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel
from policrf.solvers.messages.clique_messages import clique_minimum, member_costs, send_from_clique
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.solvers.messages.message_passing import Messages
from policrf.types import FloatArray, IntArray

ROUNDS = 20  # minimisations that the largest ω may take


@kernel
def ascend(g: FactorGraph, m: Messages, first: int, stop: int) -> None:
    """New messages of cliques first … stop − 1; totals[0] += the minima F*.

    All cliques see the same beliefs, those of the last sweep: their shares of them are disjoint.
    """
    width = g.unary.shape[1]
    for c in range(first, stop):
        start = g.clique_ptr[c]
        size = g.clique_ptr[c + 1] - start
        h, marginal = np.empty((size, width)), np.empty((size, width))
        rest, labels = np.empty((size, width)), np.empty(size, np.int64)
        member_costs(g, c, m.clique_share, m.belief, m.from_cliques, h)
        lowest = clique_minimum(g, c, h, labels)
        m.totals[0] += lowest
        send_from_clique(g, c, h, marginal)
        to_marginals(g, c, h, marginal)
        part = largest_part(g, c, h, marginal, lowest, rest, labels)
        for i in range(size):
            for x in range(width):
                # A forbidden label stays forbidden at its node, whatever the clique could hold.
                allowed = g.allowed[g.clique_nodes[start + i], x]
                value = part * marginal[i, x] - h[i, x] if allowed else 0.0
                m.from_cliques[start + i, x] = value


@inner
def to_marginals(g: FactorGraph, c: int, h: FloatArray, messages: FloatArray) -> None:
    """`messages` [n, W] become min-marginals: plus h, less the minimum over a member's labels."""
    start = g.clique_ptr[c]
    for i in range(g.clique_ptr[c + 1] - start):
        low = np.inf
        for x in range(g.sizes[g.clique_nodes[start + i]]):
            low = min(low, messages[i, x] + h[i, x])
        for x in range(h.shape[1]):
            messages[i, x] += h[i, x] - low


@inner
def largest_part(
    g: FactorGraph,
    c: int,
    h: FloatArray,
    marginal: FloatArray,
    lowest: float,
    rest: FloatArray,
    labels: IntArray,
) -> float:
    """The largest ω ≤ 1 with min f_c + Σ (h_i − ω M_i) = F*; `rest` and `labels` are scratch."""
    size = len(labels)
    part = 1.0
    for _ in range(ROUNDS):
        for i in range(size):
            for x in range(h.shape[1]):
                rest[i, x] = h[i, x] - part * marginal[i, x]
        value = clique_minimum(g, c, rest, labels)
        given = 0.0
        for i in range(size):
            given += marginal[i, labels[i]]
        if value >= lowest - 1e-12 * g.scale or given <= 0 or part * size <= 1:
            break
        part = max((value + part * given - lowest) / given, 1.0 / size)
    return part
