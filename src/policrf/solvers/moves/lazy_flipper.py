"""Lazy flipper (Andres, Kappes, Beier, Köthe, Hamprecht 2012), for any number of labels.

The answer is optimal with respect to relabeling any connected set of up to `size` nodes. Nodes are
connected by an edge or a clique; in a clique of more than eight nodes each is joined to its eight
nearest in the clique's order: all pairs of a box of a thousand nodes would be a million (energies
stay exact). Sets are searched again only where something changed, which makes the method lazy.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import ADDRESS, Arrays
from policrf.crf.changes import load_labels
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import InvalidOption
from policrf.solvers import solve
from policrf.solvers.feasibility.allowed_start import allowed_start
from policrf.solvers.moves.local_search import (
    LENGTH,
    LocalSearch,
    centred,
    descend,
    keep,
    new_search,
    slice_size,
)
from policrf.solvers.moves.subset_search import (
    Subsets,
    abandon,
    accept,
    enter,
    explore,
    most_neighbours,
    new_subsets,
    update_reach,
)
from policrf.solvers.pace import Pace
from policrf.solvers.refine.refine_rounds import Moves, improve, seconds_to_begin
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import BoolArray, FloatArray, IntArray

STEPS, CUSTOM_STEPS = 5_000, 50  # trials of the subset search in the first kernel call
GRAPH_TIME = 2e-7  # seconds for each two nodes that are neighbours, to find all of them


@declares(goes_on=True)
def lazy_flipper(run: Run, *, size: int = 2, large_sets: bool = True) -> None:
    """Relabel connected sets of 1, 2, … `size` nodes until none lowers the energy.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Starts from `initial`, or else from the better of the unary argmin and highest confidence first.

    Parameters
    ----------
    size
        The largest set that is searched for in all its forms, 1 to 4.
    large_sets
        Also try the sets that a scene suggests, whole regions of one label and whole boxes (see
        `refine`), in turn with the small ones; without them this is the method as published.
    """
    if not 1 <= size <= 4:
        raise InvalidOption(f"size must be 1 to 4, not {size}")
    large = Moves(pairs=False, regions=large_sets, growth=large_sets, boxes=large_sets, cuts=False)
    starts = [run.start_labels()]
    if run.initial is None and not run.expired():
        first = solve(run.crf, "highest_confidence_first", seconds=run.remaining(), go_on=False)
        starts.insert(0, first.labels.copy())
    run.offer(starts[0])
    for labels in starts:
        if run.remaining() <= seconds_to_begin(run.crf.arrays):
            break
        improve(run.crf, labels, large, run.expired)
        run.offer(labels)
    if run.energy == np.inf and run.best is not None:
        labels = allowed_start(run, run.best)
        improve(run.crf, labels, large, run.expired)
        run.offer(labels)
    run.info["moves"] = 0
    assert run.best is not None
    labels, roots = run.best.copy(), np.ones(run.crf.n_nodes, np.bool_)
    a = run.crf.arrays
    while size > 1 and roots.any() and run.remaining() > GRAPH_TIME * most_neighbours(a):
        _search_sets(run, labels, size, roots)
        run.offer(labels)
        if not large_sets:
            break
        before = labels.copy()
        improve(run.crf, labels, large, run.expired)
        run.offer(labels)
        roots = _near(a, labels != before)
    run.info["converged"] = not run.expired()


def _near(a: Arrays, changed: BoolArray) -> BoolArray:
    """The nodes whose costs the changed ones have a part in, themselves included."""
    near = changed.copy()
    for side in (0, 1):
        near[a.edges[changed[a.edges[:, side]], 1 - side]] = True
    clique = np.repeat(np.arange(len(a.clique_kind)), np.diff(a.clique_ptr))
    hit = np.zeros(len(a.clique_kind), np.bool_)
    hit[clique[changed[a.clique_nodes]]] = True
    near[a.clique_nodes[hit[clique]]] = True
    return near


def _search_sets(run: Run, labels: IntArray, size: int, first_roots: BoolArray) -> None:
    """Improve `labels` by sets of 2 … `size` nodes with one of the roots; stops without time."""
    a = centred(run.crf.arrays)
    s, q = new_state(a), new_search(a)
    load_labels(a, s, labels)
    stack = new_subsets(a, size)
    pace = Pace(run, CUSTOM_STEPS if (a.custom[:, ADDRESS] != 0).any() else STEPS)
    todo = np.tile(first_roots, (size + 1, 1))  # by size of set: roots to search from
    _descend(a, s, q)
    q.touched[:] = False
    while waiting := [k for k in range(2, size + 1) if todo[k].any()]:
        current = waiting[0]
        roots = np.flatnonzero(todo[current])
        todo[current] = False
        stack.barred[:] = False
        at = np.zeros(1, np.int64)
        update_reach(a, s, stack, current)
        while at[0] < len(roots) or stack.depth[0] >= 0:
            if run.expired():
                abandon(a, s, stack)
                labels[:] = s.labels
                return
            if sweep(a, s, q, stack, current, roots, at, pace.begin()):
                _descend(a, s, q)
                update_reach(a, s, stack, current)
                run.info["moves"] += 1
            else:
                pace.end()
            raise_if_failed()
        todo |= q.touched
        q.touched[:] = False
        run.offer(s.labels)
    labels[:] = s.labels


def _descend(a: Arrays, s: State, q: LocalSearch) -> None:
    """Single relabels to the end: few, after a move."""
    while q.cursor[LENGTH] > 0:
        descend(a, s, q, slice_size(a))
        raise_if_failed()
    keep(a, s, q)


@kernel
def sweep(
    a: Arrays, s: State, q: LocalSearch, t: Subsets, size: int, roots: IntArray, at: IntArray,
    steps: int,
) -> bool:  # fmt: skip
    """Search from one root after the other until a move was made (True) or the steps are used up.

    A set of two roots belongs to the first of them. `at` [1] counts the roots begun.
    """
    costs: FloatArray = np.empty(a.unary.shape[1])
    while steps > 0:
        if t.depth[0] < 0:
            if at[0] == len(roots):
                return False
            if at[0] > 0:
                t.barred[roots[at[0] - 1]] = True
            s.total[0] = 0.0
            t.forbidden[0] = s.forbidden[0]
            enter(a, s, t, roots[at[0]])
            at[0] += 1
        steps = explore(a, s, t, size, q.margin[0], costs, steps)
        if t.label[size - 1] >= 0:
            accept(a, s, q, t, size)
            at[0] -= 1  # the same root again, from its new label
            return True
    return False
