"""What the engine keeps of an instance while labeling: the layers, the scores, the way back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.crf.arrays import COUNTS
from policrf.crf.model import CRF
from policrf.mdp.tournament import Tournament, new_tournament
from policrf.policy.kinds import N_INPUTS, STATE_INPUTS
from policrf.policy.lanes import padded
from policrf.policy.net import COLUMNS, HIDDEN, LAYERS, SEES_COSTS, STATIC_LAYERS, WIDTH, Net
from policrf.policy.shared.clique_counts import Counted, new_counted
from policrf.types import Float32Array, FloatArray, IntArray

# Entries of Journal.used.
STEPS, ROWS, LEAVES, RECORDING, TRACKING = 0, 1, 2, 3, 4
# Columns of Journal.steps.
NODE, FIRST_ROW, FIRST_LEAF, KEPT = 0, 1, 2, 3


class Reach(NamedTuple):
    """The nodes that a step changes."""

    touched: IntArray  # [N + 1]; in order of distance
    levels: IntArray  # [K]; how many of them are within 0, 1, … K − 1 edges (shared kind: 0, 1)
    stamp: IntArray  # [N + 1]; marks the nodes already there; the last entry is the running mark


class Journal(NamedTuple):
    """What steps overwrote, as stacks, last step last."""

    used: IntArray  # [5]: steps, rows, leaves in use; are steps recorded; is the energy kept up
    steps: (
        IntArray  # [N, 4]: node, rows and leaves in use before, whether what it overwrote was kept
    )
    energies: FloatArray  # [N]; State.total before the step
    row_at: IntArray  # [R]; where in Work.rows a row was
    rows: Float32Array  # [R, P], flat
    leaf: IntArray  # [S, 2]: node, best label
    score: FloatArray  # [S]


class Work(NamedTuple):
    """N nodes, K layers, P padded width, Q padded labels, H padded hidden units. Mutable."""

    # [2 K − 1, N, P], flat: θ3 b_i (+ bias) of K layers, then θ4 μ_i of K − 1; or, of the shared
    # kind, [N, L, H]: B h_i(l) + c
    rows: Float32Array
    # [P + Q + H + Q]: embedding, logits, hidden units, margins of one node; or [L, state inputs]
    scratch: Float32Array
    costs: FloatArray  # [3, L]: conditional costs, margins and scores of one node
    margins: FloatArray  # [N, L]; φ(m_i(l)) of the residual kind, where not stale; else [0, L]
    prior: FloatArray  # [N, L]; t r_i(l) of the shared kind; else [0, L]
    views: FloatArray  # [N, 4, L]; its costs by group (`state_view`), where not stale; else [0 …]
    counted: Counted  # labels in the cliques that it counts
    stale: NDArray[np.bool_]  # [N]; whether the costs of a node may have changed since
    best: IntArray  # [N]; the label of an unlabeled node's highest score
    scores: Tournament  # that score; −inf where labeled
    special: IntArray  # [L]; labels of one node with other inputs than their margin
    inputs: Float32Array  # [L, D]; their inputs
    added: FloatArray  # as State.added: what it was when the members were scored; NaN = not known
    restricted: NDArray[np.bool_]  # [N]; whether some label of the node is not allowed
    reach: Reach
    journal: Journal


def new_work(net: Net, crf: CRF, *, journal_rows: int = 0) -> Work:
    """Room for one instance; `journal_rows` messages are kept to undo without recomputing."""
    layers, width, columns, hidden = (int(net.sizes[k]) for k in (LAYERS, WIDTH, COLUMNS, HIDDEN))
    n_nodes, n_labels = crf.unary.shape
    shared = bool(net.sizes[STATIC_LAYERS])
    own = n_nodes if shared else 0
    n_rows = n_nodes * n_labels * hidden if shared else (2 * layers - 1) * n_nodes * width
    n_scratch = width + columns + hidden + columns
    leaves = 4 * journal_rows
    steps = n_nodes if journal_rows else 0
    return Work(
        rows=np.zeros(n_rows, np.float32),
        scratch=np.zeros(n_labels * padded(len(STATE_INPUTS)) if shared else n_scratch, np.float32),
        costs=np.zeros((3, n_labels)),
        margins=np.zeros((n_nodes if net.sizes[SEES_COSTS] and not shared else 0, n_labels)),
        prior=np.zeros((own, n_labels)),
        views=np.zeros((own, 4, n_labels)),
        counted=new_counted(crf.arrays, wanted=shared),
        stale=np.ones(n_nodes, np.bool_),
        best=np.zeros(n_nodes, np.int64),
        scores=new_tournament(n_nodes),
        special=np.zeros(n_labels, np.int64),
        inputs=np.zeros((n_labels, N_INPUTS), np.float32),
        added=np.full(n_labels * int((crf.arrays.custom[:, COUNTS] >= 0).sum()), np.nan),
        restricted=np.asarray(~np.isfinite(crf.unary).all(axis=1), np.bool_),
        reach=Reach(
            touched=np.zeros(n_nodes + 1, np.int64),
            # The shared kind sends no messages, but neighbours see a new label.
            levels=np.zeros(2 if shared else layers, np.int64),
            stamp=np.zeros(n_nodes + 1, np.int64),
        ),
        journal=Journal(
            used=np.array([0, 0, 0, journal_rows > 0, 1], np.int64),
            steps=np.zeros((steps, 4), np.int64),
            energies=np.zeros(steps),
            row_at=np.zeros(journal_rows, np.int64),
            rows=np.zeros(journal_rows * width, np.float32),
            leaf=np.zeros((leaves, 2), np.int64),
            score=np.zeros(leaves),
        ),
    )
