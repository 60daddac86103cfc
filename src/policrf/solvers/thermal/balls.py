"""Thermal cycles of one place: a ball of some hundred nodes, with all labels around it held.

A cycle of the whole field that starts hot changes labels everywhere, and what it gains in one place
it loses in another: the regions that crossing tells apart have grown into one. In a ball that
cannot happen. It costs as many looks as its nodes, whatever the size of the field.
"""

from __future__ import annotations

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.random_numbers import Generator
from policrf.solvers.thermal.crossing import connected, swap_region
from policrf.solvers.thermal.kept_costs import Kept, give_label
from policrf.solvers.thermal.sweeps import ROUNDING, Cooling, look
from policrf.types import BoolArray, FloatArray, IntArray


@leaf
def grow_ball(a: Arrays, start: int, size: int, left: BoolArray, ball: IntArray) -> int:
    """The nodes next to `start`, breadth first, into ball[: size]; how many there are.

    `left` [N] is all False, before and after.
    """
    ball[0], count, at = start, 1, 0
    left[start] = True
    while at < count and count < size:
        i = ball[at]
        at += 1
        for e in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            count = add_node(a.adj_node[e], count, size, left, ball)
        for e in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[e]
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                count = add_node(a.clique_nodes[m], count, size, left, ball)
    for n in range(count):
        left[ball[n]] = False
    return count


@inner
def add_node(j: int, count: int, size: int, left: BoolArray, ball: IntArray) -> int:
    """Add a node that is not in the ball yet, if there is room; its new size."""
    if left[j] or count == size:
        return count
    left[j] = True
    ball[count] = j
    return count + 1


@leaf
def anneal_ball(
    a: Arrays, k: Kept, generator: Generator, logs: FloatArray, cooling: Cooling, ball: IntArray,
    done: int, count: int,
) -> None:  # fmt: skip
    """The looks `done` … `done + count − 1` at the nodes of a ball, all of them a sweep."""
    at, temperature = done % len(ball), 0.0
    for n in range(count):
        if n == 0 or at == len(ball):
            at %= len(ball)
            share = (done + n) // len(ball) / cooling.sweeps
            temperature = cooling.first * (cooling.last / cooling.first) ** share
        look(a, k, generator, logs, temperature, ball[at])
        at += 1


@leaf
def close_ball(
    a: Arrays, k: Kept, before: IntArray, region: IntArray, left: BoolArray, ball: IntArray
) -> float:
    """Settle the nodes of a ball, and cross them with their labels `before` [N]; the energy gained.

    O(ball). `before` becomes the labels; `left` [N] is all False, before and after.
    """
    unchanged, at = 0, 0
    while unchanged < len(ball):
        i = ball[at]
        own = k.labels[i]
        best, least = own, k.costs[i, own] - ROUNDING * abs(k.costs[i, own])
        for label in range(k.costs.shape[1]):
            if k.costs[i, label] < least:
                best, least = label, k.costs[i, label]
        unchanged += 1
        if best != own:
            give_label(a, k, i, best)
            unchanged = 0
        at = at + 1 if at + 1 < len(ball) else 0
    for i in ball:
        left[i] = k.labels[i] != before[i]
    gained = 0.0
    for i in ball:
        if left[i]:
            size = connected(a, i, left, region)
            change = swap_region(a, k, before, region, size)
            if change >= 0:
                swap_region(a, k, before, region, size)
                gained += change
    for i in ball:
        before[i] = k.labels[i]
    return gained
