"""Clique moves: a label is replaced, removed or grown within a clique as a whole.

Single relabels cannot leave a labeling in which a clique would have to change many members at once.
Three moves are drawn at random: one label is replaced by another in the clique; a label is removed,
each of its nodes to its next best label; a label grows over the members to which it costs least.
The caller settles the members by single relabels before it judges the move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.random_numbers import Generator, below, uniform
from policrf.solvers.moves.cheapest import cheapest_other
from policrf.solvers.refine.refine_answers import node_costs
from policrf.solvers.refine.refine_neighbourhoods import AT, LENGTH, NEW, OLD, Workspace
from policrf.solvers.refine.refine_trial import Trial, try_label
from policrf.types import IntArray

PRESENT = 0.5  # share of those that replace a label: by one that the clique has already


class Mix(NamedTuple):
    """Shares of the moves that replace a label, and that remove one; the others grow one."""

    replace: float
    remove: float


class Drawn(NamedTuple):
    """A move: label `old` to `new`; no label `old`: `new` grows; no `new`: `old` is removed."""

    old: int
    new: int
    most: float  # that a member may pay for the growing label, by the unaries


@inner
def draw_labels(
    a: Arrays, s: State, i: int, members: IntArray, start: int, size: int, generator: Generator,
    mix: Mix,
) -> Drawn:  # fmt: skip
    """Draw a move of node i and the `size` members from `start` on.

    A growing label takes the cheapest members. How many is as the cheaper of two random members.
    """
    kind, own = uniform(generator), s.labels[i]
    if kind < mix.replace:
        label = s.labels[members[start + below(generator, size)]]
        if label == own or kind >= mix.replace * PRESENT:
            label = (own + 1 + below(generator, a.cardinalities[i] - 1)) % a.cardinalities[i]
        return Drawn(own, label, np.inf)
    if kind < mix.replace + mix.remove:
        return Drawn(own, -1, np.inf)
    label = below(generator, a.cardinalities[i])
    first = growth_cost(a, s, members[start + below(generator, size)], label)
    second = growth_cost(a, s, members[start + below(generator, size)], label)
    return Drawn(-1, label, min(first, second))


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
