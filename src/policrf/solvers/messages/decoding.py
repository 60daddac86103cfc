"""From messages to labels: node after node, given the labels already chosen (Kolmogorov 2006).

Node i takes the label with the lowest θ_i + Σ over earlier neighbours θ_ij(·, x_j) + Σ over later
ones of their messages, so that ties between equal labelings are broken the same way everywhere.
HOP1 boxes (their z_b) are decided before that. A table is read through its message until its last
member, where its entry counts; a quota through its message until it is met or needs every member
that is left, or else it simply gets the members that its own minimiser has. Robust P^n Potts has
the dominant label of its own minimiser.

A function of counts is read through its messages until its last member. Or, the other way, it has
the count n of its own minimiser in view: while k < n members have the label, one more costs an even
share of f(n) − f(0), then f(k + 1) − f(k). Either way, a count that is forbidden is avoided as long
as the members that are left can still reach another one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inlined, inner, kernel
from policrf.crf.potentials import AGREE, COUNTED, DOMINANT, SUPPORT, TABLE
from policrf.solvers.messages.clique_messages import clique_minimum, cost_of_count, member_costs
from policrf.solvers.messages.dominant_messages import choice_totals, slope_of
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.solvers.messages.message_passing import Messages
from policrf.solvers.messages.pair_messages import pair_cost
from policrf.types import BoolArray, FloatArray, IntArray


class Decoding(NamedTuple):
    """Labels in the making; V nodes, C cliques with M entries in all. Mutable."""

    box_valid: BoolArray  # [C]; z_b of HOP1, whether the quota is met of HOP2
    wanted: BoolArray  # [M]; members that have the label of a valid box
    labels: IntArray  # [V]
    labeled: IntArray  # [C]; members labeled so far
    matches: IntArray  # [C]; those of them with the clique's label
    chosen: IntArray  # [C]; the label that dominates, L for none (DOMINANT); the count (COUNTED)


@kernel
def decide_boxes(g: FactorGraph, m: Messages, d: Decoding, first: int, stop: int) -> None:
    """What cliques first … stop − 1 have in their minimisers: `box_valid`, `wanted`, `chosen`."""
    for c in range(first, stop):
        if g.clique_kind[c] == TABLE:
            continue
        start = g.clique_ptr[c]
        size = g.clique_ptr[c + 1] - start
        h = np.empty((size, g.unary.shape[1]))
        labels = np.empty(size, np.int64)
        member_costs(g, c, m.clique_share, m.belief, m.from_cliques, h)
        if g.clique_kind[c] == DOMINANT:
            d.chosen[c] = choice_totals(g, c, h, np.empty(g.clique_count[c] + 1))
            continue
        clique_minimum(g, c, h, labels)
        matches = 0
        for i in range(size):
            matches += labels[i] == g.clique_label[c]
        if g.clique_kind[c] == COUNTED:
            d.chosen[c] = matches
            continue
        quota = g.clique_count[c] if g.clique_kind[c] == SUPPORT else size // 2 + 1
        d.box_valid[c] = matches >= quota
        for i in range(size):
            d.wanted[start + i] = d.box_valid[c] and labels[i] == g.clique_label[c]


@kernel
def decode(g: FactorGraph, m: Messages, d: Decoding, follow: bool, first: int, stop: int) -> None:
    """Label nodes first … stop − 1, the earlier ones being labeled.

    `follow` gives quotas the members they want, and functions of counts as many as they want,
    instead of reading their messages.
    """
    width = g.unary.shape[1]
    costs = np.empty(width)
    for i in range(first, stop):
        for x in range(width):
            costs[x] = g.unary[i, x]
        for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
            j = g.arc_node[k]
            if j < i:
                for x in range(g.sizes[i]):
                    costs[x] += pair_cost(g, k, x, d.labels[j])
            else:
                for x in range(width):
                    costs[x] += m.along[k, x]
        for at in range(g.member_ptr[i], g.member_ptr[i + 1]):
            add_clique(g, m, d, follow, at, costs)
        best, lowest = 0, np.inf
        for x in range(g.sizes[i]):
            if g.allowed[i, x] and costs[x] < lowest:
                best, lowest = x, costs[x]
        d.labels[i] = best
        for at in range(g.member_ptr[i], g.member_ptr[i + 1]):
            c = g.member_clique[at]
            d.labeled[c] += 1
            d.matches[c] += best == g.clique_label[c]


@inlined
def add_clique(
    g: FactorGraph, m: Messages, d: Decoding, follow: bool, at: int, costs: FloatArray
) -> None:
    """Add what the clique of membership `at` says to its member, to the member's `costs` [W]."""
    c, entry = g.member_clique[at], g.member_entry[at]
    kind = g.clique_kind[c]
    remaining = g.clique_ptr[c + 1] - g.clique_ptr[c] - d.labeled[c]
    missing = g.clique_count[c] - d.matches[c]
    read = kind == TABLE or (kind == SUPPORT and 0 < missing < remaining)
    if kind == COUNTED:
        aim = d.chosen[c] if follow else -1
        add_counts(g, c, d.matches[c], remaining - 1, aim, m.from_cliques[entry], costs)
    elif kind == DOMINANT:
        if d.chosen[c] < g.clique_count[c]:
            charge(d.chosen[c], slope_of(g, c, d.chosen[c]), True, costs)
    elif kind == TABLE and remaining == 1:
        add_entries(g, c, entry, d.labels, costs)
    elif kind == AGREE or (kind == SUPPORT and d.box_valid[c] and missing == remaining):
        charge(g.clique_label[c], g.clique_weight[c], d.box_valid[c], costs)
    elif kind == SUPPORT and follow:
        if d.wanted[entry]:
            charge(g.clique_label[c], g.clique_weight[c], True, costs)
    elif read and (kind == TABLE or d.box_valid[c]):
        for x in range(len(costs)):
            costs[x] += m.from_cliques[entry, x]


