"""What is known of a clique move before it is tried, in the time of a few visits of nodes.

What the unaries, the edges and the clique itself change by before anything settles, how the clique
stands, and how long ago the move was tried: `solvers.numbers.KNOWN`, each from −1 to 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import COUNTS, Arrays
from policrf.crf.changes import finite_change
from policrf.crf.energy import counting_energy
from policrf.crf.potentials import TABLE
from policrf.crf.state import State
from policrf.crf.valued.clique_value import counted_value
from policrf.solvers.numbers import DEFAULT, KNOWN
from policrf.solvers.refine.refine_cliques import Drawn, growth_cost
from policrf.solvers.refine.refine_neighbourhoods import LENGTH, MADE, Workspace, begin_list
from policrf.solvers.refine.refine_trial import Trial
from policrf.types import FloatArray, IntArray

UNARY, EDGES, OF_CLIQUE, CHANGE, DROP, DOWNHILL, VALUE, PRESENT, AGE, SINCE = range(len(KNOWN))
HALF = 3.0  # units of a change that counts half of an infinite one
TRIED = 2**16  # moves of which it is known when they were tried
ROUNDS = 4.0  # moves a clique and label after which a time counts half of eternity


# Rows of `Memory.known`, and its columns after those of `KNOWN`.
LOOKED, CHOSEN = 0, 1
SCORE = len(KNOWN)  # of the move
OUTCOME = SCORE + 1  # what the energy changed by once the move had settled


class Memory(NamedTuple):
    """Mutable; apart from the workspace, since calls pass every array of a tuple by value."""

    tried: IntArray  # [up to TRIED]; number of the last trial of a clique move, 0: none yet
    known: FloatArray  # [2, OUTCOME + 1]; of the move that is looked at, and of the best so far


def new_memory(a: Arrays) -> Memory:
    """No move has been tried."""
    n_moves = len(a.clique_kind) * (a.unary.shape[1] + 1) ** 2
    return Memory(np.zeros(min(TRIED, n_moves), np.int64), np.zeros((2, OUTCOME + 1)))


class Choice(NamedTuple):
    """Among how many moves to choose, and by what."""

    among: int
    weights: FloatArray  # [len(KNOWN)]
    unit: float  # mean size of a random relabel's change
    memory: Memory


# No choice: every move that is drawn is tried, and none remembered.
EVERY = Choice(
    1,
    np.array(DEFAULT.move_weights),
    1.0,
    Memory(np.zeros(0, np.int64), np.zeros((2, OUTCOME + 1))),
)


@leaf
def look(
    a: Arrays, s: State, t: Trial, w: Workspace, c: int, drawn: Drawn, choice: Choice
) -> tuple[float, int]:
    """What is known of a move of clique c, into `choice.memory`.

    Returns the change of the known terms before anything settles: unaries, edges, and the clique's
    own where it counts labels. That is of their finite part, and of the number of infinite ones.
    The nodes that would change go into `nodes`, their labels into `choice`, the number into LENGTH.
    """
    unary, downhill, infinite = find_changes(a, s, w, c, drawn)
    edges = edge_changes(a, s, w)
    of_clique, more = clique_change(a, s, w, c)
    change, infinite = unary + edges + of_clique, infinite + more
    known, n_labels, first = choice.memory.known[LOOKED], a.unary.shape[1], a.custom[c, COUNTS]
    half = HALF * choice.unit
    known[UNARY], known[EDGES] = bounded(unary, half), bounded(edges, half)
    known[OF_CLIQUE] = bounded(of_clique, half)
    known[CHANGE] = np.sign(infinite) if infinite != 0 else bounded(change, half)
    known[DROP] = min(0.0, known[CHANGE])
    known[DOWNHILL] = bounded(downhill, half)
    known[VALUE] = bounded(s.value[c], half) if len(s.value) else 0.0
    known[PRESENT] = 0.0
    if first >= 0:
        for label in range(n_labels):
            known[PRESENT] += (s.counts[first + label] > 0) / n_labels
    number, eternity = w.cursor[MADE] + 1, ROUNDS * len(a.clique_kind) * n_labels
    tried = choice.memory.tried[place(a, choice.memory.tried, c, drawn.old, drawn.new)]
    known[AGE] = bounded(number - tried, eternity) if tried > 0 else 1.0
    known[SINCE] = bounded(number - t.changed_at[c], eternity)
    return change, infinite


@inner
def bounded(x: float, half: float) -> float:
    """x / (|x| + half): from −1 to 1."""
    return x / (abs(x) + half) if abs(x) < np.inf else 1.0 * np.sign(x)


@inner
def find_changes(
    a: Arrays, s: State, w: Workspace, c: int, drawn: Drawn
) -> tuple[float, float, int]:
    """Which nodes would change, and to which labels; where one is removed, to the cheapest other.

    Returns what their unaries change by, the sum of those that fall, and by how many infinite ones.
    """
    mark, n = begin_list(w), 0
    total, downhill, infinite = 0.0, 0.0, 0
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i = a.clique_nodes[m]
        own, label = s.labels[i], drawn.new
        if (own != drawn.old and drawn.old >= 0) or own == label or w.node_mark[i] == mark:
            continue
        if label < 0:
            label = cheapest_but(a, i, own)
        if label < 0 or label >= a.cardinalities[i] or (
            drawn.old < 0 and not growth_cost(a, s, i, label) <= drawn.most
        ):  # fmt: skip
            continue
        change, more = finite_change(a.unary[i, own], a.unary[i, label])
        total += change
        downhill += min(0.0, change)
        infinite += more
        w.node_mark[i], w.choice[i] = mark, label
        w.nodes[n] = i
        n += 1
    w.cursor[LENGTH] = n
    return total, downhill, infinite


@inner
def cheapest_but(a: Arrays, i: int, own: int) -> int:
    """The label of node i with the lowest unary but its own; −1: all others are forbidden."""
    best, least = -1, np.inf
    for label in range(a.cardinalities[i]):
        if label != own and a.unary[i, label] < least:
            best, least = label, a.unary[i, label]
    return best


@inner
def edge_changes(a: Arrays, s: State, w: Workspace) -> float:
    """What the edges change by if `nodes` take their `choice`; an edge between two counts twice."""
    mark, total = w.node_mark[w.nodes[0]] if w.cursor[LENGTH] else 0, 0.0
    for at in range(w.cursor[LENGTH]):
        i = w.nodes[at]
        own, label = s.labels[i], w.choice[i]
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            j = a.adj_node[k]
            y = s.labels[j]
            if w.node_mark[j] == mark:
                total += 0.5 * a.adj_weight[k] * (int(w.choice[j] != label) - int(y != own))
            else:
                total += a.adj_weight[k] * (int(y != label) - int(y != own))
    return total


@inner
def clique_change(a: Arrays, s: State, w: Workspace, c: int) -> tuple[float, int]:
    """What clique c changes by if `nodes` take their `choice`; 0 where it does not count labels.

    Of a finite part, and of the number of infinite terms.
    """
    first, n = a.custom[c, COUNTS], w.cursor[LENGTH]
    if first >= 0 and n > 0:
        for at in range(n):
            i = w.nodes[at]
            s.counts[first + s.labels[i]] -= 1
            s.counts[first + w.choice[i]] += 1
        after = counted_value(a, s, c)
        for at in range(n):
            i = w.nodes[at]
            s.counts[first + s.labels[i]] += 1
            s.counts[first + w.choice[i]] -= 1
        return finite_change(s.value[c], after)
    if a.clique_kind[c] < TABLE:
        matches = s.matches[c]
        for at in range(n):
            i = w.nodes[at]
            matches += int(w.choice[i] == a.clique_label[c])
            matches -= int(s.labels[i] == a.clique_label[c])
        return finite_change(counting_energy(a, c, s.matches[c]), counting_energy(a, c, matches))
    return 0.0, 0


@inner
def place(a: Arrays, tried: IntArray, c: int, old: int, new: int) -> int:
    """Where `tried` has the move; one place may serve several moves of a large CRF."""
    width = a.unary.shape[1] + 1
    return int(((c * width + old + 1) * width + new + 1) % len(tried))
