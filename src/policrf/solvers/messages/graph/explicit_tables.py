"""The tables that message passing needs: those of `Tables`, and of cliques without a closed form.

Boxes, counts of labels (`LabelCost`, `CountFunction`), `RobustPotts`, and `LabelOrder` without a
cap have messages of their own. All other cliques (`Custom`, `CoOccurrence`, `Connectivity`, a cap
that can be reached) are tabulated; a custom function is called once for every entry.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import (
    COUNTED,
    CUSTOM,
    DOMINANT,
    ORDERED,
    TABLE,
    Connectivity,
    CoOccurrence,
    Custom,
    LabelOrder,
    Potential,
)
from policrf.crf.tabulate import group_of
from policrf.crf.valued.clique_value import custom_energy
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import CustomPotentialFailed, TooLarge, UnsupportedPotential
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.run import Run
from policrf.types import BoolArray, FloatArray, IntArray

SLICE = 10_000  # calls of a custom function between two looks at the clock
TABLE_LIMIT = 2**18  # entries of one clique's table that the solvers take by default
ALL_TABLES_LIMIT = 2**27  # entries of all tables together: a gigabyte
ENDS_A_SECOND = 2e6  # of edges and cliques, laid out as a graph for messages, about
MOST_OF_TIME = 0.5
AS_TABLES: tuple[type[Potential], ...] = (Custom, CoOccurrence, Connectivity, LabelOrder)


class ExplicitTables(NamedTuple):
    """C cliques with M entries in all, of every kind: those that have no table have start −1."""

    values: FloatArray  # the CRF's data, then the tables made here; may hold +inf
    start: IntArray  # [C]; first entry in `values`; cliques may share a table
    size: IntArray  # [C]; number of entries
    factor: FloatArray  # [C]; what the table is multiplied by
    stride: IntArray  # [M]; row-major


def explicit_tables(run: Run, table_limit: int, *, dominant: bool = True) -> ExplicitTables | None:
    """All tables of the CRF; None if the time ran out, or will before there are messages.

    A clique that needs a table with more than `table_limit` entries is refused by name. `dominant`:
    whether the solver has a closed form for `RobustPotts`.
    """
    require_whole_numbers(table_limit=table_limit)
    a = run.crf.arrays
    is_table = a.clique_kind == TABLE
    start = np.where(is_table, a.data_start, -1)
    size = np.where(is_table, a.data_size, 0)
    factor = np.where(is_table, a.clique_weight, 1.0)
    stride = a.clique_stride.copy()
    end = len(a.data)
    wanted = np.flatnonzero((a.clique_kind >= CUSTOM) & ~has_closed_form(a, dominant))
    for c in wanted:
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
            f"{run.solver}: the tables of all cliques have {end} entries, above the limit of "
            f"{ALL_TABLES_LIMIT}; try icm, lazy_flipper or refine, which need none"
        )
    _refuse_many_pairs(run)
    if no_time_for_messages(run):
        run.info["messages"] = "none: no time to lay out the graph"
        return None
    parts = [a.data]
    for c in wanted:
        table = _tabulated(run, int(c), int(size[c]))
        if table is None:
            return None
        parts.append(table)
    return ExplicitTables(np.concatenate(parts), start, size, factor, stride)


def no_time_for_messages(run: Run, share: float = 1.0) -> bool:
    """Whether laying the graph out takes most of a share of the time; search makes more of it."""
    ends = 2 * len(run.crf.arrays.edges) + len(run.crf.arrays.clique_nodes)
    most = ENDS_A_SECOND * MOST_OF_TIME * share * run.remaining()
    return run.seconds is not None and ends > most


def has_closed_form(a: Arrays, dominant: bool = True) -> BoolArray:
    """Which cliques [C], of those that are no tables, have messages without one.

    Counts and RobustPotts on one or two nodes are tabulated: as unaries and pairwise terms they
    give tighter bounds.
    """
    large = np.diff(a.clique_ptr) > 2
    closed = (a.clique_kind < TABLE) | ((a.clique_kind == COUNTED) & large)
    if dominant:
        closed |= (a.clique_kind == DOMINANT) & large
    return np.asarray(closed | has_no_reachable_cap(a))


def has_no_reachable_cap(a: Arrays) -> BoolArray:
    """ORDERED cliques [C] whose energy is the plain sum over pairs of members."""
    ordered = a.clique_kind == ORDERED
    size = np.diff(a.clique_ptr)
    highest = np.zeros(len(size))
    for start in np.unique(a.data_start[ordered]):
        same = ordered & (a.data_start == start)
        highest[same] = a.data[start:][: a.unary.shape[1] ** 2].max()
    pairs = size * (size - 1) / 2
    total = np.where(pairs > 0, highest, 0.0) * np.maximum(pairs, 1)
    return np.asarray(ordered & (total <= a.clique_weight))


def _refuse_above(run: Run, size: IntArray, table_limit: int) -> None:
    for c in np.flatnonzero(size > table_limit):
        a = run.crf.arrays
        name, number = group_of(run.crf, int(c))
        raise UnsupportedPotential(
            f"{run.solver} cannot take {name}: clique {number} of "
            f"{a.clique_ptr[c + 1] - a.clique_ptr[c]} nodes has {size[c]} joint labelings, above "
            f"table_limit = {table_limit}; raise the limit, or try icm, lazy_flipper or refine"
        )


def _refuse_many_pairs(run: Run) -> None:
    """Every pair of members of an uncapped sequence gets messages, two of L numbers."""
    a = run.crf.arrays
    size = np.diff(a.clique_ptr)[has_no_reachable_cap(a)]
    numbers = int((size * (size - 1)).sum()) * a.unary.shape[1]
    if numbers > ALL_TABLES_LIMIT:
        raise TooLarge(
            f"{run.solver}: the pairs of all LabelOrder sequences need {numbers} numbers, above "
            f"the limit of {ALL_TABLES_LIMIT}; try icm, lazy_flipper or refine, which need none"
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
