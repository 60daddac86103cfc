"""Breakout (Morris 1993) with a tabu list: repair violated cliques one at a time, by weights.

A step takes a random violated clique and the relabel of one of its members that lowers the weighted
number of violated cliques most. Where none lowers it, the clique's weight grows, so that a local
minimum fills up in time. A label that was left is not taken again for some steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import clique_energy
from policrf.random_numbers import Generator, below, uniform
from policrf.solvers.feasibility.hard_terms import HardTerms
from policrf.types import BoolArray, FloatArray, IntArray

VIOLATED, FEWEST, STEP = range(3)  # entries of `Repair.cursor`
TABU = 10  # steps at most for which a label that was left is not taken again
SIDEWAYS = 0.5  # share of steps that change nothing in the sum and are made
NOISE = 0.01  # share of steps that relabel a random member


class Repair(NamedTuple):
    """A complete labeling and its violated cliques. Mutable."""

    labels: IntArray  # [N]
    best: IntArray  # [N]; the labeling with the fewest violated cliques
    violated: IntArray  # [H]; which cliques
    place: IntArray  # [H]; where the clique is in `violated`, −1 where it is not
    weight: FloatArray  # [H]
    until: IntArray  # [N, L]; step up to which the label is tabu
    cursor: IntArray  # [3]


def new_repair(a: Arrays, h: HardTerms, labels: IntArray) -> Repair:
    """Start from a labeling."""
    n_hard = len(h.cliques)
    repair = Repair(
        labels=labels.copy(),
        best=labels.copy(),
        violated=np.empty(n_hard, np.int64),
        place=np.full(n_hard, -1, np.int64),
        weight=np.ones(n_hard),
        until=np.zeros(a.unary.shape, np.int64),
        cursor=np.zeros(3, np.int64),
    )
    note_violated(a, h, repair, np.arange(n_hard))
    repair.cursor[FEWEST] = repair.cursor[VIOLATED]
    return repair


@leaf
def note_violated(a: Arrays, h: HardTerms, r: Repair, which: IntArray) -> None:
    """Bring the list up to date for these hard cliques."""
    for hard in which:
        infinite = np.isinf(clique_energy(a, h.cliques[hard], r.labels))
        at = r.place[hard]
        if infinite and at < 0:
            r.place[hard] = r.cursor[VIOLATED]
            r.violated[r.cursor[VIOLATED]] = hard
            r.cursor[VIOLATED] += 1
        elif not infinite and at >= 0:
            last = r.violated[r.cursor[VIOLATED] - 1]
            r.violated[at], r.place[last] = last, at
            r.place[hard] = -1
            r.cursor[VIOLATED] -= 1


@inner
def weighted(a: Arrays, h: HardTerms, r: Repair, i: int) -> float:
    """The weights of the violated cliques of node i, with the label it has."""
    total = 0.0
    for k in range(h.node_ptr[i], h.node_ptr[i + 1]):
        hard = h.node_hard[k]
        if np.isinf(clique_energy(a, h.cliques[hard], r.labels)):
            total += r.weight[hard]
    return total


@leaf
def repair_steps(
    a: Arrays, h: HardTerms, r: Repair, alive: BoolArray, generator: Generator, steps: int
) -> None:
    """Up to `steps` steps, or until nothing is violated."""
    for _ in range(steps):
        if r.cursor[VIOLATED] == 0:
            return
        r.cursor[STEP] += 1
        hard = r.violated[below(generator, r.cursor[VIOLATED])]
        c = h.cliques[hard]
        best, best_label, least, ties = -1, -1, np.inf, 0
        random = uniform(generator) < NOISE
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            i = a.clique_nodes[m]
            own = r.labels[i]
            before = weighted(a, h, r, i)
            for label in range(a.cardinalities[i]):
                if label == own or not alive[i, label] or r.until[i, label] > r.cursor[STEP]:
                    continue
                r.labels[i] = label
                change = 0.0 if random else weighted(a, h, r, i) - before
                if change < least:
                    best, best_label, least, ties = i, label, change, 1
                elif change == least:
                    ties += 1
                    if below(generator, ties) == 0:
                        best, best_label = i, label
            r.labels[i] = own
        if best < 0:
            continue
        if not random and (least > 0 or (least == 0 and uniform(generator) >= SIDEWAYS)):
            r.weight[hard] += 1.0
            continue
        move(a, h, r, generator, best, best_label)


@inner
def move(a: Arrays, h: HardTerms, r: Repair, generator: Generator, i: int, label: int) -> None:
    """Relabel node i."""
    r.until[i, r.labels[i]] = r.cursor[STEP] + 1 + below(generator, TABU)
    r.labels[i] = label
    note_violated(a, h, r, h.node_hard[h.node_ptr[i] : h.node_ptr[i + 1]])
    if r.cursor[VIOLATED] < r.cursor[FEWEST]:
        r.cursor[FEWEST] = r.cursor[VIOLATED]
        for j in range(len(r.labels)):
            r.best[j] = r.labels[j]
