"""The moves that are made until none lowers the energy.

Single relabels; whole boxes (`refine_boxes`); minimum cuts (`refine_cuts`); regions of one label
(`refine_regions`); pairs along edges (`refine_pairs`); areas that a label grows over
(`refine_growth`). Each accepted move lowers the exact energy. Nodes are looked at again only when
something near them changed, so the time is that of one pass plus what the changes cause.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels
from policrf.crf.model import CRF
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.solvers.cuts.expansion_move import SLICE, expand_each
from policrf.solvers.moves.indexed_heap import Heap, empty_heap
from policrf.solvers.moves.local_search import (
    LENGTH,
    N_MOVED,
    LocalSearch,
    centred,
    descend,
    end_move,
    keep,
    leave_alone,
    new_search,
    slice_size,
)
from policrf.solvers.pace import model_size
from policrf.solvers.refine.refine_boxes import CLIQUE, FORBIDDEN, MADE, SETTLE, STAGE, box_moves
from policrf.solvers.refine.refine_cuts import Cuts, mix, new_cuts, prepare_cuts, propose
from policrf.solvers.refine.refine_growth import growth_moves, new_patch
from policrf.solvers.refine.refine_pairs import pair_moves, table_pair_moves
from policrf.solvers.refine.refine_regions import region_move
from policrf.types import BoolArray, IntArray

ROUNDS = 100  # more only where rounding lets moves undo each other
BEGIN = 1e-7  # seconds a node, an edge or a clique's member to begin with
SWEEPS = 10  # rounds over the labels in a cut move


class Moves(NamedTuple):
    """Which moves to try beside single relabels."""

    pairs: bool = True
    regions: bool = True
    growth: bool = True
    boxes: bool = True
    cuts: bool = True


def refine_labels(crf: CRF, labels: ArrayLike, moves: Moves | None = None) -> IntArray:
    """Return the local optimum `[N]` that the moves of `refine` reach from `labels`.

    Parameters
    ----------
    crf
        The CRF whose energy is lowered.
    labels
        The labeling `[N]` to start from.
    moves
        Which moves to try beside single relabels; by default all.

    >>> import policrf as pc
    >>> crf = pc.CRF([[1.0, 0.0], [1.0, 0.0]], pc.Potts([[0, 1]], 3.0))
    >>> refine_labels(crf, [0, 0]).tolist()
    [1, 1]
    """
    refined = crf.checked_labels(labels)
    improve(crf, refined, Moves() if moves is None else moves)
    return refined


def seconds_to_begin(a: Arrays) -> float:
    """About what `improve` takes before its first move."""
    return BEGIN * model_size(a)


def improve(
    crf: CRF, labels: IntArray, moves: Moves, expired: Callable[[], bool] = lambda: False,
    *, alive: BoolArray | None = None,
) -> tuple[dict[str, int], bool]:  # fmt: skip
    """Improve `labels` in place; how many moves were made, and whether none is left to make.

    `alive` [N, L]: labels that some minimum may need; nodes with one of them are not looked at.
    """
    made = dict.fromkeys(Moves._fields, 0)
    if expired():
        return made, False
    arrays = centred(crf.arrays)
    state, search, heap = new_state(arrays), new_search(arrays), empty_heap(crf.n_nodes)
    load_labels(arrays, state, labels)
    cuts = new_cuts(crf, alive) if moves.cuts else None
    if alive is not None:
        leave_alone(arrays, search, np.count_nonzero(alive, axis=1) == 1)
    for number in range(ROUNDS):
        before = sum(made.values())
        steps = _one_round(arrays, state, search, heap, moves, cuts, number == 0)
        for kind, count in steps:
            raise_if_failed()
            made[kind] += count
            if expired():
                steps.close()  # takes a move back that is not done
                labels[:] = state.labels
                return made, False
        if sum(made.values()) == before:
            break
    labels[:] = state.labels
    return made, True


def _one_round(
    a: Arrays, s: State, q: LocalSearch, heap: Heap, moves: Moves, cuts: Cuts | None, restart: bool
) -> Generator[tuple[str, int]]:
    """Every kind of move once, in slices; yields the kind and the number of moves made.

    Cuts `restart` from the cheapest labels in the first round: a second labeling to mix with.
    """
    size = slice_size(a)
    yield from _singles(a, s, q)
    if moves.boxes:
        yield from _boxes(a, s, q, heap)
    if cuts is not None:
        yield from _cuts(a, s, q, heap, cuts, restart)
    if moves.regions:
        visited, region = np.zeros(len(a.unary), np.bool_), np.empty(len(a.unary), np.int64)
        node = 0

        def next_region() -> bool:
            nonlocal node
            node, found = region_move(a, s, q, visited, region, node, size)
            return found

        while node < len(a.unary):
            yield from _settle("regions", a, s, q, next_region)
    if moves.pairs:
        for first, last in _slices(len(a.edges), size):
            yield "pairs", pair_moves(a, s, q, first, last)
        counting = a.clique_label >= 0
        if not counting.all():
            for first, last in _slices(len(counting), max(1, size // 40)):
                yield "pairs", table_pair_moves(a, s, q, first, last)
        yield from _singles(a, s, q)
    if moves.growth:
        patch = new_patch(a)
        for first, last in _slices(len(a.unary), size // 10):
            yield "growth", growth_moves(a, s, q, patch, first, last)
    q.touched[:] = False


def _singles(a: Arrays, s: State, q: LocalSearch) -> Iterator[tuple[str, int]]:
    """Descend to the end of the queue, and close the move."""
    while _unsettled(q):
        descend(a, s, q, slice_size(a))
        yield "pairs", 0
    keep(a, s, q)


def _boxes(a: Arrays, s: State, q: LocalSearch, heap: Heap) -> Iterator[tuple[str, int]]:
    """The moves of every open counting clique."""
    cursor = np.zeros(4, np.int64)
    try:
        while cursor[CLIQUE] < len(a.clique_kind):
            cursor[MADE] = 0
            box_moves(a, s, q, heap, cursor, slice_size(a))
            yield "boxes", int(cursor[MADE])
    finally:
        if cursor[STAGE] == SETTLE:
            end_move(a, s, q, cursor[FORBIDDEN])


def _cuts(
    a: Arrays, s: State, q: LocalSearch, heap: Heap, cuts: Cuts, restart: bool
) -> Iterator[tuple[str, int]]:
    """One cut move."""
    network = cuts.problem.network
    size = max(1, SLICE // (len(network.head) + len(network.excess)))
    order = cuts.order[: prepare_cuts(a, s, q, cuts, restart)]
    cursor, moves = np.zeros(2, np.int64), cuts.state.changes.moves
    last = int(moves[0]) + SWEEPS * len(order)
    while cursor[1] < len(order) and moves[0] < last:
        expand_each(cuts.problem, cuts.state, order, cursor, size)
        yield "cuts", 0
    yield from _settle("cuts", a, s, q, partial(propose, a, s, q, heap, cuts), cuts)


def _settle(
    kind: str,
    a: Arrays,
    s: State,
    q: LocalSearch,
    move: Callable[[], bool],
    cuts: Cuts | None = None,
) -> Iterator[tuple[str, int]]:
    """Make a move, descend from there, and take it back unless the energy fell.

    A cut move is mixed with the labeling before it first.
    """
    forbidden = int(s.forbidden[0])
    s.total[0] = 0.0
    if not move():
        yield kind, 0
        return
    better = False
    try:
        while _unsettled(q):
            descend(a, s, q, slice_size(a))
            yield kind, 0
            if cuts is not None and not _unsettled(q):
                mix(a, s, q, forbidden, cuts.state.labels)
                cuts = None
    finally:
        better = end_move(a, s, q, forbidden)
    yield kind, int(better)


def _unsettled(q: LocalSearch) -> bool:
    return bool(q.cursor[LENGTH] > 0 or q.cursor[N_MOVED] > 0)


def _slices(count: int, size: int) -> Iterator[tuple[int, int]]:
    return ((first, min(first + size, count)) for first in range(0, count, size))
