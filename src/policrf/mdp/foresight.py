"""What unlabeled nodes may become, and which quotas are worth meeting: a look ahead, taken once.

Beliefs q_i(l) of every node by a few sweeps of mean field, from q ∝ exp(−u), costs divided by the
unit of the CRF where a policy uses it (`crf.units`):

    q_i(l) ∝ exp(−u_i(l) + Σ_j w_ij q_j(l) − Σ_{c ∋ i, l_c = l} g_c(Σ_{j ∈ c, j ≠ i} q_j(l_c)))

g_c(m) is what one more member with its label adds to clique c where m others are expected to have
it (counting cliques only; tables and custom terms are left out). A node is visited again only where
a neighbour's beliefs have moved.

Quotas (HOP2) are all or nothing: nodes that take the label of a box whose quota is missed in the
end are wasted. A quota is pursued where its cheapest members cost no more than `limit` times its
penalty in all, and given up (penalty 0) elsewhere. The price of a member is what its label costs
over the best other one, as the beliefs of nodes *outside* the clique see it: edges inside cost
nothing where the clique turns as a whole. Quotas are taken up in the order of their price, and a
member that is promised to one label is not for sale to another.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.types import Float32Array, FloatArray, IntArray

MOVED = 1e-3  # a smaller change of a belief is not passed on
SQUARINGS = 10
LOWEST = -20.0  # exponents are cut off here
EASING = 0.1  # part of an agreement clique over which its gain changes sign


@kernel
def foresee(
    a: Arrays, penalties: FloatArray, sweeps: int, unit: float, beliefs: Float32Array
) -> None:
    """`sweeps` sweeps of mean field over `beliefs` [N, L]; `penalties` [C] are those of quotas."""
    n_nodes, n_labels = a.unary.shape
    row, open_node = np.empty(n_labels), np.ones(n_nodes, np.bool_)
    expected = np.zeros(len(a.clique_kind))
    for c in range(len(a.clique_kind)):
        if a.clique_kind[c] == AGREE or a.clique_kind[c] == SUPPORT:
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                expected[c] += beliefs[a.clique_nodes[m], a.clique_label[c]]
    for sweep in range(sweeps):
        for k in range(n_nodes):
            i = k if sweep % 2 == 0 else n_nodes - 1 - k
            if not open_node[i]:
                continue
            open_node[i] = False
            believed_costs(a, penalties, beliefs, expected, i, row)
            soft_minimum(row, unit)
            moved = 0.0
            for label in range(n_labels):
                moved = max(moved, abs(row[label] - beliefs[i, label]))
            if moved < MOVED:
                continue
            for at in range(a.node_ptr[i], a.node_ptr[i + 1]):
                c = a.node_clique[at]
                if a.clique_kind[c] == AGREE or a.clique_kind[c] == SUPPORT:
                    wanted = a.clique_label[c]
                    expected[c] += row[wanted] - beliefs[i, wanted]
            for label in range(n_labels):
                beliefs[i, label] = row[label]
            for at in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
                open_node[a.adj_node[at]] = True


@inner
def believed_costs(
    a: Arrays, penalties: FloatArray, beliefs: Float32Array, expected: FloatArray, i: int,
    out: FloatArray,
) -> None:  # fmt: skip
    """What each label costs node i if its neighbours follow their beliefs, into `out` [L]."""
    for label in range(len(out)):
        out[label] = a.unary[i, label]
    for at in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        j, weight = a.adj_node[at], a.adj_weight[at]
        for label in range(len(out)):
            out[label] -= weight * beliefs[j, label]
    for at in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[at]
        wanted = a.clique_label[c]
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        if a.clique_kind[c] == AGREE:
            others = expected[c] - beliefs[i, wanted]
            lean = (0.5 * (size - 1) - others) / max(EASING * size, 0.5)
            out[wanted] += a.clique_weight[c] * min(max(lean, -1.0), 1.0)
        elif a.clique_kind[c] == SUPPORT and a.clique_count[c] > 0:
            short = a.clique_count[c] - (expected[c] - beliefs[i, wanted])
            out[wanted] -= penalties[c] / a.clique_count[c] * min(max(short, 0.0), 1.0)


@inner
def soft_minimum(costs: FloatArray, unit: float) -> None:
    """softmax(−costs / unit) in place; e^x as (1 + x / 2^k)^(2^k), which runs in lanes."""
    lowest = costs[0]
    for label in range(len(costs)):
        lowest = min(lowest, costs[label])
    if np.isinf(lowest):
        costs[:] = 1.0 / len(costs)
        return
    total = 0.0
    for label in range(len(costs)):
        power = 1.0 + max((lowest - costs[label]) / unit, LOWEST) / 2**SQUARINGS
        for _ in range(SQUARINGS):
            power *= power
        costs[label] = power
        total += power
    for label in range(len(costs)):
        costs[label] /= total


@kernel
def give_up_quotas(a: Arrays, beliefs: Float32Array, limit: float, penalties: FloatArray) -> None:
    """Set the penalties [C] of the quotas that cost more than `limit` times that to 0."""
    quotas = np.flatnonzero(a.clique_kind == SUPPORT)
    if len(quotas) == 0:
        return
    n_nodes, n_labels = a.unary.shape
    inside, promised = np.full(n_nodes, -1, np.int64), np.full(n_nodes, -1, np.int64)
    price, row = np.zeros(len(a.clique_nodes)), np.empty(n_labels)
    share = np.zeros(len(quotas))
    for k in range(len(quotas)):
        c = quotas[k]
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            inside[a.clique_nodes[m]] = c
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            price[m] = price_outside(a, beliefs, inside, c, a.clique_nodes[m], row)
        first, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
        cheapest = np.sort(price[first:stop])
        share[k] = total_of(cheapest, a.clique_count[c]) / max(penalties[c], 1e-300)
    for k in np.argsort(share):
        c = quotas[k]
        first, stop = a.clique_ptr[c], a.clique_ptr[c + 1]
        left = price[first:stop].copy()
        for m in range(len(left)):
            owner = promised[a.clique_nodes[first + m]]
            if owner >= 0 and owner != a.clique_label[c]:
                left[m] = np.inf
        order = np.argsort(left)
        if total_of(left[order], a.clique_count[c]) > limit * penalties[c]:
            penalties[c] = 0.0
        else:
            for m in range(a.clique_count[c]):
                promised[a.clique_nodes[first + order[m]]] = a.clique_label[c]


@inner
def price_outside(
    a: Arrays, beliefs: Float32Array, inside: IntArray, c: int, i: int, row: FloatArray
) -> float:
    """What clique c's label costs node i over the best other one, edges inside left out."""
    for label in range(len(row)):
        row[label] = a.unary[i, label]
    for at in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        j, weight = a.adj_node[at], a.adj_weight[at]
        if inside[j] != c:
            for label in range(len(row)):
                row[label] -= weight * beliefs[j, label]
    best = np.inf
    for label in range(len(row)):
        if label != a.clique_label[c]:
            best = min(best, row[label])
    own = row[a.clique_label[c]]
    return np.inf if np.isinf(own) else own - best


@inner
def total_of(prices: FloatArray, count: int) -> float:
    """What the first `count` of them cost; those below 0 are free."""
    if count > len(prices):
        return np.inf  # a quota that its clique cannot meet
    total = 0.0
    for m in range(count):
        total += max(prices[m], 0.0)
    return total
