"""Which actions learning tries: the policy's best, the sets M1, M2, M3, or any (appendix B1).

    M1(i)     fraction of node i's neighbours that are labeled
    M2(i)     exp(−S_i) / Σ_j exp(−S_j) over unlabeled j, S the entropy of the unary distribution
    M3(i, l)  1 if l is the most frequent label of labeled nodes that share a clique with i, else 0

The policy's best action is taken with probability ε, and each of argmax M1, argmax M2, argmax M3
and a uniformly random action with (1 − ε) / 4. Where the paper leaves room (see also the reading
notes): M1 counts labeled neighbours, as its text says, though its formula counts the others; among
equals a node is drawn at random, since the lowest index would always sweep the image from one
corner; M1 and M2 name no label, so it is the policy's best for that node, or a random one
(`labels`); where no node has a labeled clique mate, M3 prefers nothing and a random action is
taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.model import CRF
from policrf.crf.state import State
from policrf.mdp.graph import Graph
from policrf.mdp.tournament import Tournament, champion, new_tournament, rebuild, update
from policrf.random_numbers import Generator, below, uniform
from policrf.types import FloatArray, IntArray

EXPLOIT, M1, M2, M3, RANDOM = 0, 1, 2, 3, 4
SETS = ("exploit", "m1", "m2", "m3", "random")

_JITTER = 1e-6  # breaks ties of M1, below the difference of any two fractions of ≤ 1000 neighbours
_TRIES = 16  # random nodes looked at before all are


class Explorer(NamedTuple):
    """What the sets need to know of a state, kept up to date step by step. Mutable."""

    labeled_neighbours: IntArray  # [N]
    entropy: FloatArray  # [N]; S_i
    unary_labels: IntArray  # [N]; the unary argmin
    jitter: FloatArray  # [N]
    adjacency: Tournament  # M1 of unlabeled nodes
    certainty: Tournament  # −S of unlabeled nodes, whose argmax is M2's
    remaining: IntArray  # [N]; the unlabeled nodes are the first left[0]
    position: IntArray  # [N]; where in `remaining` a node is
    left: IntArray  # [1]
    stamp: IntArray  # [N + 1]; marks the nodes seen in a vote; the last entry is the running mark
    votes: IntArray  # [L]


def new_explorer(crf: CRF) -> Explorer:
    """An explorer of one CRF; call `start_exploring` before each episode."""
    from policrf.crf.features import entropy, unary_distribution  # brings scipy along

    n_nodes = crf.n_nodes
    return Explorer(
        labeled_neighbours=np.zeros(n_nodes, np.int64),
        entropy=entropy(unary_distribution(crf.unary)),
        unary_labels=np.argmin(crf.unary, axis=1).astype(np.int64),
        jitter=np.zeros(n_nodes),
        adjacency=new_tournament(n_nodes),
        certainty=new_tournament(n_nodes),
        remaining=np.arange(n_nodes),
        position=np.arange(n_nodes),
        left=np.array([n_nodes]),
        stamp=np.zeros(n_nodes + 1, np.int64),
        votes=np.zeros(crf.n_labels, np.int64),
    )


@leaf
def start_exploring(g: Graph, e: Explorer, labels: IntArray, generator: Generator) -> None:
    """Start an episode at a partial labeling [N] (−1 = unlabeled), and draw how ties are broken."""
    n_nodes = len(labels)
    e.left[0] = 0
    last = n_nodes - 1
    for i in range(n_nodes):
        e.jitter[i] = uniform(generator) * _JITTER
        e.labeled_neighbours[i] = 0
        for k in range(g.ptr[i], g.ptr[i + 1]):
            e.labeled_neighbours[i] += labels[g.node[k]] >= 0
        if labels[i] >= 0:
            e.adjacency.values[i] = -np.inf
            e.certainty.values[i] = -np.inf
            at, last = last, last - 1
        else:
            e.adjacency.values[i] = adjacency_score(g, e, i)
            e.certainty.values[i] = -e.entropy[i]
            at = e.left[0]
            e.left[0] += 1
        e.remaining[at] = i
        e.position[i] = at
    rebuild(e.adjacency)
    rebuild(e.certainty)


@inner
def adjacency_score(g: Graph, e: Explorer, i: int) -> float:
    """M1(i), with ties broken; 0 for a node without neighbours."""
    return float(e.labeled_neighbours[i] / max(1, g.ptr[i + 1] - g.ptr[i]) + e.jitter[i])


@leaf
def note_labeled(g: Graph, e: Explorer, i: int) -> None:
    """Keep up with a state in which node i has just been labeled."""
    e.left[0] -= 1
    at, last = e.position[i], e.remaining[e.left[0]]
    e.remaining[at], e.remaining[e.left[0]] = last, i
    e.position[last], e.position[i] = at, e.left[0]
    update(e.adjacency, i, -np.inf)
    update(e.certainty, i, -np.inf)
    for k in range(g.ptr[i], g.ptr[i + 1]):
        j = g.node[k]
        e.labeled_neighbours[j] += 1
        if e.position[j] < e.left[0]:
            update(e.adjacency, j, adjacency_score(g, e, j))


@leaf
def note_unlabeled(g: Graph, e: Explorer, i: int) -> None:
    """Keep up with a state in which node i has just lost its label."""
    at = e.position[i]
    first = e.remaining[e.left[0]]
    e.remaining[at], e.remaining[e.left[0]] = first, i
    e.position[first], e.position[i] = at, e.left[0]
    e.left[0] += 1
    for k in range(g.ptr[i], g.ptr[i + 1]):
        j = g.node[k]
        e.labeled_neighbours[j] -= 1
        if e.position[j] < e.left[0]:
            update(e.adjacency, j, adjacency_score(g, e, j))
    update(e.adjacency, i, adjacency_score(g, e, i))
    update(e.certainty, i, -e.entropy[i])


@leaf
def draw_set(generator: Generator, epsilon: float) -> int:
    """EXPLOIT with probability ε, else one of the four others, equally likely."""
    if uniform(generator) < epsilon:
        return EXPLOIT
    return M1 + below(generator, 4)


@inner
def random_label(a: Arrays, i: int, generator: Generator) -> int:
    """One of the labels that node i may be given, all equally likely."""
    allowed = 0
    for label in range(a.unary.shape[1]):
        allowed += np.isfinite(a.unary[i, label])
    skip = below(generator, allowed)
    for label in range(a.unary.shape[1]):
        if np.isfinite(a.unary[i, label]):
            if skip == 0:
                return label
            skip -= 1
    return 0


@inner
def has_labeled_mate(a: Arrays, s: State, i: int) -> bool:
    """Whether a clique of the unlabeled node i has a labeled member."""
    labeled = 0
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        labeled += s.labeled[a.node_clique[k]]
    return labeled > 0


@inner
def majority_label(a: Arrays, s: State, e: Explorer, i: int) -> int:
    """argmax_k #{labeled j that share a clique with i : y_j = k}, each j once; lowest on a tie."""
    e.stamp[-1] += 1
    mark = e.stamp[-1]
    for label in range(len(e.votes)):
        e.votes[label] = 0
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            j = a.clique_nodes[m]
            if s.labels[j] >= 0 and e.stamp[j] != mark:
                e.stamp[j] = mark
                e.votes[s.labels[j]] += 1
    best = -1
    for label in range(len(e.votes)):
        if np.isfinite(a.unary[i, label]) and (best < 0 or e.votes[label] > e.votes[best]):
            best = label
    return best


@inner
def random_mate(a: Arrays, s: State, e: Explorer, generator: Generator) -> int:
    """A random unlabeled node that shares a clique with a labeled one; −1 if there is none."""
    count = e.left[0]
    for _ in range(_TRIES):
        i = e.remaining[below(generator, count)]
        if has_labeled_mate(a, s, i):
            return int(i)
    start = below(generator, count)
    for k in range(count):
        i = e.remaining[(start + k) % count]
        if has_labeled_mate(a, s, i):
            return int(i)
    return -1


@leaf
def explore(
    a: Arrays, s: State, e: Explorer, chosen: int, random_labels: bool, generator: Generator
) -> tuple[int, int]:
    """An action (node, label) of the set M1, M2, M3 or RANDOM.

    Label −1 stands for the policy's best at that node.
    """
    if chosen == M3:
        i = random_mate(a, s, e, generator)
        if i >= 0:
            return i, majority_label(a, s, e, i)
    elif chosen != RANDOM:
        i = champion(e.adjacency) if chosen == M1 else champion(e.certainty)
        return i, random_label(a, i, generator) if random_labels else -1
    i = e.remaining[below(generator, e.left[0])]
    return i, random_label(a, i, generator)
