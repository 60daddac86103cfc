"""The energy as a mixed-integer linear program over the labels that are left (`alive` [N, L]).

    x_il ∈ {0, 1}, Σ_l x_il = 1                      node i has label l
    Potts, w > 0:  w Σ_l d_l,  d_l ≥ x_il − x_jl, d_l ≥ 0  (one side is enough: the sums are equal)
    Potts, w < 0:  w + |w| s,  s ≥ x_il + x_jl − 1 for all l, s ≥ 0
    HOP1:          w Σ_i u_i,  u_i ≥ |x_il − z|,  z ∈ {0, 1}
    HOP2:          λ v,  Σ_i y_i ≥ count · (1 − v),  y_i ≤ x_il,  y_i ≤ 1 − v,  v ∈ {0, 1}
    table:         Σ μ(y) f(y),  Σ over y with y_i = l of μ(y) = x_il  (local marginal polytope)
    other groups:  see `exact_counts` and `exact_groups`

The relaxation of each of these is its convex envelope over the x of its nodes; nothing is a big M.
A forbidden combination is a variable that does not exist. Only x, z and v are integer; all others
are 0 or 1 in some optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from policrf.crf.arrays import Arrays, clique_table
from policrf.crf.potentials import AGREE, COUNTED, DOMINANT, SUPPORT, TABLE, TOGETHER
from policrf.solvers.proofs.program.exact_counts import add_counted
from policrf.solvers.proofs.program.exact_groups import add_dominant, add_together
from policrf.solvers.proofs.program.exact_program import Program, fixed_energy
from policrf.solvers.proofs.program.milp import Milp, MilpBuilder
from policrf.types import BoolArray, FloatArray, IntArray

LOOK_EVERY = 200  # cliques between two looks at the clock


@dataclass
class ExactModel:
    """A program, and how its columns are read."""

    milp: Milp
    columns: IntArray
    """Column of x_il, `[N, L]`; −1 where there is none."""
    fixed: IntArray
    """The label of a node that has no columns, −1 of one that has, `[N]`."""

    def labels(self, values: FloatArray) -> IntArray:
        """The labeling `[N]` that the columns' values round to."""
        x = np.where(self.columns >= 0, values[np.maximum(self.columns, 0)], -1.0)
        return np.where(self.fixed >= 0, self.fixed, np.argmax(x, axis=1)).astype(np.int64)


def build_model(
    a: Arrays, alive: BoolArray, start: IntArray, late: Callable[[], bool] = lambda: False
) -> ExactModel | None:
    """The program of the nodes with more than one label; `start` [N] gives the first values.

    None if it gets `late` on the way.
    """
    counts = alive.sum(axis=1)
    fixed = np.where(counts == 1, np.argmax(alive, axis=1), -1).astype(np.int64)
    free = fixed < 0
    node, label = np.nonzero(alive & free[:, None])
    builder = MilpBuilder()
    columns = np.full(alive.shape, -1, np.int64)
    columns[node, label] = builder.add_columns(
        a.unary[node, label], start[node] == label, integer=True
    )
    builder.add_ragged_rows(
        np.ones(free.sum()), np.ones(free.sum()), counts[free], columns[node, label]
    )
    builder.constant += float(a.unary[~free, fixed[~free]].sum())
    program = Program(a=a, alive=alive, fixed=fixed, columns=columns, builder=builder)
    _add_potts(program)
    for c in range(len(a.clique_kind)):
        if c % LOOK_EVERY == 0 and late():
            return None
        members = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]
        if free[members].any():
            _ADD[int(a.clique_kind[c])](program, c, members)
        else:
            builder.constant += fixed_energy(a, c, fixed)
    milp = builder.finish()
    # Each node pays for its cheapest label whatever happens: what is left is small numbers.
    cost = np.where(columns[free] >= 0, milp.cost[columns[free]], np.inf)
    least = cost.min(axis=1)
    milp.cost[columns[node, label]] -= np.repeat(least, counts[free])
    milp = milp._replace(constant=milp.constant + float(least.sum()), active=_active(a))
    return ExactModel(milp, columns, fixed)


def _active(a: Arrays) -> int:
    """A label a node, a difference an edge, an entry a table, a column or two a member of others.

    Labels of groups may each have one more.
    """
    others = a.clique_kind != TABLE
    members = int(np.diff(a.clique_ptr)[others].sum())
    labels = a.unary.shape[1] ** 2 * int(others.sum())
    return int(len(a.unary) + len(a.edges) + len(a.clique_kind) + 2 * members + labels)


