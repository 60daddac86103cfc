"""Refine: any solver's labeling, then local search until no move of four kinds lowers the energy.

Single relabels; pairs along edges (`refine_pairs`); regions of one label (`refine_regions`); whole
boxes (`refine_boxes`). Each accepted move lowers the exact energy; nodes are looked at again only when
something near them changed, so the time is that of one pass plus what the changes cause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import IntArray
from policrf.crf.custom_call import raise_if_failed
from policrf.crf.energy import load_labels, new_state
from policrf.crf.model import CRF
from policrf.errors import UnsupportedPotential
from policrf.solvers.indexed_heap import new_heap
from policrf.solvers.local_search import centred, descend, keep, new_search
from policrf.solvers.refine_boxes import box_moves
from policrf.solvers.refine_growth import growth_moves
from policrf.solvers.refine_pairs import pair_moves, table_pair_moves
from policrf.solvers.refine_regions import region_moves
from policrf.solvers.run import Run

SLICE = 10_000  # nodes or edges a kernel call visits
ROUNDS = 100  # more only where rounding lets moves undo each other


def refine(
    run: Run, *, start: str = "alpha_expansion", pairs: bool = True, regions: bool = True,
    boxes: bool = True, growth: bool = True, **options: Any,
) -> None:  # fmt: skip
    """Run `start` (unless the caller gave `initial`), then local search from its labeling.

    Parameters
    ----------
    start: the name of a solver; where it cannot take a potential of the CRF, icm does.
    pairs, regions, boxes, growth: which moves to try beside single relabels.
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
        run.info["start"] = first.solver
        run.info["start_energy"] = first.energy
        run.bound(first.lower_bound)
        labels = first.labels.copy()
        run.offer(labels)
    converged = improve(run.crf, labels, run.expired, run.info, pairs, regions, boxes, growth)
    run.info["converged"] = converged
    run.offer(labels)


def refine_labels(
    crf: CRF, labels: ArrayLike, *, pairs: bool = True, regions: bool = True, boxes: bool = True, growth: bool = True
) -> IntArray:
    """The local optimum `[N]` that the moves of `refine` reach from `labels`."""
    refined = crf.checked_labels(labels)
    improve(crf, refined, lambda: False, {}, pairs, regions, boxes, growth)
    return refined


def _rest(run: Run) -> float | None:
    return None if run.seconds is None else run.remaining()


def improve(
    crf: CRF, labels: IntArray, expired: Callable[[], bool], info: dict[str, Any],
    pairs: bool, regions: bool, boxes: bool, growth: bool,
) -> bool:  # fmt: skip
    """Improve `labels` in place; whether a local optimum was reached."""
    arrays = centred(crf.arrays)
    state, search, heap = new_state(arrays), new_search(arrays), new_heap(crf.n_nodes)
    heap.place[:] = -1
    heap.size[0] = 0
    load_labels(arrays, state, labels)
    made = {"growth": 0, "pairs": 0, "regions": 0, "boxes": 0}
    n_edges, n_cliques = len(arrays.edges), len(arrays.clique_kind)
    counting = np.flatnonzero(arrays.clique_label >= 0)
    explicit = n_cliques > len(counting)

    def singles() -> None:
        while search.cursor[1] > 0 and not expired():
            descend(arrays, state, search, SLICE)
            raise_if_failed()
        keep(arrays, state, search)

    def rounds() -> bool:
        for _ in range(ROUNDS):
            singles()
            before = sum(made.values())
            if boxes:
                for c in counting:
                    if expired():
                        return False
                    made["boxes"] += box_moves(arrays, state, search, heap, int(c))
            if regions:
                visited, region = np.zeros(crf.n_nodes, np.bool_), np.empty(crf.n_nodes, np.int64)
                node = 0
                while node < crf.n_nodes:
                    if expired():
                        return False
                    node, moves = region_moves(arrays, state, search, visited, region, node, SLICE)
                    made["regions"] += moves
            if pairs:
                for first in range(0, n_edges, SLICE):
                    if expired():
                        return False
                    last = min(first + SLICE, n_edges)
                    made["pairs"] += pair_moves(arrays, state, search, first, last)
                for c in range(n_cliques) if explicit else ():
                    if expired():
                        return False
                    made["pairs"] += table_pair_moves(arrays, state, search, c, c + 1)
                    raise_if_failed()
            if growth:
                for first in range(0, crf.n_nodes, SLICE // 10):
                    if expired():
                        return False
                    last = min(first + SLICE // 10, crf.n_nodes)
                    made["growth"] += growth_moves(arrays, state, search, first, last)
                    raise_if_failed()
            search.touched[:] = False
            if sum(made.values()) == before:
                return True
        return False

    converged = rounds()
    raise_if_failed()
    labels[:] = state.labels
    info["moves"] = made
    return converged
