"""The residual kind's view of the energy: conditional costs, margins and the state of the cliques.

c_i(l) is the energy of node i's terms with label l, up to a constant that all labels share, given
    partial     the nodes labeled so far: a clique counts once all its other members are labeled;
    completed   the labeling completed by the default labels (`mdp.completion`);
    relaxed     the same, with quotas (HOP2) relaxed to hinges;
    expected    as relaxed, but a neighbour that is not labeled yet counts for every label by what
                it may become, w_ij (1 − q_j(l)), the pairwise term it may be expected to give, and
                quotas that are not worth their price count for nothing (`mdp.foresight`).
A custom clique that is asked half-way counts in all of them with what label l changes in its answer
about the members labeled so far.

Untrained, the policy labels the node whose best label leads by most. With partial costs that is
highest confidence first as it is usually meant; expected costs start from much lower energies,
since a node in doubt waits for neighbours that will know, and quotas are heard from the start.
On completed costs, labeling a node with its cheapest label never raises the energy of the completed
labeling, since the default label is one of the choices: untrained, the policy ends at or below the
energy of the default labels.

Counts reach the network in eighths, so that a clique of n members changes what its members see at
most 8 times a count, not n times: a step stays cheap however large the cliques are.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.crf.arrays import PARTIAL as ASKED
from policrf.crf.arrays import Arrays
from policrf.crf.energy import add_table_costs
from policrf.crf.model import CRF
from policrf.crf.potentials import AGREE, COMPLETE, SUPPORT, TABLE
from policrf.crf.state import State
from policrf.crf.units import cost_unit
from policrf.crf.valued.clique_value import add_custom_costs
from policrf.crf.valued.value_changes import add_partial_costs
from policrf.mdp.completion import Completion, new_completion, relaxed_support
from policrf.policy.kinds import AGREE_INPUT, DEFAULT_INPUT, MARGIN_INPUT, N_INPUTS, SUPPORT_INPUT
from policrf.policy.net import COMPLETED, EXPECTED, PARTIAL
from policrf.policy.network import Spec
from policrf.types import Float32Array, FloatArray, IntArray

LEVELS = 8
# Margins are cut off here: a forbidden label's would be infinite.
LARGEST_MARGIN = 1e6


def completion_of(spec: Spec, crf: CRF, default: IntArray) -> Completion:
    """The completion of nothing by `default` [N], with what this policy's costs need of it."""
    expecting = spec.sees_costs and spec.costs == "expected"
    return new_completion(
        crf.arrays,
        default,
        beliefs=expecting,
        sweeps=spec.foresight,
        limit=spec.quota_limit,
        gain=spec.gain if spec.sees_costs else 0.0,
        unit=cost_unit(crf.arrays) if spec.sees_costs and spec.units else 1.0,
    )


@inlined
def clique_gain(
    a: Arrays, mode: int, z: Completion, c: int, labeled: int, matched: int, others: int
) -> float:
    """f_c with its label at an unlabeled member, minus f_c with another one (AGREE, SUPPORT).

    `labeled` members have a label, `matched` of them the clique's, and of the members other than
    this one `others` count as having it: among those labeled (partial) or in the completed
    labeling.
    """
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    weight = a.clique_weight[c]
    if mode == PARTIAL and labeled != size - 1:
        return 0.0
    if a.clique_kind[c] == AGREE:
        return float(weight * (min(others + 1, size - others - 1) - min(others, size - others)))
    quota = a.clique_count[c]
    if mode == COMPLETED:
        return -weight if others + 1 == quota else 0.0
    if matched + 1 < quota:
        weight = z.penalties[c]
        if labeled - matched + 1 <= size - quota:  # either label leaves the quota open
            return -weight / quota if others < quota else 0.0
    return relaxed_support(a, c, weight, labeled + 1, matched + 1, others + 1) - relaxed_support(
        a, c, weight, labeled + 1, matched, others
    )


@leaf
def level(count: int, full: int) -> int:
    """How many eighths of `full` are reached, 0 … 8."""
    if count >= full:
        return LEVELS
    return LEVELS * max(count, 0) // full


@inner
def costs_change(
    a: Arrays, mode: int, s: State, z: Completion, c: int, label: int, old: int
) -> bool:
    """Whether labeling a node changes what clique c costs its other unlabeled members.

    `label` is the node's label, which the state already holds, and `old` its label in the
    completion before that. Cliques that are asked half-way are left out.
    """
    kind = a.clique_kind[c]
    if a.custom[c, ASKED] != COMPLETE:
        return False  # left to `halfway.reach_halfway`
    if kind != AGREE and kind != SUPPORT:
        last_but_one = s.labeled[c] == a.clique_ptr[c + 1] - a.clique_ptr[c] - 1
        return last_but_one if mode == PARTIAL else label != old
    now, before = int(label == a.clique_label[c]), int(old == a.clique_label[c])
    labeled, matched = s.labeled[c], s.matches[c]
    changed = False
    # A member counts among the matches of the completion, or it does not: the others are one fewer.
    for own in range(1 if mode == PARTIAL else 2):
        others, others_before = z.matches[c] - own, z.matches[c] - own - now + before
        if mode == PARTIAL:
            others, others_before = matched, matched - now
        changed |= clique_gain(a, mode, z, c, labeled, matched, others) != clique_gain(
            a, mode, z, c, labeled - 1, matched - now, others_before
        )
    return changed


