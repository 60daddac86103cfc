"""Count functions as factors: Σ_l g_l(n_l) is one counting factor for every label.

Only counts up to the number of members can be reached. A row g_l that is the same for all of them
is a constant; one that allows only the count 0 forbids the label to every member.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.types import BoolArray, FloatArray, IntArray


class CountRows(NamedTuple):
    """F factors f(k) = data[start + min(k, width − 1)], k members of `clique` having `label`."""

    clique: IntArray  # [F]
    label: IntArray  # [F]
    start: IntArray  # [F]; of the row in the CRF's data
    width: IntArray  # [F]
    span: FloatArray  # [F]; highest less lowest finite energy of a reachable count
    forbids: BoolArray  # [F]; whether a reachable count is forbidden
    constant: FloatArray  # [C]; what the other rows of each clique cost, whatever the labels
    banned: IntArray  # [B, 2]; (clique, label): no member may have the label


def count_rows(a: Arrays, cliques: IntArray) -> CountRows:
    """The rows of the given COUNTED cliques; those that say nothing are left out."""
    n_labels = a.unary.shape[1]
    clique = np.repeat(cliques, n_labels)
    label = np.tile(np.arange(n_labels), len(cliques))
    width = a.clique_count[clique]
    start = a.data_start[clique] + label * width
    reach = np.minimum(width, np.diff(a.clique_ptr)[clique] + 1)
    low, high, later, forbids = _extremes(a.data, start, reach)
    first = a.data[start]
    banned = np.isfinite(first) & np.isinf(later)
    some = np.isfinite(low)  # all forbidden: no labeling is finite, whatever is left out
    constant = some & ~banned & ~forbids & (high == low)
    kept = some & ~banned & ~constant
    fixed: FloatArray = np.zeros(len(a.clique_kind))
    np.add.at(fixed, clique[constant], low[constant])
    np.add.at(fixed, clique[banned], first[banned])
    return CountRows(
        clique=clique[kept],
        label=label[kept],
        start=start[kept],
        width=width[kept],
        span=high[kept] - low[kept],
        forbids=forbids[kept],
        constant=fixed,
        banned=np.stack([clique[banned], label[banned]], axis=1),
    )


class _Extremes(NamedTuple):
    low: FloatArray  # lowest entry
    high: FloatArray  # highest finite entry
    later: FloatArray  # lowest entry but for the first; of a single entry, that one
    forbids: BoolArray  # whether some entry is infinite


def _extremes(data: FloatArray, start: IntArray, reach: IntArray) -> _Extremes:
    """Of the first `reach` entries of every row; rows that cliques share are looked at once."""
    low, high, later = np.empty((3, len(start)))
    forbids = np.zeros(len(start), np.bool_)
    for length in np.unique(reach).tolist():
        rows = np.flatnonzero(reach == length)
        first, which = np.unique(start[rows], return_inverse=True)
        which = which.reshape(-1)
        entries = data[first[:, None] + np.arange(length)]
        infinite: BoolArray = np.isinf(entries)
        low[rows] = entries.min(axis=1)[which]
        high[rows] = np.where(infinite, -np.inf, entries).max(axis=1)[which]
        later[rows] = entries[:, min(1, length - 1) :].min(axis=1)[which]
        forbids[rows] = np.any(infinite, axis=1)[which]
    return _Extremes(low, high, later, forbids)
