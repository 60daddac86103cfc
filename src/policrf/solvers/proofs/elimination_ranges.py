"""What a label of one node can save or cost at most in a group, whatever the other members do.

Replacing label a of a node by b saves f(a, ·) − f(b, ·), which is at least lower[a] − upper[b]:

    counts, label costs   lower[a] = least, upper[b] = largest g(n + 1) − g(n)
    co-occurrence         lower[a] = Σ_x min(0, w_ax),  upper[b] = Σ_x max(0, w_bx)
    robust Potts          lower[a] = −(γ − γ_a) / Q: of all its terms, only that of a can rise

Where nothing is known, lower is −∞ and upper +∞: the label stays, and replaces no other.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import COUNTED, DOMINANT, TOGETHER
from policrf.types import FloatArray

ROW = 64  # entries of a function of counts that are looked at; of a longer one nothing is known


@inner
def add_group_range(
    a: Arrays, c: int, lower: FloatArray, upper: FloatArray, size: FloatArray
) -> None:
    """Add clique c's part to `lower` [L] and `upper` [L]; any kind but AGREE, SUPPORT, TABLE.

    `size` [2, L] gets the sizes of what was added to either.
    """
    n_labels, first, kind = len(lower), a.data_start[c], a.clique_kind[c]
    for label in range(n_labels):
        if kind == COUNTED:
            least, most = count_range(a, c, label)
            lower[label] += least
            upper[label] += most
            size[0, label] += abs(least)
            size[1, label] += abs(most)
        elif kind == TOGETHER:
            for other in range(n_labels):
                price = a.data[first + label * n_labels + other]
                lower[label] += min(0.0, price)
                upper[label] += max(0.0, price)
                size[0, label] -= min(0.0, price)
                size[1, label] += max(0.0, price)
        elif kind == DOMINANT:
            own = a.data[first + 1 + label]
            step = (a.clique_weight[c] - own) / a.data[first]
            lower[label] -= step
            size[0, label] += abs(step)
        else:
            lower[label], upper[label] = -np.inf, np.inf


@inner
def count_range(a: Arrays, c: int, label: int) -> tuple[float, float]:
    """Least and largest g(n + 1) − g(n) of a COUNTED clique; ∞ and ∞ if no member may have it."""
    width, size = a.clique_count[c], a.clique_ptr[c + 1] - a.clique_ptr[c]
    row = a.data_start[c] + label * width
    if width > ROW:
        return -np.inf, np.inf
    least, most, possible, known = np.inf, -np.inf, False, True
    for n in range(size):
        before, after = a.data[row + min(n, width - 1)], a.data[row + min(n + 1, width - 1)]
        possible |= after < np.inf
        known &= after < np.inf and before < np.inf
        if known:
            least, most = min(least, after - before), max(most, after - before)
        if n >= width:
            break
    if not possible:
        return np.inf, np.inf
    return (least, most) if known else (-np.inf, np.inf)
