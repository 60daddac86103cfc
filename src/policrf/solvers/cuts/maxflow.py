"""Minimum s–t cut in CSR arrays: incremental breadth-first search (Goldberg et al., ESA 2011).

Minimise over x ∈ {0,1}ⁿ:  − Σ_i excess_i x_i + Σ_arcs residual_ij [x_i = 1, x_j = 0].

A node with positive excess hangs on the source with that capacity, one with negative excess on the
sink. A forest grows from the nodes that still have excess, level by level. Where it meets a node
with negative excess, flow is pushed along the path; the arcs that this saturates cut off orphans,
and an orphan looks for a parent one level up, from where it last stopped looking, or moves to the
lowest level that has one for it, or leaves the forest. As in Boykov and Kolmogorov's algorithm
(PAMI 2004) the forest is kept from one push to the next; since levels only rise, a node of high
degree (the z_b of a large box) is not looked through at every push, but at most twice a level.

One forest is enough: in an expansion move few nodes want to move, and what they cannot reach is not
visited. When nothing is left to push, the forest is the source side of the smallest minimum cut: of
all minimisers, the one with the fewest x_i = 1.

Capacities are floats: what a push leaves of a node's excess, or of an arc into it, counts as
nothing where it is not above the node's `tolerance`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.types import FloatArray, Int32Array, IntArray

FREE = 0  # the level of a node outside the forest; the roots have level 1
LOOKS = 40_000  # at nodes, before a cut pauses: some milliseconds
ROOT, ORPHAN = -1, -2  # in place of a parent arc
_NOBODY = -1


class Network(NamedTuple):
    """n nodes, A arcs; arc k of node i has ptr[i] ≤ k < ptr[i + 1]. `cut` uses capacities up."""

    ptr: Int32Array  # [n + 1]
    head: Int32Array  # [A]  the node an arc points to
    sister: Int32Array  # [A]  the same arc backwards
    residual: FloatArray  # [A]  capacity left
    excess: FloatArray  # [n]  > 0: capacity left from the source, < 0: to the sink
    tolerance: FloatArray  # [n]
    level: Int32Array  # [n]  nodes on the path to the root, or FREE
    parent: Int32Array  # [n]  the arc from a node's parent, or ROOT, or ORPHAN
    looked: Int32Array  # [n]  no arc of the node before this one leads to a parent one level up
    grown: Int32Array  # [2, n]  the nodes of the level that is grown, and those of the next
    listed: Int32Array  # [n]  the highest level a node was put on such a list for
    orphans: Int32Array  # [n + 2]  the first orphan of each level, or −1; empty between pushes
    next_orphan: Int32Array  # [n]
    counts: IntArray  # [9]  see below


# In `counts`: the length of the next list; the lowest and the highest level with orphans; where a
# cut that pauses is: the level that it grows, which of the lists, and the place there.
_LENGTH, _LOWEST, _HIGHEST, _LEVEL, _SIDE, _PLACE = 0, 1, 2, 3, 4, 5
PAUSED = 6  # length of the list that is grown; 0: no cut is under way
WORK = 7  # nodes that the last cut looked around at
PATIENCE = 8  # nodes that a cut looks around at before it pauses, so that time can be looked at


def new_network(
    ptr: IntArray | Int32Array, head: IntArray | Int32Array, sister: IntArray | Int32Array
) -> Network:
    """A network without capacities; fill `residual` and `excess` before each cut."""
    n, n_arcs = len(ptr) - 1, len(head)
    return Network(
        ptr=np.asarray(ptr, np.int32),
        head=np.asarray(head, np.int32),
        sister=np.asarray(sister, np.int32),
        residual=np.zeros(n_arcs),
        excess=np.zeros(n),
        tolerance=np.zeros(n),
        level=_zeros(n),
        parent=_zeros(n),
        looked=_zeros(n),
        grown=np.zeros((2, n), np.int32),
        listed=_zeros(n),
        orphans=np.full(n + 2, _NOBODY, np.int32),
        next_orphan=_zeros(n),
        counts=np.array([0, 0, 0, 0, 0, 0, 0, 0, LOOKS], np.int64),
    )


def _zeros(size: int) -> Int32Array:
    return np.zeros(size, np.int32)


@leaf
def cut(g: Network) -> bool:
    """Push all the flow there is; afterwards x_i = 1 exactly where `level[i] != FREE`.

    False: it pauses, and the next call goes on.
    """
    return cut_among(g, g.grown[0], -1)


@inner
def cut_among(g: Network, region: Int32Array, size: int) -> bool:
    """The same among the nodes region[: size]; no arc leaves them, and all other levels are FREE.

    With size −1, among all nodes. One function for both: only what is called from one place is
    compiled into its caller, and calls take as long as most of what they do.
    """
    if g.counts[PAUSED] == 0:
        _begin(g, region, size)
    counts = g.counts
    last = counts[WORK] + counts[PATIENCE]
    while counts[PAUSED] > 0:
        level, side, length = counts[_LEVEL], counts[_SIDE], counts[PAUSED]
        for place in range(counts[_PLACE], length):
            if counts[WORK] >= last:
                counts[_PLACE] = place
                return False
            i = g.grown[side, place]
            if g.level[i] == level:
                _grow(g, i, side)
        counts[_LEVEL], counts[_SIDE], counts[_PLACE] = level + 1, 1 - side, 0
        counts[PAUSED], counts[_LENGTH] = counts[_LENGTH], 0
    return True


@leaf
def give_up(g: Network) -> None:
    """End a cut that is under way, without an answer."""
    if g.counts[PAUSED] > 0:
        g.counts[PAUSED] = 0
        g.level[:] = FREE


@inlined
def _begin(g: Network, region: Int32Array, size: int) -> None:
    count = len(g.excess) if size < 0 else size
    for at in range(count):
        _push_to_neighbours(g, at if size < 0 else region[at])
    length = 0
    for at in range(count):
        length = _plant(g, at if size < 0 else region[at], length)
    g.counts[:PATIENCE] = 0
    g.counts[_LEVEL], g.counts[PAUSED] = 1, length


@inner
def _push_to_neighbours(g: Network, i: int) -> None:
    """Push along single arcs first: most of the flow of an expansion move goes no further."""
    if g.excess[i] <= g.tolerance[i]:
        return
    for k in range(g.ptr[i], g.ptr[i + 1]):
        j = g.head[k]
        if g.excess[j] < 0.0 and g.residual[k] > 0.0:
            flow = min(g.residual[k], -g.excess[j], g.excess[i])
            push(g, k, flow)
            g.excess[j] += flow
            if g.excess[j] >= -g.tolerance[j]:
                g.excess[j] = 0.0
            g.excess[i] -= flow
            if g.excess[i] <= g.tolerance[i]:
                g.excess[i] = 0.0
                return


@inner
def _plant(g: Network, i: int, length: int) -> int:
    """Make node i a root, at `length` of the first list, if it has excess; the list's length."""
    g.level[i] = FREE
    g.listed[i] = 0
    if g.excess[i] <= g.tolerance[i]:
        return length
    g.level[i] = 1
    g.parent[i] = ROOT
    g.looked[i] = g.ptr[i]
    g.listed[i] = 1
    g.grown[0, length] = i
    return length + 1


