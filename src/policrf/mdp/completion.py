"""The labeling completed by a default, and the energy it has: the potential of the shaped reward.

A partial labeling y_I is completed with default labels d (the unary argmin, or any solver's
labels): z_i = y_i where labeled, d_i elsewhere. Then every term of the energy has a value at every
step:

    Φ(s) = Σ_i f_i(z_i) + Σ_ij w_ij [z_i ≠ z_j] + Σ_c f̃_c(s)

f̃_c is f_c(z_c), except for quotas (HOP2), which a single node rarely decides. There it is the
convex envelope of λ[m < q], a hinge that gives each matching node its share λ/q until the quota is
met:

    f̃_c = 0                              q members already have the label
         = λ                              too many already have another one to reach q
         = λ · max(0, q − m_z) / q        otherwise, m_z members of z have the label

With all nodes labeled one of the first two holds and f̃_c = f_c: Φ ends at E(ŷ) exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import clique_energy, counting_energy
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.crf.state import State
from policrf.mdp.foresight import foresee, give_up_quotas
from policrf.mdp.gains import Gains, find_gains, new_gains
from policrf.types import Float32Array, FloatArray, IntArray

# What a forbidden (infinite) term counts in Φ: a difference of two infinities would be no number.
FORBIDDEN = 1e6


class Completion(NamedTuple):
    """z and its counts, beside a `State` that holds the labels given so far. Mutable."""

    default: IntArray  # [N]
    labels: IntArray  # [N]; z
    matches: IntArray  # [C]; members of z with clique_label
    beliefs: Float32Array  # [N, L]; what an unlabeled node may become; or [0, L]
    penalties: FloatArray  # [C]; of the quotas: clique_weight, or 0 where one is given up
    gains: Gains  # what labels promise the cliques that are asked half-way
    unit: float  # of cost: what costs are divided by before a policy sees them


def new_completion(
    arrays: Arrays, default: IntArray, *, beliefs: bool = False, sweeps: int = 0,
    limit: float = 0.0, gain: float = 0.0, unit: float = 1.0,
) -> Completion:  # fmt: skip
    """The completion of the empty labeling.

    Parameters
    ----------
    arrays
        The CRF.
    default
        Labels `[N]` of the nodes that have none yet.
    beliefs
        Whether to hold beliefs `[N, L]`, for expected costs; they begin as softmax(−unary / unit).
    sweeps
        Sweeps of mean field that the beliefs go through (`foresight.py`).
    gain
        What a unit of a clique's gain counts, where it is asked half-way; 0: nothing.
    limit
        Quotas that cost more than `limit` times their penalty are given up; 0 pursues them all.
    unit
        Of cost (`crf.units`): beliefs are those of the energy divided by it.
    """
    fixed = np.array(default, np.int64)
    unary = arrays.unary
    share = np.zeros((0, unary.shape[1]), np.float32)
    if beliefs:
        raised = np.exp((unary.min(axis=1, keepdims=True) - unary) / unit)
        share = (raised / raised.sum(axis=1, keepdims=True)).astype(np.float32)
    penalties = arrays.clique_weight.copy()
    if beliefs and limit > 0:
        give_up_quotas(arrays, share, limit, penalties)
    if beliefs and sweeps > 0:
        foresee(arrays, penalties, sweeps, unit, share)
    matches = np.zeros(len(arrays.clique_kind), np.int64)
    completion = Completion(
        default=fixed,
        labels=fixed.copy(),
        matches=matches,
        beliefs=share,
        penalties=penalties,
        gains=new_gains(arrays, gain),
        unit=unit,
    )
    complete(arrays, completion, np.full(len(fixed), -1, np.int64))
    return completion


@leaf
def complete(a: Arrays, z: Completion, labels: IntArray) -> None:
    """Set z and its counts to a full or partial labeling [N] (−1 = unlabeled)."""
    for i in range(len(labels)):
        z.labels[i] = labels[i] if labels[i] >= 0 else z.default[i]
    for c in range(len(a.clique_kind)):
        z.matches[c] = 0
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            z.matches[c] += z.labels[a.clique_nodes[m]] == a.clique_label[c]
    find_gains(a, z.gains, labels)


@leaf
def set_completed(a: Arrays, z: Completion, i: int, label: int) -> None:
    """Let node i of z have another label."""
    old = z.labels[i]
    if old == label:
        return
    z.labels[i] = label
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        z.matches[c] += int(a.clique_label[c] == label) - int(a.clique_label[c] == old)


@inner
def relaxed_support(
    a: Arrays, c: int, penalty: float, labeled: int, matched: int, completed: int
) -> float:
    """f̃_c of a quota: `matched` of `labeled` members, and `completed` of z, have its label."""
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    quota = a.clique_count[c]
    if matched >= quota:
        return 0.0
    if labeled - matched > size - quota:
        return float(penalty)
    return float(penalty * max(0, quota - completed) / quota)


@leaf
def capped(value: float) -> float:
    """An infinite term as a finite one."""
    return FORBIDDEN if np.isinf(value) else value


@inner
def completed_clique(a: Arrays, s: State, z: Completion, c: int) -> float:
    """f̃_c of the current state."""
    if a.clique_kind[c] == AGREE:
        return counting_energy(a, c, z.matches[c])
    if a.clique_kind[c] == SUPPORT:
        return relaxed_support(a, c, a.clique_weight[c], s.labeled[c], s.matches[c], z.matches[c])
    return capped(clique_energy(a, c, z.labels))


@leaf
def completed_energy(a: Arrays, s: State, z: Completion) -> float:
    """Φ(s) from scratch: O(size of the CRF)."""
    total = 0.0
    for i in range(len(a.unary)):
        total += capped(a.unary[i, z.labels[i]])
    for e in range(len(a.edges)):
        if z.labels[a.edges[e, 0]] != z.labels[a.edges[e, 1]]:
            total += a.edge_weights[e]
    for c in range(len(a.clique_kind)):
        total += completed_clique(a, s, z, c)
    return total


@inner
def completed_change(a: Arrays, s: State, z: Completion, i: int, label: int) -> float:
    """Φ after labeling the unlabeled node i, minus Φ before; the state does not change."""
    old = z.labels[i]
    change = capped(a.unary[i, label]) - capped(a.unary[i, old])
    if label != old:
        for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            other = z.labels[a.adj_node[k]]
            change += a.adj_weight[k] * (int(other != label) - int(other != old))
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        wanted = a.clique_label[c]
        now = z.matches[c]
        then = now + int(label == wanted) - int(old == wanted)
        if a.clique_kind[c] == AGREE:
            change += counting_energy(a, c, then) - counting_energy(a, c, now)
        elif a.clique_kind[c] == SUPPORT:
            matched = s.matches[c] + int(label == wanted)
            penalty = a.clique_weight[c]
            change += relaxed_support(a, c, penalty, s.labeled[c] + 1, matched, then)
            change -= relaxed_support(a, c, penalty, s.labeled[c], s.matches[c], now)
        elif label != old:
            change -= capped(clique_energy(a, c, z.labels))
            z.labels[i] = label
            change += capped(clique_energy(a, c, z.labels))
            z.labels[i] = old
    return change
