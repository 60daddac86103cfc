"""One rule for belief propagation and both forms of tree-reweighted message passing.

A node's belief is b_i = θ_i + Σ of the messages into it. Along the term (i, j) it sends

    m_ij(x_j) = min over x_i of  share_ij · b_i(x_i) − m_ji(x_i) + θ_ij(x_i, x_j).

share = 1 is belief propagation, share = 1 / (number of chains through i) is TRW-S (Kolmogorov
2006), and share = ρ_ij, the edge's probability of being in a spanning tree, is tree-reweighted
belief propagation (Wainwright et al. 2005), its messages multiplied by ρ. Whatever the messages,

    E(x) = Σ_i b_i(x_i) + Σ_ij [θ_ij − m_ij − m_ji] + Σ_c [f_c − Σ_i m_ci],

so that after a backward sweep, in which every node gave at most its whole belief away, the
constants taken out of beliefs and messages, and the minima of the cliques, add up to a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.solvers.messages.graph.pair_terms import POTTS
from policrf.solvers.messages.pair_messages import send
from policrf.types import FloatArray

FORWARD, BACKWARD, ALL = 1, -1, 0
UNDAMPED = -1.0  # no damping, and nobody asks how much the messages changed


class Messages(NamedTuple):
    """All messages of a factor graph of V nodes, A arcs and M clique entries; W labels. Mutable."""

    share: FloatArray  # [A]; the part of a node's belief that goes along the arc
    clique_share: FloatArray  # [M]; the part that goes to the clique
    along: FloatArray  # [A, W]; row k is the message into the node that arc k belongs to
    from_cliques: FloatArray  # [M, W]
    belief: FloatArray  # [V, W]; less its minimum
    totals: FloatArray  # [2]; constants taken out, largest change of a message


@leaf
def collect(
    g: FactorGraph, i: int, along: FloatArray, from_cliques: FloatArray, belief: FloatArray
) -> float:
    """b_i less its minimum into `belief[i]`; returns the minimum.

    It is given the three arrays of `Messages` that it needs, not all: calls pass arrays by value.
    """
    width = g.unary.shape[1]
    for x in range(width):
        belief[i, x] = g.unary[i, x]
    for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
        for x in range(width):
            belief[i, x] += along[k, x]
    for at in range(g.member_ptr[i], g.member_ptr[i + 1]):
        entry = g.member_entry[at]
        for x in range(width):
            belief[i, x] += from_cliques[entry, x]
    low = belief[i, 0]
    for x in range(1, width):
        low = belief[i, x] if belief[i, x] < low else low
    for x in range(width):
        belief[i, x] -= low
    return float(low)


@inner
def pass_potts(
    weight: float,
    part: float,
    belief: FloatArray,
    messages: FloatArray,
    k: int,
    h: FloatArray,
    sent: FloatArray,
    back: int,
) -> float:
    """`send_potts` with a weight ≥ 0, fused with what comes before and after it: the hot loop."""
    low = np.inf
    for x in range(len(h)):
        h[x] = part * belief[x] - messages[k, x]
        low = h[x] if h[x] < low else low
    for x in range(len(h)):
        value = h[x] - low
        sent[back, x] = value if value < weight else weight
    return low


@kernel
def sweep(
    g: FactorGraph,
    m: Messages,
    sent: FloatArray,
    first: int,
    stop: int,
    direction: int,
    damping: float,
) -> None:
    """Nodes first … stop − 1 send along their arcs to later (FORWARD), earlier or ALL nodes.

    FORWARD and BACKWARD visit the nodes in that order, and `sent` is `m.along` itself; ALL needs
    another array. totals[0] += the constants taken out. totals[1] becomes the largest change of a
    message, except with damping = UNDAMPED.
    """
    width, share, messages = g.unary.shape[1], m.share, m.along
    from_cliques, belief = m.from_cliques, m.belief
    own, h, out = np.empty(width), np.empty(width), np.empty((1, width))
    constants, change = 0.0, m.totals[1]
    for step in range(stop - first):
        i = stop - 1 - step if direction == BACKWARD else first + step
        constants += collect(g, i, messages, from_cliques, belief)
        for x in range(width):
            own[x] = belief[i, x]
        for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
            if (g.arc_node[k] - i) * direction < 0:
                continue
            back = g.arc_reverse[k]
            weight = g.arc_weight[k]
            fast = g.arc_kind[k] == POTTS and weight >= 0
            if fast and damping < 0:
                constants += pass_potts(weight, share[k], own, messages, k, h, sent, back)
                continue
            if fast:
                constants += pass_potts(weight, share[k], own, messages, k, h, out, 0)
            else:
                for x in range(width):
                    h[x] = share[k] * own[x] - messages[k, x]
                constants += send(g, k, h, out[0])
            for x in range(width):
                old = messages[back, x]
                value = out[0, x] + max(damping, 0.0) * (old - out[0, x])
                size = abs(value - old)
                change = size if size > change else change
                sent[back, x] = value
    m.totals[0] += constants
    m.totals[1] = change