@inner
def push(g: Network, k: int, flow: float) -> None:
    """Let arc k carry `flow`, at most what is left of it."""
    g.residual[g.sister[k]] += flow
    g.residual[k] -= flow
    if g.residual[k] <= g.tolerance[g.head[k]]:
        g.residual[k] = 0.0


@inner
def _grow(g: Network, i: int, side: int) -> None:
    """Look at every arc of node i, of the level that is grown: push through it or take its head."""
    level = g.level[i]
    g.counts[WORK] += 1
    for k in range(g.ptr[i], g.ptr[i + 1]):
        if g.residual[k] <= 0.0:
            continue
        j = g.head[k]
        if g.level[j] != FREE:
            continue
        while g.excess[j] < 0.0 and g.residual[k] > 0.0:
            _augment(g, k)
            _adopt(g, level, side)
            if g.level[i] != level:
                return
        if g.residual[k] > 0.0:
            g.level[j] = level + 1
            g.parent[j] = k
            g.looked[j] = g.ptr[j]
            _list_for_next(g, j, side)


@inner
def _list_for_next(g: Network, i: int, side: int) -> None:
    if g.listed[i] != g.level[i]:
        g.listed[i] = g.level[i]
        g.grown[1 - side, g.counts[_LENGTH]] = i
        g.counts[_LENGTH] += 1


