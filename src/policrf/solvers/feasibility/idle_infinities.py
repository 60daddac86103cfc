"""Infinite entries of tables that say nothing: a unary forbids one of their labels anyway.

Files of others pad nodes of few labels so: a label is forbidden by its unary and by every table. A
finite entry there changes no energy, and the model may turn out to be one of finite tables, which
solvers without a thought for what is forbidden can take (`thermal.kept_costs.takes`).
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom, Tables
from policrf.types import BoolArray, FloatArray

MOST_TABLES = 20_000  # that are looked at one by one


def without_idle_infinities(crf: CRF) -> CRF | None:
    """The same energy with finite entries there; None if nothing changes.

    Custom cliques count their calls: a CRF that has some is left as it is.
    """
    allowed = np.isfinite(crf.unary)
    real = np.arange(crf.n_labels) < crf.cardinalities[:, None]
    if allowed[real].all() or crf.groups(Custom):
        return None
    groups, changed = [], False
    for group in crf.potentials:
        new = _with_finite_entries(group, allowed) if type(group) is Tables else None
        groups.append(group if new is None else new)
        changed |= new is not None
    return crf.with_potentials(*groups) if changed else None


def _with_finite_entries(group: Tables, allowed: BoolArray) -> Tables | None:
    """The group with the largest finite entry of a table where a unary forbids; None if equal."""
    if len(group) > MOST_TABLES or np.isfinite(group.values).all():
        return None
    changed, tables = False, []
    for t in range(len(group)):
        table = group.table(t)
        new = _finite_table(table, [allowed[i] for i in group.cliques[t]])
        changed |= new is not table
        tables.append(new)
    return Tables(group.cliques, tables, group.partial_form) if changed else None


def _finite_table(table: FloatArray, allowed: list[BoolArray]) -> FloatArray:
    infinite = np.isinf(table)
    if not infinite.any():
        return table
    sides = [own[:size] for own, size in zip(allowed, table.shape, strict=True)]
    idle = infinite & ~reduce(np.logical_and.outer, sides)
    if not idle.any():
        return table
    highest = float(table[~infinite].max(initial=-np.inf))
    return np.where(idle, highest if np.isfinite(highest) else 0.0, table)
