"""A labeling that expansion moves change, and what is remembered from one move to the next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.solvers.cuts.expansion_problem import MoveProblem
from policrf.solvers.cuts.maxflow import give_up
from policrf.types import BoolArray, FloatArray, Int8Array, Int32Array, IntArray

FLOWS = 1 << 25  # numbers that are kept at most: 256 MB
NEVER = -1  # in place of a move


class Changes(NamedTuple):
    """What changed since the last move to each label (`move_near_changes`); [0]: nobody asks."""

    when: Int32Array  # [N]  the move that gave a node its label
    tried: Int32Array  # [L]  the last move to a label, or NEVER
    region: Int32Array  # [N]  scratch space: the nodes of a region
    place: Int8Array  # [N]  scratch space: whether a node is in the region; 0 between moves
    moves: Int32Array  # [1]  how many there were


class MoveState(NamedTuple):
    """A labeling that moves; `labels` and `matches` change together."""

    labels: IntArray  # [N]
    matches: IntArray  # [B]  members of a HOP1 box with its label
    open: BoolArray  # [N]  whether the node takes part in the current move
    decided: IntArray  # [B]  VALID, INVALID or UNDECIDED in the current move
    flow: FloatArray  # [pairs, L]  what moves to a label pushed from the first node of a pair to
    # the second (`kept_flow`); [0, L] without room for it
    kept: BoolArray  # [1]  whether any is known
    changes: Changes


def move_state(p: MoveProblem, labels: IntArray, *, note_changes: bool = False) -> MoveState:
    """A copy of `labels`, ready to move.

    With `note_changes`, costs stay the same and labels are set by `load_moves` alone, so that moves
    look only where something has changed. Boxes and terms of many nodes are near everything.
    """
    (n_nodes, n_labels), n_boxes = p.costs.shape, len(p.box_label)
    n_pairs = len(p.weight) + len(p.tables.weight)
    room = n_pairs * n_labels <= FLOWS
    noted = n_nodes if note_changes and len(p.network.excess) == n_nodes else 0
    state = MoveState(
        labels.copy(),
        np.zeros(n_boxes, np.int64),
        np.zeros(n_nodes, np.bool_),
        np.zeros(n_boxes, np.int64),
        # No memory is taken before it is written to.
        np.zeros((n_pairs if room else 0, n_labels)),
        np.zeros(1, np.bool_),
        Changes(
            when=np.zeros(noted, np.int32),
            tried=np.full(n_labels, NEVER, np.int32),
            region=np.zeros(noted, np.int32),
            place=np.zeros(noted, np.int8),
            moves=np.zeros(1, np.int32),
        ),
    )
    count_matches(p, state)
    return state


@leaf
def load_moves(p: MoveProblem, s: MoveState, labels: IntArray) -> None:
    """Let the next move start from `labels`; one that is under way is given up."""
    give_up(p.network)
    noted = len(s.changes.when) > 0
    for i in range(len(labels)):
        if s.labels[i] != labels[i]:
            s.labels[i] = labels[i]
            if noted:
                s.changes.when[i] = s.changes.moves[0]
    s.changes.moves[0] += 1
    count_matches(p, s)


@leaf
def count_matches(p: MoveProblem, s: MoveState) -> None:
    """Count `matches` again, after `labels` were set from outside."""
    g, n_nodes = p.network, len(s.labels)
    for b in range(len(p.box_label)):
        s.matches[b] = 0
        for k in range(g.ptr[n_nodes + b], g.ptr[n_nodes + b + 1]):
            s.matches[b] += s.labels[g.head[k]] == p.box_label[b]


@inner
def relabel(p: MoveProblem, s: MoveState, i: int, alpha: int) -> None:
    """Node i takes α in the current move."""
    g, n_nodes = p.network, len(s.labels)
    # The arcs to the z nodes and to those of other terms are the last ones of a node.
    for k in range(g.ptr[i + 1] - 1, g.ptr[i] - 1, -1):
        b = g.head[k] - n_nodes
        if b < 0:
            break
        if b >= len(p.box_label):
            continue
        s.matches[b] += (alpha == p.box_label[b]) - (s.labels[i] == p.box_label[b])
    s.labels[i] = alpha
    if len(s.changes.when):
        s.changes.when[i] = s.changes.moves[0]


@inlined
def may_move(p: MoveProblem, s: MoveState, i: int, alpha: int) -> bool:
    """Whether node i is open in the move to α: it has another label, and α is allowed."""
    return bool(s.labels[i] != alpha and p.costs[i, alpha] < np.inf)
