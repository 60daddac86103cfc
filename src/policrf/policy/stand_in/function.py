"""The function of a stand-in, compiled: what a clique's label counts let expect of its energy.

    h = Σ over labels l that are there of T(n_l / k),        T: [KNOTS + 1, R], linear in between
    z = ((h, u) − mean) / scale                              u: globals of the clique
    g = v · z + Σ_j w_j max(0, A_j · z + b_j) + c

The table T is shared by all labels, or each has its own. A clique's parameters are one row: HEADER
numbers, the clique's own parameters, then the weights in the order of `WEIGHTS`. Globals are the
share of members without a label, and what `global_inputs` makes of the clique's own parameters.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.types import FloatArray, IntArray

KNOTS = 36  # a share of a clique is looked up on this many steps
SIZE, OWN, POOLED, UNITS, FORM, OWN_PARAMETERS = range(6)  # the header of a row
HEADER = 6
WEIGHTS = ("tables", "mean", "scale", "linear", "first", "bias", "second", "constant")
NO_INPUTS, SCALARS, BY_LABEL, BY_PAIR = range(4)  # how a clique's own parameters are read
MOST_SCALARS = 4


@kernel
def n_globals(form: int, n_parameters: int) -> int:
    """How many numbers `global_inputs` writes."""
    if form == SCALARS:
        return 1 + n_parameters
    if form == BY_LABEL:
        return 3
    return 2 if form == BY_PAIR else 1


@kernel
def global_inputs(
    counts: IntArray, size: float, form: int, parameters: FloatArray, out: FloatArray
) -> None:
    """Open share, and a clique's parameters: as they are, or summed over the labels there."""
    n_labels, labeled = len(counts), 0
    for count in counts:
        labeled += count
    out[0] = 1.0 - labeled / size
    if form == SCALARS:
        for q in range(len(parameters)):
            out[1 + q] = parameters[q]
    elif form == BY_LABEL:
        out[1], out[2] = 0.0, 0.0
        for label in range(n_labels):
            out[1] += parameters[label] * (counts[label] > 0)
            out[2] += parameters[label] * counts[label] / size
    elif form == BY_PAIR:
        out[1] = 0.0
        for a in range(n_labels):
            for b in range(a):
                if counts[a] > 0 and counts[b] > 0:
                    out[1] += parameters[a * n_labels + b]


@kernel
def pooled_tables(
    counts: IntArray, size: float, tables: FloatArray, own: bool, out: FloatArray
) -> None:
    """h `[R]`; `tables` are flat, `[KNOTS + 1, R]` once or for every label."""
    width = len(out)
    for r in range(width):
        out[r] = 0.0
    for label in range(len(counts)):
        if counts[label] == 0:
            continue
        place = min(1.0, counts[label] / size) * KNOTS
        knot = min(int(place), KNOTS - 1)
        part = place - knot
        at = ((label * (KNOTS + 1) if own else 0) + knot) * width
        for r in range(width):
            out[r] += (1.0 - part) * tables[at + r] + part * tables[at + width + r]


@kernel
def stand_in(counts: IntArray, row: FloatArray) -> float:
    """g of a clique with these label counts `[L]`; `row` as above."""
    width, units, form = int(row[POOLED]), int(row[UNITS]), int(row[FORM])
    own, n_own = row[OWN] > 0, int(row[OWN_PARAMETERS])
    further = n_globals(form, n_own)
    n_inputs = width + further
    z = np.empty(n_inputs)
    at = HEADER + n_own
    n_tables = (len(counts) if own else 1) * (KNOTS + 1) * width
    pooled_tables(counts, row[SIZE], row[at : at + n_tables], own, z[:width])
    global_inputs(counts, row[SIZE], form, row[HEADER : HEADER + n_own], z[width:])
    mean = at + n_tables
    scale, linear = mean + n_inputs, mean + 2 * n_inputs
    first = linear + n_inputs
    bias = first + units * n_inputs
    second = bias + units
    energy = row[second + units]
    for q in range(n_inputs):
        z[q] = (z[q] - row[mean + q]) / row[scale + q]
        energy += row[linear + q] * z[q]
    for j in range(units):
        unit = row[bias + j]
        for q in range(n_inputs):
            unit += row[first + j * n_inputs + q] * z[q]
        energy += row[second + j] * max(0.0, unit)
    return float(energy)
