"""Label costs, counts, co-occurrence and robust Potts in a mixed-integer linear program.

    g_l(n), n = Σ_i x_il:
      constant from 1 on:  g(0) + h p,  p = [n > 0]:  p ≥ x_il where h > 0,  p ≤ n where h < 0
      else, by runs of equal values:  Σ_r g_r s_r,  Σ_r s_r = 1,  Σ_r low_r s_r ≤ n ≤ Σ_r high_r s_r
    prices of pairs:  Σ_ab w_ab q_ab;  w > 0: q ≥ p_a + p_b − 1;  w < 0: q ≤ p_a, q ≤ p_b;
                      w = ∞: p_a + p_b ≤ 1;  p_a ≥ x_ia or p_a ≤ Σ_i x_ia, where it is needed
    robust Potts:     γ t_0 + Σ_l γ_l t_l + a_l Σ_i v_il,  t_0 + Σ_l t_l = 1,  v_il ≥ t_l − x_il

A forbidden count or label is a column that does not exist or is held at 0. Each side of an
inequality is there where the sign of a cost needs it; the other side would change nothing.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import COUNTED, DOMINANT, TABLE, TOGETHER
from policrf.solvers.proofs.exact_program import Program
from policrf.solvers.proofs.milp import MilpBuilder
from policrf.types import BoolArray, FloatArray, IntArray


def count_rows(a: Arrays, c: int) -> FloatArray:
    """g_l(n) of a COUNTED clique for n = 0 … its size, `[L, size + 1]`."""
    width, size = int(a.clique_count[c]), int(a.clique_ptr[c + 1] - a.clique_ptr[c])
    rows = a.data[a.data_start[c] :][: a.data_size[c]].reshape(-1, width)
    return np.asarray(rows[:, np.minimum(np.arange(size + 1), width - 1)])


def pair_prices(a: Arrays, c: int) -> FloatArray:
    """The prices of a TOGETHER clique, `[L, L]`."""
    n_labels = a.unary.shape[1]
    return np.asarray(a.data[a.data_start[c] :][: n_labels**2].reshape(n_labels, n_labels))


def lowest_group_energy(a: Arrays) -> float:
    """A lower bound of all cliques of the kinds that have a form here."""
    total = 0.0
    for c in np.flatnonzero(a.clique_kind > TABLE).tolist():
        if a.clique_kind[c] == COUNTED:
            total += float(count_rows(a, c).min(axis=1).sum())
        elif a.clique_kind[c] == TOGETHER:
            total += float(np.triu(np.minimum(pair_prices(a, c), 0.0), 1).sum())
        elif a.clique_kind[c] == DOMINANT:
            own = a.data[a.data_start[c] + 1 :][: a.unary.shape[1]]
            total += min(float(a.clique_weight[c]), float(own.min()))
        else:
            return -np.inf
    return total


def add_counted(program: Program, c: int, members: IntArray) -> None:
    """Σ_l g_l(n_l)."""
    rows = count_rows(program.a, c)
    constant = (rows == rows[:, :1]).all(axis=1)
    program.builder.constant += float(rows[constant, 0].sum())
    for label in np.flatnonzero(~constant):
        sure, _, x = program.counted(members, int(label))
        values = rows[label, sure : sure + len(x) + 1]
        if not np.isfinite(values).any():
            program.builder.constant = np.inf
        elif len(x) == 0:
            program.builder.constant += float(values[0])
        elif (values[1:] == values[1]).all():
            _add_presence(program.builder, x, float(values[0]), float(values[1]))
        else:
            _add_runs(program.builder, x, values)


def _add_presence(builder: MilpBuilder, x: IntArray, absent: float, present: float) -> None:
    """`present` where one of the columns x is 1, `absent` where none is."""
    if np.isinf(present):
        builder.forbid(x)
        builder.constant += absent
    elif np.isinf(absent):
        _add_sum_row(builder, 1.0, np.inf, x)
        builder.constant += present
    else:
        builder.constant += absent
        price = present - absent
        p = presence(builder, x, lower=price > 0, upper=price < 0)
        builder.add_cost(p, np.array([price]))


def presence(builder: MilpBuilder, x: IntArray, *, lower: bool, upper: bool) -> IntArray:
    """The column `[1]` of [some of the columns x is 1], at least that or at most that or both."""
    if len(x) == 1:
        return x
    p = builder.add_columns(np.zeros(1), builder.value(x).max(keepdims=True), integer=True)
    if lower:
        builder.add_rows(0.0, np.inf, (np.repeat(p, len(x)), x), (1.0, -1.0))
    if upper:
        _add_sum_row(builder, 0.0, np.inf, x, p, np.array([-1.0]))
    return p


def _add_sum_row(
    builder: MilpBuilder, lower: float, upper: float, x: IntArray,
    others: IntArray | None = None, factors: FloatArray | None = None,
) -> None:  # fmt: skip
    """lower ≤ Σ x + factors · others ≤ upper."""
    others = np.zeros(0, np.int64) if others is None else others
    factors = np.zeros(0) if factors is None else factors
    builder.add_ragged_rows(
        np.array([lower]), np.array([upper]), np.array([len(x) + len(others)]),
        np.concatenate([x, others]), np.concatenate([np.ones(len(x)), factors]),
    )  # fmt: skip


def _add_runs(builder: MilpBuilder, x: IntArray, values: FloatArray) -> None:
    """values[n] where n of the columns x are 1; one column for every run of equal values."""
    low = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    high = np.append(low[1:], len(values)) - 1
    finite = np.isfinite(values[low])
    low, high = low[finite], high[finite]
    least = float(values[low].min())
    builder.constant += least
    count = round(float(builder.value(x).sum()))
    first = (low <= count) & (count <= high)
    s = builder.add_columns(values[low] - least, first, integer=not _is_convex(values))
    builder.add_ragged_rows(np.ones(1), np.ones(1), np.array([len(s)]), s)
    if (low == high).all():
        _add_sum_row(builder, 0.0, 0.0, x, s, -low.astype(float))
    else:
        _add_sum_row(builder, 0.0, np.inf, x, s, -low.astype(float))
        _add_sum_row(builder, -np.inf, 0.0, x, s, -high.astype(float))


def _is_convex(values: FloatArray) -> bool:
    """Whether no mixture of counts is cheaper than the count between them."""
    finite = np.flatnonzero(np.isfinite(values))
    inside = values[finite[0] : finite[-1] + 1]
    return bool(np.isfinite(inside).all() and (np.diff(inside, 2) >= 0).all())


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