def _add_potts(program: Program) -> None:
    a, alive, fixed, columns, builder = program
    first, second, weight = a.edges[:, 0], a.edges[:, 1], a.edge_weights
    first_fixed, second_fixed = fixed[first] >= 0, fixed[second] >= 0
    both = first_fixed & second_fixed
    builder.constant += float(weight[both & (fixed[first] != fixed[second])].sum())
    for one, free, held in (
        (second_fixed & ~first_fixed, first, second),
        (first_fixed & ~second_fixed, second, first),
    ):
        builder.constant += float(weight[one].sum())
        column = columns[free[one], fixed[held[one]]]
        builder.add_cost(column[column >= 0], -weight[one][column >= 0])
    neither = ~(first_fixed | second_fixed)
    pull = neither & (weight > 0)
    i, j, w = first[pull], second[pull], weight[pull]
    edge, label = np.nonzero(alive[i] & ~alive[j])
    builder.add_cost(columns[i[edge], label], w[edge])
    edge, label = np.nonzero(alive[i] & alive[j])
    x_i, x_j = columns[i[edge], label], columns[j[edge], label]
    d = builder.add_columns(w[edge], np.maximum(builder.value(x_i) - builder.value(x_j), 0.0))
    builder.add_rows(0.0, np.inf, (d, x_i, x_j), (1.0, -1.0, 1.0))

    push = neither & (weight < 0)
    i, j, w = first[push], second[push], weight[push]
    builder.constant += float(w.sum())
    meet = (alive[i] & alive[j]).any(axis=1)
    edge, label = np.nonzero(alive[i] & alive[j])
    x_i, x_j = columns[i[edge], label], columns[j[edge], label]
    same = np.zeros(len(i))
    np.maximum.at(same, edge, builder.value(x_i) + builder.value(x_j) - 1.0)
    s = np.full(len(i), -1, np.int64)
    s[meet] = builder.add_columns(-w[meet], same[meet])
    builder.add_rows(-1.0, np.inf, (s[edge], x_i, x_j), (1.0, -1.0, -1.0))


def _add_agreement(program: Program, c: int, members: IntArray) -> None:
    weight, builder = float(program.a.clique_weight[c]), program.builder
    sure, never, x = program.counted(members, int(program.a.clique_label[c]))
    if weight == 0.0:
        return
    if sure + len(x) <= never:  # matches are the minority whatever happens
        builder.constant += weight * sure
        builder.add_cost(x, np.full(len(x), weight))
    elif sure >= never + len(x):
        builder.constant += weight * (len(members) - sure)
        builder.add_cost(x, np.full(len(x), -weight))
    else:
        value = builder.value(x)
        z_value = float(2 * (sure + value.sum()) >= len(members))
        z = builder.add_columns(
            np.array([weight * (never - sure)]), np.array([z_value]), integer=True
        )
        z = np.repeat(z, len(x))
        builder.constant += weight * sure
        u = builder.add_columns(np.full(len(x), weight), np.abs(value - z_value))
        builder.add_rows(0.0, np.inf, (u, x, z), (1.0, -1.0, 1.0))
        builder.add_rows(0.0, np.inf, (u, x, z), (1.0, 1.0, -1.0))


def _add_support(program: Program, c: int, members: IntArray) -> None:
    penalty, builder = float(program.a.clique_weight[c]), program.builder
    sure, _, x = program.counted(members, int(program.a.clique_label[c]))
    need = int(program.a.clique_count[c]) - sure
    if need <= 0 or penalty == 0.0:
        return
    if need > len(x):
        builder.constant += penalty
        return
    value = builder.value(x)
    violated = float(value.sum() < need)
    v = builder.add_columns(np.array([penalty]), np.array([violated]), integer=True)
    v_each = np.repeat(v, len(x))
    if need == len(x):
        builder.add_rows(1.0, np.inf, (x, v_each), (1.0, 1.0))
        return
    if need == 1:
        y = x
    else:
        y = builder.add_columns(np.zeros(len(x)), np.minimum(value, 1.0 - violated))
        builder.add_rows(0.0, np.inf, (x, y), (1.0, -1.0))
        builder.add_rows(-np.inf, 1.0, (y, v_each), (1.0, 1.0))
    row = np.concatenate([y, v])
    builder.add_ragged_rows(
        np.array([need]), np.array([np.inf]), np.array([len(row)]), row,
        np.concatenate([np.ones(len(y)), [need]]),
    )  # fmt: skip


def _add_table(program: Program, c: int, members: IntArray) -> None:
    a, alive, fixed, columns, builder = program
    table = clique_table(a, c)
    shapes = zip(members, table.shape, strict=True)
    labels = [np.flatnonzero(alive[i, :size]) for i, size in shapes]
    open_axes = np.flatnonzero(fixed[members] < 0)
    table = table[np.ix_(*labels)].reshape([len(labels[k]) for k in open_axes])
    x = [columns[members[k], labels[k]] for k in open_axes]
    if not x:
        builder.constant += float(table)
    elif len(x) == 1:
        builder.forbid(x[0][np.isinf(table)])
        builder.add_cost(x[0], np.where(np.isinf(table), 0.0, table))
    else:
        at = np.nonzero(np.isfinite(table))
        value = np.ones(len(at[0]))
        for axis, choice in enumerate(at):
            value *= builder.value(x[axis][choice])
        least = table[at].min(initial=np.inf) if len(value) else 0.0
        builder.constant += float(least)
        mu = builder.add_columns(table[at] - least, value)
        for axis, choice in enumerate(at):
            order = np.argsort(choice, kind="stable")
            count = np.bincount(choice, minlength=len(x[axis]))
            ends = np.cumsum(count)
            row = np.insert(mu[order], ends, x[axis])
            sign = np.insert(np.ones(len(mu)), ends, -1.0)
            builder.add_ragged_rows(
                np.zeros(len(count)), np.zeros(len(count)), count + 1, row, sign
            )


# A kind that is not here has no form: `exact_forms` has made a table of it, or refused it.
_ADD: dict[int, Callable[[Program, int, IntArray], None]] = {
    AGREE: _add_agreement,
    SUPPORT: _add_support,
    TABLE: _add_table,
    COUNTED: add_counted,
    TOGETHER: add_together,
    DOMINANT: add_dominant,
}
