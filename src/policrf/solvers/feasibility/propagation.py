"""Generalised arc consistency (Mackworth 1977): a label stays if every hard table supports it.

A table supports a label of a member if some finite entry has it, with labels of the other members
that are still alive. Labels that are not supported leave, which queues the other tables of their
nodes. What leaves is noted on a trail, so that a search can take it back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.solvers.feasibility.hard_terms import HardTerms
from policrf.types import BoolArray, FloatArray, IntArray

FIRST, LENGTH, TRAIL, DEPTH, FAILS, STATUS, WORK, RESTARTS = range(8)  # entries of `Domains.cursor`
CONSISTENT, PAUSED = -1, -2  # what `propagate` returns, where it is no clique


class Domains(NamedTuple):
    """The labels that are left, and how they came to be. Mutable."""

    alive: BoolArray  # [N, L]
    left: IntArray  # [N]; how many
    trail: IntArray  # [N · L, 2]; node and label of everything that has left
    cursor: IntArray  # [8]
    queue: IntArray  # [H]; ring buffer of hard cliques to look at
    queued: BoolArray  # [H]
    weight: FloatArray  # [H]; how often the clique had no support left
    lists: IntArray  # [largest clique, L]; scratch: labels alive of each member
    marked: BoolArray  # [largest clique, L]; scratch: supported
    place: IntArray  # [2, largest clique]; scratch: length of a list, position in it


def new_domains(a: Arrays, h: HardTerms, alive: BoolArray) -> Domains:
    """Every hard table is to be looked at."""
    n_nodes, n_labels = alive.shape
    sizes = np.diff(a.clique_ptr)[h.cliques]
    widest = int(sizes[: h.propagated].max(initial=1))
    return Domains(
        alive=alive.copy(),
        left=np.count_nonzero(alive, axis=1).astype(np.int64),
        trail=np.empty((n_nodes * n_labels, 2), np.int64),
        cursor=np.array([0, h.propagated, 0, 0, 0, 0, 0, 0], np.int64),
        queue=np.arange(max(h.propagated, 1), dtype=np.int64),
        queued=np.ones(max(h.propagated, 1), np.bool_),
        weight=np.ones(len(h.cliques)),
        lists=np.empty((widest, n_labels), np.int64),
        marked=np.empty((widest, n_labels), np.bool_),
        place=np.empty((2, widest), np.int64),
    )


@inner
def remove(h: HardTerms, d: Domains, i: int, label: int) -> None:
    """Label `label` of node i leaves; its tables are queued."""
    d.alive[i, label] = False
    d.left[i] -= 1
    d.trail[d.cursor[TRAIL], 0], d.trail[d.cursor[TRAIL], 1] = i, label
    d.cursor[TRAIL] += 1
    for k in range(h.node_ptr[i], h.node_ptr[i + 1]):
        hard = h.node_hard[k]
        if hard < h.propagated and not d.queued[hard]:
            d.queued[hard] = True
            d.queue[(d.cursor[FIRST] + d.cursor[LENGTH]) % len(d.queue)] = hard
            d.cursor[LENGTH] += 1


@inner
def revise(a: Arrays, h: HardTerms, d: Domains, hard: int) -> bool:
    """Remove labels that the table does not support; False if a member has none left."""
    c = h.cliques[hard]
    start, size = a.clique_ptr[c], a.clique_ptr[c + 1] - a.clique_ptr[c]
    waiting, at = 0, a.data_start[c]
    for m in range(size):
        i, count = a.clique_nodes[start + m], 0
        for label in range(a.cardinalities[i]):
            if d.alive[i, label]:
                d.lists[m, count], d.marked[m, count] = label, False
                count += 1
        if count == 0:
            return False
        d.place[0, m], d.place[1, m] = count, 0
        waiting += count
        at += a.clique_stride[start + m] * d.lists[m, 0]
    while waiting > 0:
        d.cursor[WORK] += 1
        if a.data[at] < np.inf:
            for m in range(size):
                if not d.marked[m, d.place[1, m]]:
                    d.marked[m, d.place[1, m]] = True
                    waiting -= 1
        m = size - 1
        while m >= 0:  # the next entry of labels that are alive
            stride, k = a.clique_stride[start + m], d.place[1, m]
            if k + 1 < d.place[0, m]:
                d.place[1, m] = k + 1
                at += stride * (d.lists[m, k + 1] - d.lists[m, k])
                break
            d.place[1, m] = 0
            at += stride * (d.lists[m, 0] - d.lists[m, k])
            m -= 1
        if m < 0:
            break
    for m in range(size):
        i = a.clique_nodes[start + m]
        for k in range(d.place[0, m]):
            if not d.marked[m, k]:
                remove(h, d, i, d.lists[m, k])
        if d.left[i] == 0:
            return False
    return True


@leaf
def propagate(a: Arrays, h: HardTerms, d: Domains, stop: int) -> int:
    """Look at queued tables until none is left: CONSISTENT, or the clique that has no support.

    PAUSED where the work comes to `stop` before that.
    """
    while d.cursor[LENGTH] > 0:
        if d.cursor[WORK] >= stop:
            return PAUSED
        hard = d.queue[d.cursor[FIRST]]
        d.cursor[FIRST] = (d.cursor[FIRST] + 1) % len(d.queue)
        d.cursor[LENGTH] -= 1
        d.queued[hard] = False
        d.cursor[WORK] += 10
        if not revise(a, h, d, hard):
            while d.cursor[LENGTH] > 0:
                d.queued[d.queue[d.cursor[FIRST]]] = False
                d.cursor[FIRST] = (d.cursor[FIRST] + 1) % len(d.queue)
                d.cursor[LENGTH] -= 1
            return int(hard)
    return CONSISTENT
