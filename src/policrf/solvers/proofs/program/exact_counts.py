"""Functions of counts and label costs in a mixed-integer linear program.

    g_l(n), n = Σ_i x_il:
      constant from 1 on:  g(0) + h p,  p = [n > 0]:  p ≥ x_il where h > 0,  p ≤ n where h < 0
      else, by runs of equal values:  Σ_r g_r s_r,  Σ_r s_r = 1,  Σ_r low_r s_r ≤ n ≤ Σ_r high_r s_r

A forbidden count is a run without a column. Each side of an inequality is there where the sign of a
cost needs it; the other side would change nothing.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.solvers.proofs.program.exact_program import Program
from policrf.solvers.proofs.program.milp import MilpBuilder
from policrf.types import FloatArray, IntArray


def count_rows(a: Arrays, c: int) -> FloatArray:
    """g_l(n) of a COUNTED clique for n = 0 … its size, `[L, size + 1]`."""
    width, size = int(a.clique_count[c]), int(a.clique_ptr[c + 1] - a.clique_ptr[c])
    rows = a.data[a.data_start[c] :][: a.data_size[c]].reshape(-1, width)
    return np.asarray(rows[:, np.minimum(np.arange(size + 1), width - 1)])


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