@inner
def charge(label: int, weight: float, valid: bool, costs: FloatArray) -> None:
    """Add the box's weight where having its label is not what `valid` says."""
    for x in range(len(costs)):
        if (x == label) != valid:
            costs[x] += weight


@inner
def add_counts(
    g: FactorGraph, c: int, matches: int, others: int, aim: int, message: FloatArray,
    costs: FloatArray,
) -> None:  # fmt: skip
    """Add what f says to a member: `matches` have the label so far, `others` come after it.

    `aim` is the count in view, −1 where the message is read.
    """
    label = g.clique_label[c]
    if g.clique_weight[c] < np.inf:  # some count is forbidden
        with_label = reaches_allowed(g, c, matches + 1, others)
        without = reaches_allowed(g, c, matches, others)
        if with_label != without:
            charge(label, g.forbidden, with_label, costs)
            return
        aim = -1
    if others > 0 and matches < aim:
        costs[label] += (cost_of_count(g, c, aim) - cost_of_count(g, c, 0)) / aim
    elif others == 0 or aim >= 0:
        costs[label] += cost_of_count(g, c, matches + 1) - cost_of_count(g, c, matches)
    else:
        for x in range(len(costs)):
            costs[x] += message[x]


@inner
def reaches_allowed(g: FactorGraph, c: int, matches: int, others: int) -> bool:
    """Whether one of the counts matches … matches + others is not forbidden."""
    for k in range(matches, matches + others + 1):
        if cost_of_count(g, c, k) < g.clique_weight[c]:
            return True
        if k >= g.clique_count[c] - 1:
            return False
    return False


@inner
def add_entries(g: FactorGraph, c: int, entry: int, labels: IntArray, costs: FloatArray) -> None:
    """Add the table's entries for every label of its last member, the one at `entry`."""
    at = g.clique_start[c]
    for m in range(g.clique_ptr[c], g.clique_ptr[c + 1]):
        if m != entry:
            at += g.clique_stride[m] * labels[g.clique_nodes[m]]
    for x in range(g.sizes[g.clique_nodes[entry]]):
        costs[x] += g.tables[at + g.clique_stride[entry] * x]
