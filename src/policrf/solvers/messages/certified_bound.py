"""A lower bound that holds whatever rounding did to the messages.

With b_i = θ_i + Σ of the messages into node i, c_i any function of its label, and g ≥ 0 any shares,

    E(x) = Σ_i [b_i − Σ g_it c_i](x_i) + Σ over terms t [f_t + Σ_i (g_it c_i − m_ti)](x_t)

is an identity, for the numbers that are stored as they are: nothing that happened on the way to
them matters. The minima of the brackets add up to a lower bound. Each entry is lowered by what
evaluating it may be off by before the minimum is taken. Labels that a node's own terms forbid
are left out: who uses them has no finite energy.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from policrf.compiled import inner, kernel
from policrf.crf.potentials import DOMINANT, TABLE
from policrf.solvers.claims import UNIT, Terms
from policrf.solvers.messages.clique_messages import advance, clique_minimum
from policrf.solvers.messages.graph.factor_graph import FactorGraph, all_terms
from policrf.solvers.messages.graph.pair_terms import POTTS
from policrf.solvers.messages.message_passing import Messages, collect
from policrf.solvers.messages.pair_messages import pair_cost
from policrf.solvers.messages.spanning_forests import forest
from policrf.solvers.moves.cheapest import cheapest_other
from policrf.types import FloatArray, IntArray

SAFE = 2.0 * UNIT  # per operation; twice what one can be off by


def coarse_margin(g: FactorGraph, terms: Terms) -> float:
    """What the sums of one sweep may be off by: terms times all that the terms can differ by.

    What forbids is a thousand times as large (`finite_costs`), and eats as many digits.
    """
    forbids = forbids_labels(g) or bool((g.tables > g.forbidden / 2).any())
    span = (1.0 if forbids else 0.001) * g.forbidden + terms.absolute
    return 16 * (terms.number + 64) * UNIT * span


def forbids_labels(g: FactorGraph) -> bool:
    """Whether some node's own terms forbid some of its labels."""
    real = np.arange(g.unary.shape[1]) < g.sizes[:, None]
    return not g.allowed[real].all()


def chain_gifts(g: FactorGraph, m: Messages) -> tuple[FloatArray, FloatArray]:
    """The shares of a backward sweep: to earlier nodes and to cliques."""
    own = np.repeat(np.arange(len(g.unary)), np.diff(g.arc_ptr))
    return np.where(g.arc_node < own, m.share, 0.0), m.clique_share


def has_no_cycle(g: FactorGraph) -> bool:
    """Whether the factor graph is a forest, on which min-sum messages are exact."""
    ptr, nodes, _ = all_terms(g)
    return bool(forest(ptr, nodes, np.arange(len(ptr) - 1), len(g.unary)).all())


def tree_gifts(g: FactorGraph) -> tuple[FloatArray, FloatArray]:
    """On a forest: every node gives all that it has to the term on its way to the root."""
    ptr, nodes, first = all_terms(g)
    n_nodes, n_terms, n_cliques = len(g.unary), len(ptr) - 1, len(g.clique_kind)
    term = np.repeat(np.arange(n_terms), np.diff(ptr))
    size = n_nodes + n_terms
    graph = coo_array((np.ones(len(nodes), np.int8), (nodes, n_nodes + term)), shape=(size, size))
    count, part = connected_components(graph, directed=False)
    roots = np.full(count, size)
    np.minimum.at(roots, part, np.arange(size))
    row, column = np.append(nodes, roots), np.append(n_nodes + term, np.full(count, size))
    rooted = coo_array((np.ones(len(row), np.int8), (row, column)), shape=(size + 1, size + 1))
    _, above = breadth_first_order(rooted.tocsr(), size, directed=False)
    give, clique_give = np.zeros(len(g.arc_node)), np.zeros(len(g.clique_nodes))
    own = np.repeat(np.arange(n_nodes), np.diff(g.arc_ptr))
    of_arc = np.empty(len(own), np.int64)
    of_arc[first] = of_arc[g.arc_reverse[first]] = n_cliques + np.arange(len(first))
    give[above[own] == n_nodes + of_arc] = 1.0
    entry = g.clique_ptr[-1]
    clique_give[above[g.clique_nodes] == n_nodes + term[:entry]] = 1.0
    return give, clique_give


