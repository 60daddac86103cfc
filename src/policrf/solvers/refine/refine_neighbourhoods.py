"""The nodes that a random move is about: a clique, a part of one, or a ball of nodes.

Cliques are those of all higher-order terms. A node in none of them has the ball around it instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import PARTIAL, Arrays
from policrf.crf.potentials import COMPLETE
from policrf.random_numbers import Generator, below
from policrf.types import BoolArray, FloatArray, IntArray

BALL = 30  # nodes that stand for a clique where there is none
TRIES = 4  # draws for each node of a ball or of a part

# Entries of `Workspace.cursor`.
STAGE = 0  # what comes next
LENGTH = 1  # of `nodes`
SCOPE = 2  # length of `scope`
AT = 3  # where the stage is in its list
UNCHANGED = 4  # visits in a row that changed nothing
VISITS = 5  # of the stage
OLD, NEW = 6, 7  # labels of a clique move; NEW is −1 where each node takes its next best
MARK = 8  # number of the last list that was built
CLIQUE = 9  # the clique the nodes are from; −1: a ball
MADE, KEPT = 10, 11  # moves that were made so far, and kept
CLIQUE_WORK, HALFWAY_WORK = 12, 13  # visits that either kind of move took so far
KIND = 14  # of the move: CLIQUE_WORK or HALFWAY_WORK
SWEPT = 15  # cliques that have had their turn in the first sweep
GAINS = 16  # 1: the half-way move looks at gains
N_CURSOR = 17


class Workspace(NamedTuple):
    """Mutable; N nodes, C cliques, L labels."""

    nodes: IntArray  # [N]; the nodes that the move is about
    scope: IntArray  # [N]; the nodes that are settled after it
    node_mark: IntArray  # [N]; the last list that the node is in
    clique_mark: IntArray  # [C]; the same of cliques
    stale: BoolArray  # [N]; `margin` and `choice` of the node are out of date
    margin: FloatArray  # [N]; by how much the best label of an unlabeled node leads
    choice: IntArray  # [N]; that label
    gains: FloatArray  # [C, L]; what labels promise cliques that are asked half-way; or [0, L]
    present: BoolArray  # [L]; scratch space
    costs: FloatArray  # [L]; scratch space
    cursor: IntArray  # [N_CURSOR]


def new_workspace(a: Arrays) -> Workspace:
    """Ready for the first move."""
    n_nodes, n_labels = a.unary.shape
    asked = a.custom[:, PARTIAL] != COMPLETE
    return Workspace(
        nodes=np.empty(n_nodes, np.int64),
        scope=np.empty(n_nodes, np.int64),
        node_mark=np.zeros(n_nodes, np.int64),
        clique_mark=np.zeros(len(a.clique_kind), np.int64),
        stale=np.zeros(n_nodes, np.bool_),
        margin=np.empty(n_nodes),
        choice=np.zeros(n_nodes, np.int64),
        gains=np.zeros((len(a.clique_kind) if asked.any() else 0, n_labels)),
        present=np.zeros(n_labels, np.bool_),
        costs=np.empty(n_labels),
        cursor=np.zeros(N_CURSOR, np.int64),
    )


@inner
def draw_clique(a: Arrays, i: int, generator: Generator) -> int:
    """A random clique of node i; −1 where it is in none."""
    count = a.node_ptr[i + 1] - a.node_ptr[i]
    return int(a.node_clique[a.node_ptr[i] + below(generator, count)]) if count > 0 else -1


@inner
def draw_neighbour(a: Arrays, i: int, generator: Generator) -> int:
    """A random node that shares an edge, or else a clique, with node i; i where there is none."""
    edges = a.adj_ptr[i + 1] - a.adj_ptr[i]
    if edges > 0:
        return int(a.adj_node[a.adj_ptr[i] + below(generator, edges)])
    c = draw_clique(a, i, generator)
    if c < 0:
        return i
    members = a.clique_ptr[c + 1] - a.clique_ptr[c]
    return int(a.clique_nodes[a.clique_ptr[c] + below(generator, members)])


@inner
def begin_list(w: Workspace) -> int:
    """A mark that no node or clique carries yet."""
    w.cursor[MARK] += 1
    return int(w.cursor[MARK])


@inner
def append_new(marks: IntArray, mark: int, nodes: IntArray, n: int, j: int) -> int:
    """Node j after the first n of `nodes`, unless it carries the mark; how many there are then."""
    if marks[j] == mark:
        return n
    marks[j] = mark
    nodes[n] = j
    return n + 1


@inner
def collect_ball(a: Arrays, w: Workspace, i: int, size: int, generator: Generator) -> None:
    """Node i and up to size − 1 nodes that are connected to it, grown at random, into `nodes`."""
    mark, n = begin_list(w), 1
    w.nodes[0] = i
    w.node_mark[i] = mark
    for _ in range(TRIES * size):
        if n >= size or n == len(w.nodes):
            break
        j = draw_neighbour(a, w.nodes[below(generator, n)], generator)
        n = append_new(w.node_mark, mark, w.nodes, n, j)
    w.cursor[LENGTH] = n


@inner
def collect_part(a: Arrays, w: Workspace, i: int, c: int, size: int, generator: Generator) -> None:
    """Node i and up to size − 1 random members of its clique c, into `nodes`."""
    mark, n = begin_list(w), 1
    w.nodes[0] = i
    w.node_mark[i] = mark
    members = a.clique_ptr[c + 1] - a.clique_ptr[c]
    for _ in range(TRIES * size):
        if n >= size:
            break
        j = a.clique_nodes[a.clique_ptr[c] + below(generator, members)]
        n = append_new(w.node_mark, mark, w.nodes, n, j)
    w.cursor[LENGTH] = n


@inner
def collect_members(
    a: Arrays, labels: IntArray, w: Workspace, c: int, first: int, size: int, label: int
) -> None:
    """Up to `size` members of clique c from its entry `first` on, around its end, into `nodes`.

    Those of the label only, or of all labels (−1).
    """
    mark, n = begin_list(w), 0
    start, members = a.clique_ptr[c], a.clique_ptr[c + 1] - a.clique_ptr[c]
    for m in range(members):
        i = a.clique_nodes[start + (first + m) % members]
        if n < size and (label < 0 or labels[i] == label) and w.node_mark[i] != mark:
            w.node_mark[i] = mark
            w.nodes[n] = i
            n += 1
    w.cursor[LENGTH] = n