@inner
def inputs_change(a: Arrays, s: State, c: int, label: int) -> bool:
    """Whether labeling a node, which the state already holds, changes what clique c shows."""
    kind = a.clique_kind[c]
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    now = int(label == a.clique_label[c])
    labeled, matched = s.labeled[c], s.matches[c]
    if kind == AGREE:
        return level(labeled, size) != level(labeled - 1, size) or level(matched, size) != level(
            matched - now, size
        )
    if kind == SUPPORT:
        quota = a.clique_count[c]
        spare, missed = size - quota + 1, labeled - matched
        return level(matched, quota) != level(matched - now, quota) or level(
            missed, spare
        ) != level(missed - 1 + now, spare)
    return False


@inlined
def relative_costs(a: Arrays, mode: int, s: State, z: Completion, i: int, out: FloatArray) -> None:
    """c_i(l) of the unlabeled node i into `out` [L], in units, up to a shared constant."""
    for label in range(len(out)):
        out[label] = a.unary[i, label]
    add_pair_costs(a, mode, s, z, i, out)
    add_clique_costs(a, mode, s, z, i, out)
    for label in range(len(out)):
        out[label] /= z.unit


@inlined
def add_pair_costs(a: Arrays, mode: int, s: State, z: Completion, i: int, out: FloatArray) -> None:
    """What the Potts terms of node i cost, up to a shared constant."""
    labels = s.labels if mode == PARTIAL else z.labels
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        j = a.adj_node[k]
        if mode == EXPECTED and s.labels[j] < 0:
            for label in range(len(out)):
                out[label] -= a.adj_weight[k] * z.beliefs[j, label]
        elif labels[j] >= 0:
            out[labels[j]] -= a.adj_weight[k]


@inlined
def add_clique_costs(
    a: Arrays, mode: int, s: State, z: Completion, i: int, out: FloatArray
) -> None:
    """What the cliques of node i cost, up to a shared constant."""
    labels = s.labels if mode == PARTIAL else z.labels
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        kind = a.clique_kind[c]
        wanted = a.clique_label[c]
        if a.custom[c, ASKED] != COMPLETE:
            add_partial_costs(a, s, i, c, a.node_entry[k], out)
            if len(z.gains.values):
                for label in range(len(out)):
                    out[label] -= z.gains.values[c, label]
        elif kind == AGREE or kind == SUPPORT:
            others = s.matches[c] if mode == PARTIAL else z.matches[c] - int(labels[i] == wanted)
            out[wanted] += clique_gain(a, mode, z, c, s.labeled[c], s.matches[c], others)
        elif mode != PARTIAL or s.labeled[c] == a.clique_ptr[c + 1] - a.clique_ptr[c] - 1:
            if kind == TABLE:
                add_table_costs(a, labels, i, c, a.node_entry[k], out)
            else:
                add_custom_costs(a, labels, i, c, a.node_entry[k], out)


@leaf
def margins(costs: FloatArray, out: FloatArray) -> None:
    """m(l) = min_{k ≠ l} c(k) − c(l) into `out` [L], within ±LARGEST_MARGIN."""
    lowest, second = np.inf, np.inf
    for label in range(len(costs)):
        second = min(second, max(lowest, costs[label]))
        lowest = min(lowest, costs[label])
    if np.isinf(lowest):
        out[:] = -LARGEST_MARGIN
        return
    lead = min(second - lowest, LARGEST_MARGIN)
    for label in range(len(costs)):
        behind = max(lowest - costs[label], -LARGEST_MARGIN)
        out[label] = lead if costs[label] == lowest else behind


@inlined
def squashed(margin: float) -> float:
    """m / (1 + |m|)."""
    return margin / (1.0 + abs(margin))


@inlined
def clique_inputs(a: Arrays, s: State, c: int) -> tuple[int, float, float]:
    """What clique c adds to its label's inputs: 1 in the column returned, then two fractions."""
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    labeled, matched = s.labeled[c], s.matches[c]
    if a.clique_kind[c] == AGREE:
        return AGREE_INPUT, level(labeled, size) / LEVELS, level(matched, size) / LEVELS
    if a.clique_kind[c] == SUPPORT:
        quota = a.clique_count[c]
        missed = level(labeled - matched, size - quota + 1)
        return SUPPORT_INPUT, level(matched, quota) / LEVELS, missed / LEVELS
    return -1, 0.0, 0.0


@inner
def label_inputs(
    a: Arrays, s: State, z: Completion, i: int, margin: FloatArray, out: Float32Array
) -> None:
    """x_i(l) of every label (`spec.INPUTS`) into `out` [L, D]."""
    for label in range(len(margin)):
        for column in range(out.shape[1]):
            out[label, column] = 0.0
        out[label, MARGIN_INPUT] = squashed(margin[label])
    out[z.default[i], DEFAULT_INPUT] = 1.0
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        column, first, second = clique_inputs(a, s, c)
        if column >= 0:
            label = a.clique_label[c]
            out[label, column] += 1.0
            out[label, column + 1] += first
            out[label, column + 2] += second


@inlined
def special_inputs(
    a: Arrays, s: State, z: Completion, i: int, labels: IntArray, inputs: Float32Array
) -> int:
    """The labels of node i with other inputs than their margin, and these inputs [labels, D].

    They are the default label and those that its cliques want; returns how many. The first column,
    the margin, is left to the caller.
    """
    count = 1
    labels[0] = z.default[i]
    for column in range(N_INPUTS):
        inputs[0, column] = 0.0
    inputs[0, DEFAULT_INPUT] = 1.0
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        column, first, second = clique_inputs(a, s, c)
        if column < 0:
            continue
        at = 0
        while at < count and labels[at] != a.clique_label[c]:
            at += 1
        if at == count:
            labels[at] = a.clique_label[c]
            for other in range(N_INPUTS):
                inputs[at, other] = 0.0
            count += 1
        inputs[at, column] += 1.0
        inputs[at, column + 1] += first
        inputs[at, column + 2] += second
    return count
