"""The tables of `Tables` and `Custom` cliques; the function is called once for every entry."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays, clique_table
from policrf.crf.custom_call import raise_if_failed
from policrf.crf.custom_energy import custom_energy
from policrf.crf.potentials import CUSTOM, TABLE
from policrf.errors import CustomPotentialFailed, TooLarge, UnsupportedPotential
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.run import Run
from policrf.types import FloatArray, IntArray

SLICE = 10_000  # calls of a custom function between two looks at the clock
TABLE_LIMIT = 2**18  # entries of one clique's table that the solvers take by default
ALL_TABLES_LIMIT = 2**27  # entries of all tables together: a gigabyte


class ExplicitTables(NamedTuple):
    """C cliques with M entries in all, of every kind: those that have no table have start −1."""

    values: FloatArray  # may hold +inf
    start: IntArray  # [C]; first entry in `values`
    size: IntArray  # [C]; number of entries
    stride: IntArray  # [M]; row-major


def explicit_tables(run: Run, table_limit: int) -> ExplicitTables | None:
    """All tables of the CRF; None if the time ran out while calling a custom function.

    A clique with more than `table_limit` joint labelings is refused by name.
    """
    require_whole_numbers(table_limit=table_limit)
    a = run.crf.arrays
    n_cliques = len(a.clique_kind)
    size = np.zeros(n_cliques, np.int64)
    start = np.full(n_cliques, -1, np.int64)
    is_table = a.clique_kind == TABLE
    start[is_table] = a.data_start[is_table]
    size[is_table] = a.data_size[is_table]
    stride = a.clique_stride.copy()
    parts = [a.data]
    end = len(a.data)
    for c in np.flatnonzero(is_table & (a.clique_weight != 1.0)):
        start[c] = end
        parts.append(clique_table(a, int(c)).reshape(-1))
        end += size[c]
    for c in np.flatnonzero(a.clique_kind >= CUSTOM):
        entries = slice(a.clique_ptr[c], a.clique_ptr[c + 1])
        cards = a.cardinalities[a.clique_nodes[entries]]
        # Python integers: the product may be beyond 64 bits.
        joint = int(np.prod([int(card) for card in cards], dtype=object))
        start[c], size[c] = end, min(joint, 2**62)
        if joint <= table_limit:
            stride[entries] = np.append(np.cumprod(cards[:0:-1])[::-1], 1)
            end += joint
    _refuse_above(run, size, table_limit)
    if end > ALL_TABLES_LIMIT:
        raise TooLarge(
            f"{run.solver}: the tables of all Custom cliques have {end} entries, above the limit "
            f"of {ALL_TABLES_LIMIT}; try icm, lazy_flipper or refine, which need none"
        )
    for c in np.flatnonzero(a.clique_kind >= CUSTOM):
        table = _tabulated(run, int(c), int(size[c]))
        if table is None:
            return None
        parts.append(table)
    return ExplicitTables(np.concatenate(parts), start, size, stride)


def _refuse_above(run: Run, size: IntArray, table_limit: int) -> None:
    for c in np.flatnonzero(size > table_limit):
        a = run.crf.arrays
        name = "Tables" if a.clique_kind[c] == TABLE else "Custom"
        within = int(np.count_nonzero(a.clique_kind[:c] == a.clique_kind[c]))
        raise UnsupportedPotential(
            f"{run.solver} cannot take {name}: clique {within} of "
            f"{a.clique_ptr[c + 1] - a.clique_ptr[c]} nodes has {size[c]} joint labelings, above "
            f"table_limit = {table_limit}; raise the limit, or try icm, lazy_flipper or refine"
        )


def _tabulated(run: Run, c: int, size: int) -> FloatArray | None:
    table = np.empty(size)
    a = run.crf.arrays
    members = np.zeros(a.clique_ptr[c + 1] - a.clique_ptr[c], np.int64)
    for first in range(0, size, SLICE):
        if run.expired():
            return None
        fill(a, c, members, table, first, min(first + SLICE, size))
        raise_if_failed()
    if np.isnan(table).any():
        raise CustomPotentialFailed("Custom: a compiled function raised or returned NaN")
    return table


@kernel
def fill(a: Arrays, c: int, members: IntArray, table: FloatArray, first: int, stop: int) -> None:
    """Entries first … stop − 1, row-major; `members` is the odometer, 0 before the first call."""
    for at in range(first, stop):
        table[at] = custom_energy(a, c, members)
        for m in range(len(members) - 1, -1, -1):
            members[m] += 1
            if members[m] < a.cardinalities[a.clique_nodes[a.clique_ptr[c] + m]]:
                break
            members[m] = 0