@inner
def _augment(g: Network, last: int) -> None:
    """Push what the path from its root to the head of arc `last` can carry."""
    sink = g.head[last]
    flow = min(g.residual[last], -g.excess[sink])
    i = g.head[g.sister[last]]
    while g.parent[i] != ROOT:
        flow = min(flow, g.residual[g.parent[i]])
        i = g.head[g.sister[g.parent[i]]]
    flow = min(flow, g.excess[i])

    g.counts[_LOWEST], g.counts[_HIGHEST] = len(g.level), 0
    push(g, last, flow)
    g.excess[sink] += flow
    if g.excess[sink] >= -g.tolerance[sink]:
        g.excess[sink] = 0.0
    i = g.head[g.sister[last]]
    while g.parent[i] != ROOT:
        arc = g.parent[i]
        push(g, arc, flow)
        if g.residual[arc] == 0.0:
            _cut_off(g, i)
        i = g.head[g.sister[arc]]
    g.excess[i] -= flow
    if g.excess[i] <= g.tolerance[i]:
        g.excess[i] = 0.0
        _cut_off(g, i)


@inner
def _cut_off(g: Network, i: int) -> None:
    """Node i has lost its parent; orphans are looked after level by level."""
    level = g.level[i]
    g.parent[i] = ORPHAN
    g.next_orphan[i] = g.orphans[level]
    g.orphans[level] = i
    g.counts[_LOWEST] = min(g.counts[_LOWEST], level)
    g.counts[_HIGHEST] = max(g.counts[_HIGHEST], level)


@inner
def _adopt(g: Network, grown: int, side: int) -> None:
    """Find every orphan a parent whose level is not above `grown`, or set it free."""
    level = g.counts[_LOWEST]
    while level <= g.counts[_HIGHEST]:
        while g.orphans[level] != _NOBODY:
            i = g.orphans[level]
            g.orphans[level] = g.next_orphan[i]
            g.counts[WORK] += 1
            if _same_level(g, i):
                continue
            for k in range(g.ptr[i], g.ptr[i + 1]):
                j = g.head[k]
                if g.level[j] != FREE and g.parent[j] == k:
                    _cut_off(g, j)
            _move_up(g, i, grown)
            if g.level[i] == grown + 1:
                _list_for_next(g, i, side)
        level += 1


@inner
def _same_level(g: Network, i: int) -> bool:
    """Find the orphan i another parent on the level of its last one."""
    above = g.level[i] - 1
    if above > 0:
        for k in range(g.looked[i], g.ptr[i + 1]):
            if g.level[g.head[k]] == above and g.residual[g.sister[k]] > 0.0:
                g.parent[i] = g.sister[k]
                g.looked[i] = k
                return True
    return False


@inner
def _move_up(g: Network, i: int, grown: int) -> None:
    """Hang node i on the lowest level that has a parent for it, or set it free."""
    lowest = grown + 1
    for k in range(g.ptr[i], g.ptr[i + 1]):
        level = g.level[g.head[k]]
        if level != FREE and level < lowest and g.residual[g.sister[k]] > 0.0:
            lowest = level
            g.parent[i] = g.sister[k]
            g.looked[i] = k
            if level == g.level[i]:
                break
    g.level[i] = lowest + 1 if lowest <= grown else FREE
