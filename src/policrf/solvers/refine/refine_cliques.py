"""Clique moves: a label is replaced, removed or grown within a clique as a whole.

Single relabels cannot leave a labeling in which a clique would have to change many members at once.
Three moves are drawn at random: one label is replaced by another in the clique; a label is removed,
each of its nodes to its next best label; a label grows over the members to which it costs least.
The caller settles the members by single relabels before it judges the move.
"""

from __future__ import annotations

from typing import NamedTuple

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.random_numbers import Generator, below, uniform
from policrf.solvers.moves.cheapest import cheapest_other
from policrf.solvers.refine.refine_answers import node_costs
from policrf.solvers.refine.refine_neighbourhoods import (
    AT,
    BALL,
    CLIQUE,
    LENGTH,
    NEW,
    OLD,
    SCOPE,
    Workspace,
    collect_ball,
    collect_members,
    draw_clique,
)
from policrf.solvers.refine.refine_trial import Trial, try_label

PRESENT = 0.5  # share of those that replace a label: by one that the clique has already


class Mix(NamedTuple):
    """Shares of the moves that replace a label, and that remove one; the others grow one."""

    replace: float
    remove: float


@inner
def draw_clique_move(
    a: Arrays, s: State, w: Workspace, i: int, generator: Generator, mix: Mix
) -> None:
    """Draw a move of a clique of node i: into `nodes`, OLD and NEW; no label OLD: grow NEW.

    A growing label takes the cheapest members. How many is as the cheaper of two random members.
    """
    c = draw_clique(a, i, generator)
    w.cursor[CLIQUE] = c
    if c < 0:
        collect_ball(a, w, i, BALL, generator)
    else:
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        collect_members(a, s.labels, w, c, 0, size, -1)
    n = w.cursor[LENGTH]
    for at in range(n):
        w.scope[at] = w.nodes[at]
    w.cursor[SCOPE] = n
    kind, own = uniform(generator), s.labels[i]
    w.cursor[OLD], w.cursor[NEW] = own, -1
    if kind < mix.replace:
        label = s.labels[w.nodes[below(generator, n)]]
        if label == own or kind >= mix.replace * PRESENT:
            label = (own + 1 + below(generator, a.cardinalities[i] - 1)) % a.cardinalities[i]
        w.cursor[NEW] = label
    elif kind >= mix.replace + mix.remove:
        w.cursor[OLD], w.cursor[NEW] = -1, below(generator, a.cardinalities[i])
        first = growth_cost(a, s, w.nodes[below(generator, n)], w.cursor[NEW])
        second = growth_cost(a, s, w.nodes[below(generator, n)], w.cursor[NEW])
        w.margin[0] = min(first, second)  # scratch space here: the most that a member may pay


@inner
def growth_cost(a: Arrays, s: State, i: int, label: int) -> float:
    """What the label costs node i more than its own, by the unaries; −inf where its own is inf."""
    own = a.unary[i, s.labels[i]]
    return a.unary[i, label] - own if own < float("inf") else -float("inf")


@inner
def make_clique_move(a: Arrays, s: State, t: Trial, w: Workspace, limit: int) -> int:
    """Relabel `nodes` from AT on as the move says; returns what is left of `limit` visits."""
    old, new = w.cursor[OLD], w.cursor[NEW]
    while w.cursor[AT] < w.cursor[LENGTH] and limit > 0:
        i = w.nodes[w.cursor[AT]]
        w.cursor[AT] += 1
        own = s.labels[i]
        if own != old and old >= 0:
            continue
        limit -= 1
        if new < 0:
            node_costs(a, s, t.answers, i, w.costs)
            label = cheapest_other(w.costs, own)
        elif new >= a.cardinalities[i] or (
            old < 0 and not growth_cost(a, s, i, new) <= w.margin[0]
        ):
            continue
        else:
            label = new
        if label != own:
            try_label(a, s, t, i, label)
    return limit
