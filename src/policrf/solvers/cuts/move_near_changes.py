"""The best move to α where little has changed since the last one: one cut near what has.

After a move to α no set of nodes S gains by taking α. What S gains depends on the labels of S and
of its neighbours alone, so that later only sets can gain that touch the core: the nodes D whose
labels have changed since, and their neighbours. The gain of sets is supermodular (moves of pairs
are cuts): the more nodes move, the more it pays to follow them. Let B be a region around the core,
and T the least set in B that is best there *if all nodes outside of B move*. Then

- nodes of B outside of T stay in the best move, whatever the others do;
- a connected part of T that no open node outside of B is next to gains the same whatever those do:
  it moves;
- the other parts of T, and all outside of B, do not touch the core if each part of T touches the
  core or the outside and not both: they stay, as they did the last time.

If a part touches both, the region was too small, and a larger one is tried; in the end the move
is made over all nodes.
"""

from __future__ import annotations

from policrf.compiled import inner
from policrf.solvers.cuts.expansion_problem import MoveProblem
from policrf.solvers.cuts.lay_out_pairs import MOVES, OPEN, STAYS, lay_out_pair
from policrf.solvers.cuts.maxflow import FREE, cut_among
from policrf.solvers.cuts.move_state import NEVER, MoveState, may_move, relabel

LARGEST, LARGEST_WITH_FLOW = 8, 100  # a region of more than this part of all nodes takes as long
# as they all do, or as they do with kept flow
RINGS = 3  # of nodes around the core that a region begins with
UNKNOWN = -1.0
_OUTSIDE, _CORE, _AROUND = 0, 1, 2  # in `Changes.place`
_GOES, _WAITS = -1, -2  # in place of the level of a node, once its part of T is known


@inner
def expand_near(p: MoveProblem, s: MoveState, alpha: int) -> float:
    """Make the best move to α if it can be found near changes: its gain; UNKNOWN if it cannot."""
    c = s.changes
    if c.tried[alpha] == NEVER:
        return UNKNOWN
    most = len(s.labels) // (LARGEST_WITH_FLOW if s.kept[0] else LARGEST)
    gain, rings, begin, size = UNKNOWN, RINGS, 0, _changed(s, alpha, most // 2)
    if size == 0:
        return 0.0
    if size > 0:
        begin, size = 0, _add_ring(p, s, 0, size, _CORE)
    while gain < 0.0 and 0 < size <= most:
        for _ in range(rings):
            begin, size = size, _add_ring(p, s, begin, size, _AROUND)
        rings *= 2
        if size <= most:
            _lay_out_region(p, s, alpha, size)
            while not cut_among(p.network, c.region, size):
                pass
            gain = _move_parts(p, s, alpha, size)
    for at in range(size):
        c.place[c.region[at]] = _OUTSIDE
    return gain


@inner
def _changed(s: MoveState, alpha: int, most: int) -> int:
    """Put nodes that changed since the last move to α into the region; −1: more than `most`."""
    c, size = s.changes, 0
    for i in range(len(s.labels)):
        if c.when[i] > c.tried[alpha]:
            if size >= most:
                for at in range(size):
                    c.place[c.region[at]] = _OUTSIDE
                return -1
            c.place[i] = _CORE
            c.region[size] = i
            size += 1
    return size


@inner
def _add_ring(p: MoveProblem, s: MoveState, begin: int, size: int, place: int) -> int:
    """Add the neighbours of region[begin : size]; returns its new size."""
    g, c, grown = p.network, s.changes, size
    for at in range(begin, size):
        i = c.region[at]
        for k in range(g.ptr[i], g.ptr[i + 1]):
            j = g.head[k]
            if c.place[j] == _OUTSIDE:
                c.place[j] = place
                c.region[grown] = j
                grown += 1
    return grown


@inner
def _lay_out_region(p: MoveProblem, s: MoveState, alpha: int, size: int) -> None:
    """Fill the capacities of the region; all open nodes outside of it move."""
    g, c = p.network, s.changes
    for at in range(size):
        i = c.region[at]
        s.open[i] = may_move(p, s, i, alpha)
    for at in range(size):
        i = c.region[at]
        g.excess[i] = 0.0
        if not s.open[i]:
            for k in range(g.ptr[i], g.ptr[i + 1]):
                g.residual[k] = 0.0
            continue
        own = s.labels[i]
        gain = p.costs[i, own] - p.costs[i, alpha]
        for k in range(g.ptr[i], g.ptr[i + 1]):
            j = g.head[k]
            if c.place[j] == _OUTSIDE:
                other = MOVES if may_move(p, s, j, alpha) else STAYS
            else:
                other = OPEN if s.open[j] else STAYS
            gain += lay_out_pair(p, s, alpha, own, k, other)
        g.excess[i] = gain


@inner
def _move_parts(p: MoveProblem, s: MoveState, alpha: int, size: int) -> float:
    """Move the parts of T that touch the core, or none and UNKNOWN if one is next to the outside.

    Returns what that gains. Levels are FREE afterwards.
    """
    g, region, gain = p.network, s.changes.region, 0.0
    for at in range(size):
        if g.level[region[at]] > FREE and not _look_at_part(p, s, alpha, region[at]):
            gain = UNKNOWN
    for at in range(size):
        i = region[at]
        if g.level[i] == _GOES and gain != UNKNOWN:
            gain += g.excess[i]
            relabel(p, s, i, alpha)
        g.level[i] = FREE
    return gain


@inner
def _look_at_part(p: MoveProblem, s: MoveState, alpha: int, start: int) -> bool:
    """Say of a part of T whether it moves; returns False if the region is too small to know."""
    g, place, part = p.network, s.changes.place, p.network.grown[0]
    part[0], length, at = start, 1, 0
    g.level[start] = _WAITS
    core, outside = False, False
    while at < length:
        i = part[at]
        at += 1
        core |= place[i] == _CORE
        for k in range(g.ptr[i], g.ptr[i + 1]):
            j = g.head[k]
            if place[j] == _OUTSIDE:
                outside |= may_move(p, s, j, alpha)
            elif g.level[j] > FREE:
                g.level[j] = _WAITS
                part[length] = j
                length += 1
    if core and not outside:
        for at in range(length):
            g.level[part[at]] = _GOES
    return not (core and outside)
