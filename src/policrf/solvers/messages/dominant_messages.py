"""Min-sum messages and minimisers of robust P^n Potts, in O(n L).

f(x) = min over z of γ_z + s_z · #{i : x_i ≠ z}, where z is a label with s_z = (γ − γ_z) / Q, or
none with γ and s = 0. Given z the members are independent, each at m_i(z) = min(h_i(z), s_z + min
h_i):

    min over x = min over z of F(z),   F(z) = γ_z + Σ_i m_i(z),

and the message to member i is F(z) − m_i(z) with x_i's own cost s_z [x_i ≠ z] in the place of m_i.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, inner_kernel
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.types import FloatArray, IntArray


@inner
def slope_of(g: FactorGraph, c: int, z: int) -> float:
    """s_z of clique c."""
    first = g.clique_start[c]
    return float((g.clique_weight[c] - g.tables[first + 1 + z]) / g.tables[first])


@inner_kernel
def choice_totals(g: FactorGraph, c: int, h: FloatArray, totals: FloatArray) -> int:
    """F(z) for every label, and for none at the end, into `totals` [L + 1]; the lowest one's z."""
    size, n_labels = g.clique_ptr[c + 1] - g.clique_ptr[c], g.clique_count[c]
    slope = np.empty(n_labels)
    for z in range(n_labels):
        slope[z] = slope_of(g, c, z)
        totals[z] = g.tables[g.clique_start[c] + 1 + z]
    totals[n_labels] = g.clique_weight[c]
    for i in range(size):
        low = h[i].min()
        totals[n_labels] += low
        for z in range(n_labels):
            totals[z] += min(h[i, z], low + slope[z])
    return int(np.argmin(totals))


@inner_kernel
def send_from_dominant(g: FactorGraph, c: int, h: FloatArray, out: FloatArray) -> None:
    """Messages to all members, less their minima, into `out` [n, W]."""
    size, n_labels = g.clique_ptr[c + 1] - g.clique_ptr[c], g.clique_count[c]
    totals = np.empty(n_labels + 1)
    choice_totals(g, c, h, totals)
    for i in range(size):
        low = h[i].min()
        rest = totals[n_labels] - low
        for z in range(n_labels):
            slope = slope_of(g, c, z)
            own = totals[z] - min(h[i, z], low + slope)
            out[i, z] = own
            rest = min(rest, own + slope)
        least = rest
        for x in range(h.shape[1]):
            out[i, x] = min(rest, out[i, x]) if x < n_labels else rest
            least = min(least, out[i, x])
        for x in range(h.shape[1]):
            out[i, x] -= least


@inner_kernel
def dominant_minimum(g: FactorGraph, c: int, h: FloatArray, labels: IntArray) -> float:
    """The minimum, and a minimiser."""
    size, n_labels = g.clique_ptr[c + 1] - g.clique_ptr[c], g.clique_count[c]
    totals = np.empty(n_labels + 1)
    chosen = choice_totals(g, c, h, totals)
    for i in range(size):
        labels[i] = np.argmin(h[i])
        if chosen < n_labels and h[i, chosen] <= h[i, labels[i]] + slope_of(g, c, chosen):
            labels[i] = chosen
    return float(totals[chosen])
