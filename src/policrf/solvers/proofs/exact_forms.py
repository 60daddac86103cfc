"""Every group in a form that proofs know: tables, a form in the program, or not at all.

Elimination, enumeration and both solvers know tables best, so that cliques with a small table
become one. Label costs, counts, co-occurrence and robust Potts have a form of their own in the
program (`exact_counts`, `exact_groups`); an order without a cap is a sum over pairs. What is left
(custom functions, connectivity, an order with a cap) becomes a table too, up to `table_limit`
entries.
"""

from __future__ import annotations

from operator import is_

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import (
    COUNTED,
    CUSTOM,
    DOMINANT,
    TOGETHER,
    CliquePotential,
    Custom,
    LabelOrder,
    Pairwise,
    Potential,
    Tables,
)
from policrf.crf.tabulate import tabulate_clique
from policrf.errors import UnsupportedPotential
from policrf.solvers.run import Run
from policrf.types import FloatArray, IntArray

SMALL_TABLE = 512  # entries; such a clique is a table, whatever its kind
HAVE_A_FORM = (COUNTED, TOGETHER, DOMINANT)


def in_known_forms(run: Run, table_limit: int) -> CRF:
    """The same energy in groups that proofs know; what has no form is refused by name."""
    crf = run.crf
    groups: list[Potential] = []
    first = 0
    for group in crf.potentials:
        if not isinstance(group, CliquePotential) or group.kind < CUSTOM:
            groups.append(group)
        elif _entries(crf, group).max(initial=0.0) <= min(SMALL_TABLE, table_limit):
            groups.append(_tabulated(run, group, first))
        elif group.kind in HAVE_A_FORM:
            groups.append(group)
        elif isinstance(group, LabelOrder) and np.isinf(group.cap):
            groups += _pairs(crf, group)
        else:
            _refuse_large(run, group, table_limit)
            groups.append(_tabulated(run, group, first))
        if run.expired():
            return crf
        first += len(group) if isinstance(group, CliquePotential) else 0
    same = len(groups) == len(crf.potentials) and all(map(is_, groups, crf.potentials))
    return crf if same else crf.with_potentials(*groups)


def _entries(crf: CRF, group: CliquePotential) -> FloatArray:
    """The size of every clique's table, `[C]`."""
    owner = np.repeat(np.arange(len(group)), group.cliques.sizes)
    logs = np.bincount(owner, np.log2(crf.cardinalities[group.cliques.nodes]), len(group))
    return np.asarray(np.rint(np.exp2(np.minimum(logs, 1000.0))))


def _tabulated(run: Run, group: CliquePotential, first: int) -> Potential:
    """Its cliques as tables, or the group itself if the time is up; `first` is its first clique."""
    tables = []
    for c in range(len(group)):
        if run.expired():
            return group
        tables.append(tabulate_clique(run.crf, first + c))
    return Tables(group.cliques, tables)


def _refuse_large(run: Run, group: CliquePotential, table_limit: int) -> None:
    entries = _entries(run.crf, group)
    if (entries > table_limit).any():
        c = int(np.argmax(entries > table_limit))
        which = f" ({group.function_name})" if isinstance(group, Custom) else ""
        raise UnsupportedPotential(
            f"{run.solver} cannot take {group.name} clique {c}{which} of {group.cliques.sizes[c]} "
            f"nodes: its table has {entries[c]:.3g} entries, more than table_limit={table_limit}; "
            "try auto or refine"
        )


def _pairs(crf: CRF, group: LabelOrder) -> list[Potential]:
    """An order without a cap: a price for every pair, which has one table for all pairs."""
    pairs = [_earlier_and_later(sequence) for sequence in group]
    edges, weights = np.unique(np.concatenate(pairs), axis=0, return_counts=True)
    whole = (crf.cardinalities[edges] == crf.n_labels).all(axis=1)
    rising = edges[:, 0] < edges[:, 1]
    found: list[Potential] = [
        Pairwise(edges[some], group.prices, weights[some].astype(float))
        for some in (whole & rising, whole & ~rising)
        if some.any()
    ]
    if not whole.all():
        cards = crf.cardinalities[edges[~whole]].tolist()
        tables = [
            weight * group.prices[:rows, :columns]
            for (rows, columns), weight in zip(cards, weights[~whole].tolist(), strict=True)
        ]
        found.append(Tables(edges[~whole], tables))
    return found


def _earlier_and_later(sequence: IntArray) -> IntArray:
    return np.stack([sequence[k] for k in np.triu_indices(len(sequence), 1)], axis=1)