def certified(g: FactorGraph, m: Messages, gifts: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Value and margin, `[2]`: no labeling is below value − margin."""
    out = np.zeros(3)
    add_minima(g, m, *gifts, out)
    doubt = out[1] + 4 * SAFE * abs(out[0])
    return np.array([out[0] + out[2] + doubt, doubt])


@kernel
def add_minima(
    g: FactorGraph, m: Messages, give: FloatArray, clique_give: FloatArray, out: FloatArray
) -> None:
    """out[0] + out[2] becomes the sum of the lowered minima, out[1] by how much they were lowered.

    out[2] is what the sum has lost to rounding so far (Neumaier 1974).
    """
    n_nodes, width = g.unary.shape
    along, from_cliques = m.along, m.from_cliques
    belief = np.empty((n_nodes, width))
    for i in range(n_nodes):
        collect(g, i, along, from_cliques, belief)
    for i in range(n_nodes):
        node_minimum(g, m, give, clique_give, belief, i, out)
    first, second = np.empty(width), np.empty(width)
    for i in range(n_nodes):
        for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
            if k < g.arc_reverse[k]:
                pair_minimum(g, along, give, belief, i, k, first, second, out)
    for c in range(len(g.clique_kind)):
        start = g.clique_ptr[c]
        size = g.clique_ptr[c + 1] - start
        h, labels = np.empty((size, width)), np.empty(size, np.int64)
        for e in range(size):
            i = g.clique_nodes[start + e]
            for x in range(width):
                given = clique_give[start + e] * belief[i, x]
                sent = from_cliques[start + e, x]
                h[e, x] = given - sent - 3 * SAFE * (abs(given) + abs(sent))
                if not g.allowed[i, x]:
                    h[e, x] = max(h[e, x], g.forbidden)
        if g.clique_kind[c] == TABLE:
            lowest_entry(g, c, h, labels, out)
        else:
            value = clique_minimum(g, c, h, labels)
            doubt = (2 * size + 8) * SAFE * (abs(value) + touched(g, c, h))
            add_lowered(out, value - doubt, doubt)


@inner
def touched(g: FactorGraph, c: int, h: FloatArray) -> float:
    """Σ|…| of what the minimum of a clique that is no table is added up from."""
    total, label = 0.0, g.clique_label[c]
    for e in range(len(h)):
        if g.clique_kind[c] == DOMINANT:
            largest = 0.0
            for x in range(h.shape[1]):
                largest = max(largest, abs(h[e, x]))
            total += 2 * largest
        else:
            total += 2 * abs(h[e, label]) + 2 * abs(h[e, cheapest_other(h[e], label)])
    return total


@inner
def lowest_entry(
    g: FactorGraph, c: int, h: FloatArray, odometer: IntArray, out: FloatArray
) -> None:
    """The bracket of a table; each entry is lowered by what its own sum may be off by."""
    start, size = g.clique_ptr[c], len(h)
    lowest, doubt, more = np.inf, 0.0, True
    odometer[:] = 0
    while more:
        at, value = g.clique_start[c], 0.0
        for e in range(size):
            at += g.clique_stride[start + e] * odometer[e]
        value = g.tables[at]
        terms = abs(value)
        for e in range(size):
            value += h[e, odometer[e]]
            terms += abs(h[e, odometer[e]])
        off = (size + 4) * SAFE * terms
        if value - off < lowest:
            lowest, doubt = value - off, off
        more = advance(g, c, odometer)
    add_lowered(out, lowest, doubt)


@inner
def add_lowered(out: FloatArray, lowered: float, doubt: float) -> None:
    """Add a minimum that has been lowered by `doubt`."""
    total = out[0] + lowered
    if abs(out[0]) >= abs(lowered):
        out[2] += (out[0] - total) + lowered
    else:
        out[2] += (lowered - total) + out[0]
    out[0] = total
    out[1] += doubt + SAFE * doubt


@inner
def node_minimum(
    g: FactorGraph, m: Messages, give: FloatArray, clique_give: FloatArray, belief: FloatArray,
    i: int, out: FloatArray,
) -> None:  # fmt: skip
    """The bracket of node i."""
    lowest, doubt = np.inf, 0.0
    arcs, members = g.arc_ptr[i + 1] - g.arc_ptr[i], g.member_ptr[i + 1] - g.member_ptr[i]
    operations = 2 * (arcs + members) + 4
    for x in range(g.sizes[i]):
        if not g.allowed[i, x]:
            continue
        value, size = g.unary[i, x], abs(g.unary[i, x])
        given = 0.0
        for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
            value += m.along[k, x]
            size += abs(m.along[k, x])
            given += give[k]
        for at in range(g.member_ptr[i], g.member_ptr[i + 1]):
            entry = g.member_entry[at]
            value += m.from_cliques[entry, x]
            size += abs(m.from_cliques[entry, x])
            given += clique_give[entry]
        value -= given * belief[i, x]
        size += given * belief[i, x]
        off = operations * SAFE * size
        if value - off < lowest:
            lowest, doubt = value - off, off
    add_lowered(out, lowest, doubt)


@inner
def pair_minimum(
    g: FactorGraph, along: FloatArray, give: FloatArray, belief: FloatArray, i: int, k: int,
    first: FloatArray, second: FloatArray, out: FloatArray,
) -> None:  # fmt: skip
    """The bracket of the pairwise term of arc k of node i; `first` and `second` are scratch."""
    back = g.arc_reverse[k]
    j = g.arc_node[k]
    own = own_side(g, along, give, belief, i, k, first)
    other = own_side(g, along, give, belief, j, back, second)
    lowest, doubt = np.inf, 0.0
    if g.arc_kind[k] == POTTS and g.arc_weight[k] >= 0:
        # Rounding is monotonic: the sum of the minima is the minimum of the sums.
        lowest = own + other + g.arc_weight[k]
        doubt = 3 * SAFE * (abs(own) + abs(other) + g.arc_weight[k])
        for x in range(min(g.sizes[i], g.sizes[j])):
            if g.allowed[i, x] and g.allowed[j, x] and first[x] + second[x] < lowest:
                lowest = first[x] + second[x]
                doubt = 3 * SAFE * (abs(first[x]) + abs(second[x]) + g.arc_weight[k])
        add_lowered(out, lowest - doubt, doubt)
        return
    for x in range(g.sizes[i]):
        if not g.allowed[i, x]:
            continue
        for y in range(g.sizes[j]):
            if g.allowed[j, y]:
                cost = pair_cost(g, k, x, y)
                off = 4 * SAFE * (abs(first[x]) + abs(second[y]) + abs(cost))
                value = first[x] + second[y] + cost - off
                if value < lowest:
                    lowest, doubt = value, off
    add_lowered(out, lowest, doubt)


@inner
def own_side(
    g: FactorGraph, along: FloatArray, give: FloatArray, belief: FloatArray, i: int, k: int,
    side: FloatArray,
) -> float:  # fmt: skip
    """What node i brings into the term of its arc k, lowered, into `side` [W]; its least."""
    lowest = np.inf
    for x in range(g.sizes[i]):
        given = give[k] * belief[i, x]
        side[x] = given - along[k, x] - 3 * SAFE * (given + abs(along[k, x]))
        if g.allowed[i, x] and side[x] < lowest:
            lowest = side[x]
    return lowest
