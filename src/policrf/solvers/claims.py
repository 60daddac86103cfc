"""What a solver may claim: margins that make bounds and proofs safe against rounding.

CRF.energy adds T terms in floating point. Of a labeling whose terms are t_1 … t_T it is off by at
most T u Σ|t_k|, u = 2^-53. Only labelings that cost no more than the best one known, E, matter to a
claim. With m_k the lowest value of term k, those have

    Σ|t_k|  ≤  Σ(t_k − m_k) + Σ|m_k|  ≤  (E − Σ m_k) + Σ|m_k|  =  the magnitude,

however large the costs are that nobody pays. Every claim has a value and a margin:

    no labeling is below  value − margin   (this is what `Solution.lower_bound` says), and
    a labeling of at most value + margin is called a minimum, if the margin is fine: at most
    `FINE` of the magnitude, or plain rounding of millions of terms.

So `optimal` means that no labeling is lower by more than two margins. A margin is never taken off
a tolerance; where a method has tolerances of its own (cuts, HiGHS), its margin holds them too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import (
    COUNTED,
    CUSTOM,
    DOMINANT,
    ORDERED,
    TABLE,
    TOGETHER,
)
from policrf.types import FloatArray, IntArray

UNIT = 2.0**-53  # the largest relative error of one rounded operation
EXTRA = 16  # operations within a term, and those of the comparison itself
FINE = 1e-9  # of the magnitude: a coarser margin bounds, and proves nothing
ROUGH = 1e-10  # the same for messages: where huge costs blur them, they prove nothing


class Terms(NamedTuple):
    """The terms of an energy, each at its lowest finite value."""

    number: int
    lowest: float
    """Σ m_k: no labeling is below it, up to rounding; −inf where a clique can say anything."""
    absolute: float
    """Σ|m_k|."""

    def magnitude(self, energy: float) -> float:
        """Σ|t_k| at most, of any labeling that costs no more than `energy`."""
        if not np.isfinite(self.lowest):
            return abs(energy) + self.absolute
        return max(energy - self.lowest, 0.0) + self.absolute

    def rounding(self, energy: float) -> float:
        """What energies of labelings that cost no more than `energy` may be off by, doubled."""
        return 2 * (self.number + EXTRA) * UNIT * self.magnitude(energy)

    def is_fine(self, margin: float, energy: float, fine: float = FINE) -> bool:
        """Whether a claim with this margin may call a labeling a minimum."""
        return margin <= max(fine * self.magnitude(energy), 2 * self.rounding(energy))


def terms_of(a: Arrays, cliques: FloatArray | None = None) -> Terms:
    """Every unary, edge and clique at its lowest; `cliques` [C] has those where they are known."""
    unary = a.unary.min(axis=1)
    cliques = lowest_of_cliques(a) if cliques is None else cliques
    parts = (unary[np.isfinite(unary)], np.minimum(a.edge_weights, 0.0), cliques)
    known = [part[np.isfinite(part)] for part in parts]
    lowest = sum(float(part.sum()) for part in known)
    absolute = sum(float(np.abs(part).sum()) for part in known)
    if np.isneginf(cliques).any():
        lowest = -np.inf
    return Terms(sum(len(part) for part in parts), lowest, absolute)


def lowest_of_cliques(a: Arrays) -> FloatArray:
    """The least finite value of every clique, `[C]`, or less; −inf where nothing is known."""
    lowest = np.zeros(len(a.clique_kind))
    lowest[a.clique_kind == CUSTOM] = -np.inf
    tables = np.flatnonzero(a.clique_kind == TABLE)
    lowest[tables] = _lowest_entries(a, tables)
    n_labels = a.unary.shape[1]
    for c in np.flatnonzero(a.clique_kind > CUSTOM).tolist():
        data = a.data[a.data_start[c] :][: a.data_size[c]]
        if a.clique_kind[c] == COUNTED:
            rows = data.reshape(n_labels, -1).min(axis=1)
            lowest[c] = rows[np.isfinite(rows)].sum()
        elif a.clique_kind[c] == TOGETHER:
            lowest[c] = np.minimum(data, 0.0).sum() / 2
        elif a.clique_kind[c] == DOMINANT:
            lowest[c] = min(float(a.clique_weight[c]), float(data[1 : n_labels + 1].min()))
        elif a.clique_kind[c] == ORDERED:
            size = int(a.clique_ptr[c + 1] - a.clique_ptr[c])
            least = size * (size - 1) / 2 * min(0.0, float(data.min()))
            lowest[c] = min(least, float(a.clique_weight[c]))
    return lowest


def _lowest_entries(a: Arrays, tables: IntArray) -> FloatArray:
    """The least finite entry of tables, times their factors; 0 where nothing is allowed."""
    if not len(tables):
        return np.zeros(0)
    start, size = a.data_start[tables], a.data_size[tables]
    first, index, which = np.unique(start, return_index=True, return_inverse=True)
    ends = np.stack([first, first + size[index]], axis=1).reshape(-1)
    finite = np.isfinite(a.data)
    low = np.minimum.reduceat(np.append(np.where(finite, a.data, np.inf), 0.0), ends)[::2]
    high = np.maximum.reduceat(np.append(np.where(finite, a.data, -np.inf), 0.0), ends)[::2]
    factor = a.clique_weight[tables]
    value = np.where(factor >= 0, factor * _or_zero(low)[which], factor * _or_zero(high)[which])
    return np.asarray(value.reshape(-1))


def _or_zero(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, 0.0)
