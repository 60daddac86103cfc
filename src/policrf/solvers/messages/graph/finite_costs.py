"""What +inf becomes in the factor graph: a finite cost above the sum of all finite differences.

Every minimiser stays one, every bound stays a bound, and no kernel has to fear inf − inf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.solvers.messages.graph.count_rows import CountRows
from policrf.types import FloatArray, IntArray

OCTAVES = 8  # factors of a shared table with forbidden entries differ by at most 2^8
LARGEST = float(np.finfo(np.float64).max) / 16


class TableUses(NamedTuple):
    """U uses of tables: `factor` times `size` entries of the values from `start` on."""

    start: IntArray
    size: IntArray
    factor: FloatArray


def table_spans(values: FloatArray, uses: TableUses) -> FloatArray:
    """Highest less lowest finite energy of every use; 0 where nothing is finite."""
    if not len(uses.start):
        return np.zeros(0)
    first, index, which = np.unique(uses.start, return_index=True, return_inverse=True)
    bounds = np.stack([first, first + uses.size[index]], axis=1).reshape(-1)
    padded = np.append(values, 0.0)
    low = np.minimum.reduceat(padded, bounds)[::2]
    padded[np.isinf(padded)] = -np.inf
    high = np.maximum.reduceat(padded, bounds)[::2]
    span = np.where(np.isfinite(low), high, 0.0) - np.where(np.isfinite(low), low, 0.0)
    return np.asarray(np.abs(uses.factor) * span[which.reshape(-1)])


def forbidden_cost(spans: list[FloatArray]) -> tuple[float, float]:
    """Far above the sum of the finite differences within all terms, and the largest of these."""
    total = float(sum(span.sum() for span in spans))
    largest = float(max(span.max(initial=0.0) for span in spans))
    # A thousandfold: solvers split costs among many parts, and each of them has to forbid.
    return (1000 * total, largest) if total > 0 else (1.0, 1.0)


def finite_tables(
    values: FloatArray, uses: TableUses, forbidden: float
) -> tuple[FloatArray, IntArray]:
    """The values with +inf at least `forbidden` above the lowest entry of every use; the starts.

    A shared table whose factors are far apart is copied, once for every 2^8 of them: a cost that
    forbids at the smallest factor would eat the digits at the largest.
    """
    infinite = np.flatnonzero(np.isinf(values))
    copied, start = values.copy(), uses.start.copy()
    if not len(infinite):
        return copied, start
    # Tables with an infinite entry: one lies between the table's start and its end.
    holds = np.searchsorted(infinite, start) < np.searchsorted(infinite, start + uses.size)
    rows = np.flatnonzero(holds)
    octave = np.frexp(uses.factor[rows])[1] // OCTAVES
    keys, which = np.unique(np.stack([start[rows], octave], axis=1), axis=0, return_inverse=True)
    least = np.full(len(keys), np.inf)
    np.minimum.at(least, which.reshape(-1), uses.factor[rows])
    size = np.zeros(len(keys), np.int64)
    size[which.reshape(-1)] = uses.size[rows]
    parts, end = [copied], len(copied)
    placed = keys[:, 0].copy()
    for k, first in enumerate(keys[:, 0].tolist()):
        table = values[first : first + size[k]].copy()
        finite = table[np.isfinite(table)]
        lowest = float(finite.min()) if finite.size else 0.0
        table[np.isinf(table)] = min(lowest + forbidden / least[k], LARGEST)
        if k and keys[k - 1, 0] == first:
            parts.append(table)
            placed[k], end = end, end + len(table)
        else:
            copied[first : first + size[k]] = table
    start[rows] = placed[which.reshape(-1)]
    return np.concatenate(parts) if len(parts) > 1 else copied, start


def finite_rows(values: FloatArray, rows: CountRows, forbidden: float) -> FloatArray:
    """Forbidden counts, in place, become `forbidden` above the highest finite energy of their row.

    Returns, for every row, the energy above which a count is forbidden; +inf where none is.
    """
    limit = np.full(len(rows.start), np.inf)
    first, which = np.unique(rows.start[rows.forbids], return_inverse=True)
    width = np.zeros(len(first), np.int64)
    width[which.reshape(-1)] = rows.width[rows.forbids]
    highest = np.empty(len(first))
    for k, start in enumerate(first.tolist()):
        row = values[start : start + width[k]]
        infinite = np.isinf(row)
        highest[k] = row[~infinite].max()
        row[infinite] = highest[k] + forbidden
    limit[rows.forbids] = highest[which.reshape(-1)] + forbidden / 2
    return limit
