"""Labels one node after the other under propagation, the surest first; backtracks and restarts.

A decision gives a node its preferred label among those alive; propagation removes what no longer
fits. Where a table has no support left, the last decision is taken back and its label removed. At
first the node with the largest margin between two labels is next; after a restart the one with the
fewest labels for the conflicts its cliques have had (dom/wdeg, Boussemart et al. 2004).
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.random_numbers import Generator, uniform
from policrf.solvers.feasibility.hard_terms import HardTerms
from policrf.solvers.feasibility.propagation import (
    CONSISTENT,
    DEPTH,
    FAILS,
    PAUSED,
    RESTARTS,
    STATUS,
    TRAIL,
    WORK,
    Domains,
    propagate,
    remove,
)
from policrf.types import FloatArray, IntArray

SEARCHING, FOUND, IMPOSSIBLE = range(3)  # what `Domains.cursor[STATUS]` says
PATIENCE = 50  # conflicts before the first restart
GROWTH = 1.3  # of that from restart to restart
SURPRISE = 0.1  # share of decisions after a restart that take a random label


@leaf
def search(
    a: Arrays,
    h: HardTerms,
    d: Domains,
    decisions: IntArray,
    costs: FloatArray,
    generator: Generator,
    limit: int,
) -> None:
    """Go on for about `limit` table entries; `decisions` [N, 3]: node, label, trail before it."""
    stop = d.cursor[WORK] + limit
    while d.cursor[STATUS] == SEARCHING and d.cursor[WORK] < stop:
        conflict = propagate(a, h, d, stop)
        if conflict == PAUSED:
            return
        if conflict != CONSISTENT:
            d.weight[conflict] += 1.0
            d.cursor[FAILS] += 1
            if d.cursor[DEPTH] == 0:
                d.cursor[STATUS] = IMPOSSIBLE
            elif d.cursor[FAILS] > PATIENCE * GROWTH ** d.cursor[RESTARTS]:
                restart(h, d, decisions)
            else:
                backtrack(h, d, decisions)
            continue
        i = next_node(h, d, costs)
        if i < 0:
            d.cursor[STATUS] = FOUND
            return
        label = next_label(d, costs, generator, i)
        at = d.cursor[DEPTH]
        decisions[at, 0], decisions[at, 1], decisions[at, 2] = i, label, d.cursor[TRAIL]
        d.cursor[DEPTH] += 1
        for other in range(d.alive.shape[1]):
            if d.alive[i, other] and other != label:
                remove(h, d, i, other)


@inner
def backtrack(h: HardTerms, d: Domains, decisions: IntArray) -> None:
    """Take the last decision back, and its label away."""
    d.cursor[DEPTH] -= 1
    at = d.cursor[DEPTH]
    restore(d, decisions[at, 2])
    remove(h, d, decisions[at, 0], decisions[at, 1])


@inner
def restart(h: HardTerms, d: Domains, decisions: IntArray) -> None:
    """Take all decisions back; what was learned are the weights."""
    first = decisions[0]
    restore(d, first[2])
    d.cursor[DEPTH] = d.cursor[FAILS] = 0
    d.cursor[RESTARTS] += 1


@inner
def restore(d: Domains, length: int) -> None:
    """Bring back what has left since the trail was that long."""
    while d.cursor[TRAIL] > length:
        d.cursor[TRAIL] -= 1
        i, label = d.trail[d.cursor[TRAIL], 0], d.trail[d.cursor[TRAIL], 1]
        d.alive[i, label] = True
        d.left[i] += 1


@inner
def next_node(h: HardTerms, d: Domains, costs: FloatArray) -> int:
    """The node to decide next; −1 if none of those that tables propagate to has two labels."""
    best, most = -1, -np.inf
    for i in h.nodes:
        if d.left[i] < 2:
            continue
        if d.cursor[RESTARTS] == 0:
            least = second = np.inf
            for label in range(d.alive.shape[1]):
                if d.alive[i, label]:
                    if costs[i, label] < least:
                        least, second = costs[i, label], least
                    elif costs[i, label] < second:
                        second = costs[i, label]
            score = second - least if second < np.inf else 0.0
        else:
            weight = 0.0
            for k in range(h.node_ptr[i], h.node_ptr[i + 1]):
                weight += d.weight[h.node_hard[k]]
            score = weight / d.left[i]
        if score > most:
            best, most = i, score
    d.cursor[WORK] += len(h.nodes)
    return best


@inner
def next_label(d: Domains, costs: FloatArray, generator: Generator, i: int) -> int:
    """The cheapest label alive; after a restart, now and then a random one."""
    if d.cursor[RESTARTS] > 0 and uniform(generator) < SURPRISE:
        skip = int(uniform(generator) * d.left[i])
        for label in range(d.alive.shape[1]):
            if d.alive[i, label]:
                if skip == 0:
                    return label
                skip -= 1
    best, least = -1, np.inf
    for label in range(d.alive.shape[1]):
        if d.alive[i, label] and (best < 0 or costs[i, label] < least):
            best, least = label, costs[i, label]
    return best
