"""Refine: any solver's labeling, then local search until no move of five kinds lowers the energy.

Single relabels; pairs along edges (`refine_pairs`); regions of one label (`refine_regions`); areas
that a label grows over (`refine_growth`); whole boxes (`refine_boxes`). Each accepted move lowers
the exact energy. Nodes are looked at again only when something near them changed, so the time is
that of one pass plus what the changes cause.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.arrays import Arrays
from policrf.crf.checks import IntArray
from policrf.crf.custom_call import raise_if_failed
from policrf.crf.energy import State, load_labels, new_state
from policrf.crf.model import CRF
from policrf.crf.potentials import SUPPORT
from policrf.errors import UnsupportedPotential
from policrf.solvers.indexed_heap import Heap, empty_heap
from policrf.solvers.local_search import (
    LENGTH,
    N_MOVED,
    Search,
    centred,
    descend,
    gained,
    keep,
    new_search,
    slice_size,
    undo,
)
from policrf.solvers.refine_boxes import box_move, trade_moves
from policrf.solvers.refine_growth import growth_moves
from policrf.solvers.refine_pairs import pair_moves, table_pair_moves
from policrf.solvers.refine_regions import region_move
from policrf.solvers.run import Run

CHAINS = 4  # chains of trades that a kernel call makes at most
ROUNDS = 100  # more only where rounding lets moves undo each other


class Moves(NamedTuple):
    """Which moves to try beside single relabels."""

    pairs: bool = True
    regions: bool = True
    growth: bool = True
    boxes: bool = True


def refine(
    run: Run, *, start: str = "alpha_expansion", pairs: bool = True, regions: bool = True,
    growth: bool = True, boxes: bool = True, **options: Any,
) -> None:  # fmt: skip
    """Run `start` (unless the caller gave `initial`), then local search from its labeling.

    Parameters
    ----------
    start: the name of a solver; where alpha_expansion cannot take a potential, icm does instead.
    pairs, regions, growth, boxes: which moves to try beside single relabels.
    options: the options of `start`.
    """
    from policrf.solvers import solve

    labels = run.start_labels()
    if run.initial is None and not run.expired():
        problem = run.instance if run.instance is not None else run.crf
        try:
            first = solve(problem, start, seconds=_rest(run), seed=run.seed, **options)
        except UnsupportedPotential:
            if start != "alpha_expansion" or options:
                raise
            first = solve(problem, "icm", seconds=_rest(run), seed=run.seed)
        run.info |= {"start": first.solver, "start_energy": first.energy}
        run.bound(first.lower_bound)
        labels = first.labels.copy()
        run.offer(labels)
    moves = Moves(pairs, regions, growth, boxes)
    run.info["moves"], run.info["converged"] = improve(run.crf, labels, moves, run.expired)
    run.offer(labels)


def refine_labels(
    crf: CRF, labels: ArrayLike, *, pairs: bool = True, regions: bool = True, growth: bool = True,
    boxes: bool = True,
) -> IntArray:  # fmt: skip
    """The local optimum `[N]` that the moves of `refine` reach from `labels`.

    >>> import policrf as pc
    >>> crf = pc.CRF([[1.0, 0.0], [1.0, 0.0]], pc.Potts([[0, 1]], 3.0))
    >>> refine_labels(crf, [0, 0]).tolist()
    [1, 1]
    """
    refined = crf.checked_labels(labels)
    improve(crf, refined, Moves(pairs, regions, growth, boxes))
    return refined


def _rest(run: Run) -> float | None:
    return None if run.seconds is None else run.remaining()


def improve(
    crf: CRF, labels: IntArray, moves: Moves, expired: Callable[[], bool] = lambda: False
) -> tuple[dict[str, int], bool]:
    """Improve `labels` in place; how many moves were made, and whether none is left to make."""
    made = dict.fromkeys(Moves._fields, 0)
    if expired():
        return made, False
    arrays = centred(crf.arrays)
    state, search, heap = new_state(arrays), new_search(arrays), empty_heap(crf.n_nodes)
    load_labels(arrays, state, labels)
    for _ in range(ROUNDS):
        before = sum(made.values())
        steps = _one_round(arrays, state, search, heap, moves)
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
    a: Arrays, s: State, q: Search, heap: Heap, moves: Moves
) -> Generator[tuple[str, int]]:
    """Every kind of move once, in slices; yields the kind and the number of moves made."""
    size = slice_size(a)
    yield from _singles(a, s, q)
    counting = a.clique_label >= 0
    if moves.boxes:
        for c in np.flatnonzero(counting & q.open_clique).tolist():
            q.open_clique[c] = False
            yield from _settle("boxes", a, s, q, partial(box_move, a, s, q, heap, c))
            if a.clique_kind[c] == SUPPORT:
                count = CHAINS
                while count == CHAINS:
                    count = trade_moves(a, s, q, c, CHAINS)
                    yield "boxes", count
                yield from _singles(a, s, q)
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
        if not counting.all():
            for first, last in _slices(len(counting), size // 100):
                yield "pairs", table_pair_moves(a, s, q, first, last)
        yield from _singles(a, s, q)
    if moves.growth:
        for first, last in _slices(len(a.unary), size // 10):
            yield "growth", growth_moves(a, s, q, first, last)
    q.touched[:] = False


def _singles(a: Arrays, s: State, q: Search) -> Iterator[tuple[str, int]]:
    """Descend to the end of the queue, and close the move."""
    while q.cursor[LENGTH] > 0 or q.cursor[N_MOVED] > 0:
        descend(a, s, q, slice_size(a))
        yield "pairs", 0
    keep(a, s, q)


def _settle(
    kind: str, a: Arrays, s: State, q: Search, move: Callable[[], bool]
) -> Iterator[tuple[str, int]]:
    """Make a move, descend from there, and take it back unless the energy fell."""
    forbidden = int(s.forbidden[0])
    s.total[0] = 0.0
    if not move():
        yield kind, 0
        return
    try:
        while q.cursor[LENGTH] > 0 or q.cursor[N_MOVED] > 0:
            descend(a, s, q, slice_size(a))
            yield kind, 0
    finally:
        better = gained(s, q, forbidden)
        (keep if better else undo)(a, s, q)
    yield kind, int(better)


def _slices(count: int, size: int) -> Iterator[tuple[int, int]]:
    return ((first, min(first + size, count)) for first in range(0, count, size))
