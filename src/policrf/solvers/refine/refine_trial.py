"""A move on trial: what it changed, so that it can be taken back, and the best labeling so far.

Nothing here costs O(N): a move is taken back or accepted in the time of the nodes it changed, and a
new best labeling is stored by the nodes that changed since the last one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import assign, relabel, unassign
from policrf.crf.state import State
from policrf.random_numbers import Generator, uniform
from policrf.solvers.moves.local_search import RELATIVE, largest
from policrf.solvers.refine.refine_answers import Answers, new_answers, outdate
from policrf.types import BoolArray, FloatArray, IntArray

N_CHANGED, N_DIFFERENT = range(2)  # entries of `Trial.lengths`
NOW, BEST = range(2)  # entries of `Trial.energy` and `Trial.forbidden`


class Trial(NamedTuple):
    """Mutable; between moves `before` is −1 everywhere and the state's running total is 0."""

    before: IntArray  # [N]; label before the move, −1 where the move has not touched the node
    changed: IntArray  # [N]; the nodes that the move has touched
    best: IntArray  # [N]; the best labeling so far
    differs: BoolArray  # [N]; the node's label may differ from that of `best`
    different: IntArray  # [N]; these nodes
    lengths: IntArray  # [2]; lengths of `changed` and `different`
    energy: FloatArray  # [2]; finite sum NOW and of BEST, relative to that at the beginning
    forbidden: IntArray  # [2]; infinite terms NOW and of BEST
    margin: FloatArray  # [1]; changes below it are rounding
    changed_at: IntArray  # [C]; number of the last move that changed the clique, and was kept
    answers: Answers  # of cliques to their members, given the labels as they stand


def new_trial(a: Arrays, s: State) -> Trial:
    """The labeling of the state, in which every node is labeled, is the best so far."""
    n_nodes = len(a.unary)
    s.total[0] = 0.0
    return Trial(
        before=np.full(n_nodes, -1, np.int64),
        changed=np.empty(n_nodes, np.int64),
        best=s.labels.copy(),
        differs=np.zeros(n_nodes, np.bool_),
        different=np.empty(n_nodes, np.int64),
        lengths=np.zeros(2, np.int64),
        energy=np.zeros(2),
        forbidden=np.full(2, s.forbidden[0], np.int64),
        margin=np.array([RELATIVE * largest(a)]),
        changed_at=np.zeros(len(a.clique_kind), np.int64),
        answers=new_answers(a),
    )


@inner
def note(s: State, t: Trial, i: int) -> None:
    """Node i is about to change for the first time, or once more."""
    if t.before[i] < 0:
        t.before[i] = s.labels[i]
        t.changed[t.lengths[N_CHANGED]] = i
        t.lengths[N_CHANGED] += 1


@inner
def try_label(a: Arrays, s: State, t: Trial, i: int, label: int) -> None:
    """Relabel the labeled node i."""
    note(s, t, i)
    relabel(a, s, i, label)
    outdate(a, t.answers, i)


@inner
def try_unlabeled(a: Arrays, s: State, t: Trial, i: int) -> None:
    """Take the label of node i away."""
    note(s, t, i)
    unassign(a, s, i)
    outdate(a, t.answers, i)


@inner
def try_labeled(a: Arrays, s: State, t: Trial, i: int, label: int) -> None:
    """Label node i, whose label was taken away."""
    assign(a, s, i, label)
    outdate(a, t.answers, i)


@inner
def is_idle(s: State, t: Trial) -> bool:
    """Whether the move has left every node its label."""
    for n in range(t.lengths[N_CHANGED]):
        if s.labels[t.changed[n]] != t.before[t.changed[n]]:
            return False
    return True


@leaf
def take_back(a: Arrays, s: State, t: Trial) -> None:
    """Give every node that the move touched its label back, unlabeled nodes too."""
    for n in range(t.lengths[N_CHANGED]):
        i = t.changed[n]
        if s.labels[i] < 0:
            assign(a, s, i, t.before[i])
        elif s.labels[i] != t.before[i]:
            relabel(a, s, i, t.before[i])
        outdate(a, t.answers, i)
        t.before[i] = -1
    t.lengths[N_CHANGED] = 0
    s.total[0] = 0.0


@inner
def accept(a: Arrays, s: State, t: Trial, number: int) -> None:
    """Keep the move, and its labeling if it is the best so far."""
    for n in range(t.lengths[N_CHANGED]):
        i = t.changed[n]
        if s.labels[i] != t.before[i]:
            for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
                t.changed_at[a.node_clique[k]] = number
            if not t.differs[i]:
                t.differs[i] = True
                t.different[t.lengths[N_DIFFERENT]] = i
                t.lengths[N_DIFFERENT] += 1
        t.before[i] = -1
    t.lengths[N_CHANGED] = 0
    t.energy[NOW] += s.total[0]
    t.forbidden[NOW] = s.forbidden[0]
    s.total[0] = 0.0
    if t.forbidden[NOW] < t.forbidden[BEST] or (
        t.forbidden[NOW] == t.forbidden[BEST] and t.energy[NOW] < t.energy[BEST] - t.margin[0]
    ):
        t.energy[BEST], t.forbidden[BEST] = t.energy[NOW], t.forbidden[NOW]
        for n in range(t.lengths[N_DIFFERENT]):
            i = t.different[n]
            t.best[i] = s.labels[i]
            t.differs[i] = False
        t.lengths[N_DIFFERENT] = 0


@leaf
def judge(
    a: Arrays, s: State, t: Trial, generator: Generator, temperature: float, number: int
) -> bool:
    """Accept the move, or take it back; uphill with probability exp(−change / temperature)."""
    change, more = s.total[0], s.forbidden[0] - t.forbidden[NOW]
    kept = more < 0 or (
        more == 0
        and (
            change <= t.margin[0]
            or (temperature > 0 and uniform(generator) < math.exp(-change / temperature))
        )
    )
    if kept:
        accept(a, s, t, number)
    else:
        take_back(a, s, t)
    return kept
