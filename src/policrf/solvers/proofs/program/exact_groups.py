"""Co-occurrence and robust Potts in a mixed-integer linear program (counts: `exact_counts`).

    prices of pairs:  Σ_ab w_ab q_ab;  w > 0: q ≥ p_a + p_b − 1;  w < 0: q ≤ p_a, q ≤ p_b;
                      w = ∞: p_a + p_b ≤ 1;  p_a ≥ x_ia or p_a ≤ Σ_i x_ia, where it is needed
    robust Potts:     γ t_0 + Σ_l γ_l t_l + a_l Σ_i v_il,  t_0 + Σ_l t_l = 1,  v_il ≥ t_l − x_il

p_a = [label a occurs]. Each side of an inequality is there where the sign of a cost needs it; the
other side would change nothing.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.solvers.proofs.program.exact_counts import presence
from policrf.solvers.proofs.program.exact_program import Program
from policrf.solvers.proofs.program.milp import MilpBuilder
from policrf.types import BoolArray, FloatArray, IntArray


def pair_prices(a: Arrays, c: int) -> FloatArray:
    """The prices of a TOGETHER clique, `[L, L]`."""
    n_labels = a.unary.shape[1]
    return np.asarray(a.data[a.data_start[c] :][: n_labels**2].reshape(n_labels, n_labels))


def add_together(program: Program, c: int, members: IntArray) -> None:
    """Σ over pairs of labels that both occur of their price."""
    builder, prices = program.builder, pair_prices(program.a, c)
    sure, columns = np.zeros(len(prices), np.bool_), {}
    for label in range(len(prices)):
        held, _, x = program.counted(members, label)
        sure[label] = held > 0
        if held == 0 and len(x):
            columns[label] = x
    possible = sure.copy()
    possible[list(columns)] = True
    here = np.where(possible & possible[:, None], prices, 0.0)
    builder.constant += float(np.triu(here[np.ix_(sure, sure)], 1).sum())
    p = _presences(builder, here, sure, columns)
    for first, second in np.argwhere(np.triu(here, 1)).tolist():
        if first in p and second in p:
            _add_pair(builder, p[first], p[second], float(here[first, second]))


def _presences(
    builder: MilpBuilder, prices: FloatArray, sure: BoolArray, columns: dict[int, IntArray]
) -> dict[int, IntArray]:
    """The column of [label l occurs] for labels that may or may not, and have a price.

    What a label costs beside those that are sure to occur goes to its column.
    """
    found = {}
    for label, x in columns.items():
        row = prices[label]
        own = float(row[sure].sum())
        if np.isinf(own):
            builder.forbid(x)
        elif row.any():
            lower = bool((row > 0).any()) or own > 0
            found[label] = presence(builder, x, lower=lower, upper=bool((row < 0).any()))
            builder.add_cost(found[label], np.array([own]))
    return found


def _add_pair(builder: MilpBuilder, first: IntArray, second: IntArray, price: float) -> None:
    """`price` where both columns are 1."""
    if np.isinf(price):
        builder.add_rows(-np.inf, 1.0, (first, second), (1.0, 1.0))
        return
    both = builder.value(first) * builder.value(second)
    q = builder.add_columns(np.array([price]), both, integer=True)
    if price > 0:
        builder.add_rows(-1.0, np.inf, (q, first, second), (1.0, -1.0, -1.0))
    else:
        for p in (first, second):
            builder.add_rows(0.0, np.inf, (p, q), (1.0, -1.0))


def add_dominant(program: Program, c: int, members: IntArray) -> None:
    """min(γ, min_l γ_l + a_l N_l)."""
    a, builder = program.a, program.builder
    most, first = float(a.clique_weight[c]), a.data_start[c]
    own = a.data[first + 1 :][: a.unary.shape[1]]
    steps = (most - own) / a.data[first]
    kept, costs, now = [], [], []
    for label, step in enumerate(steps.tolist()):
        _, never, x = program.counted(members, label)
        cost = float(own[label]) + step * never
        if cost < most:  # else the label is dominant nowhere
            kept.append((step, x))
            costs.append(cost)
            now.append(cost + step * float((1.0 - builder.value(x)).sum()) if len(x) else cost)
    least = min([most, *costs])
    builder.constant += least
    if not kept:
        return
    chosen = np.zeros(len(kept) + 1)
    chosen[np.argmin([*now, most])] = 1.0
    t = builder.add_columns(np.array([*costs, most]) - least, chosen, integer=True)
    builder.add_ragged_rows(np.ones(1), np.ones(1), np.array([len(t)]), t)
    for k, (step, x) in enumerate(kept):
        if len(x):
            short = np.maximum(chosen[k] - builder.value(x), 0.0)
            v = builder.add_columns(np.full(len(x), step), short)
            builder.add_rows(0.0, np.inf, (v, x, np.full(len(x), t[k])), (1.0, 1.0, -1.0))
