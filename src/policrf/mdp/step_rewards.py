"""The rewards of a step in compiled code: one switch for acting, searching and single episodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import State, assign, label_costs
from policrf.mdp.completion import Completion, completed_change, set_completed
from policrf.mdp.reward_call import call_reward
from policrf.mdp.rewards import (
    CALL_DIFFERENCE,
    CALL_SHAPED,
    CALL_SIGN,
    NO_CHANGES,
    OWN_CHANGE,
    RewardCall,
    difference,
    shaped,
    sign,
)
from policrf.types import Float32Array, FloatArray


class LabelValues(NamedTuple):
    """What is known of every label of one node. Mutable scratch space."""

    costs: FloatArray  # [L]
    changes: FloatArray  # [L]
    rewards: FloatArray  # [L]


def new_label_values(n_labels: int) -> LabelValues:
    """All zero."""
    return LabelValues(np.zeros(n_labels), np.zeros(n_labels), np.zeros(n_labels))


@leaf
def find_changes(
    a: Arrays, s: State, z: Completion, i: int, wanted: int, changes: int, out: FloatArray
) -> None:
    """The changes of Φ for labels of the unlabeled node i; inf where the unary forbids one.

    With OWN_CHANGE only that of the label `wanted` is computed, unless it is −1.
    """
    for label in range(len(out)):
        if changes == OWN_CHANGE and wanted >= 0 and label != wanted:
            out[label] = 0.0
        elif np.isinf(a.unary[i, label]):
            out[label] = np.inf
        else:
            out[label] = completed_change(a, s, z, i, label)


@leaf
def apply_reward(reward: RewardCall, v: LabelValues) -> None:
    """The rewards of all labels from their costs and changes."""
    if reward.code == CALL_DIFFERENCE:
        difference(v.costs, v.changes, reward.ties, v.rewards)
    elif reward.code == CALL_SIGN:
        sign(v.costs, v.changes, reward.ties, v.rewards)
    elif reward.code == CALL_SHAPED:
        shaped(v.costs, v.changes, reward.ties, v.rewards)
    else:
        count, ties = len(v.costs), int(reward.ties)
        call_reward(reward.address, v.costs, v.changes, count, ties, v.rewards)  # type: ignore[call-arg]


@leaf
def rewards_of(
    a: Arrays, s: State, z: Completion, i: int, wanted: int, reward: RewardCall, v: LabelValues
) -> None:
    """The reward of every label of the unlabeled node i, or at least of `wanted`, if it is ≥ 0."""
    if reward.needs_costs:
        label_costs(a, s, i, v.costs)
    if reward.changes != NO_CHANGES:
        find_changes(a, s, z, i, wanted, reward.changes, v.changes)
    apply_reward(reward, v)


@leaf
def finite_rewards_of(
    a: Arrays, s: State, z: Completion, i: int, reward: RewardCall, v: LabelValues,
    out: Float32Array,
) -> None:  # fmt: skip
    """The rewards of all labels of node i, into `out` [L], for learning: none is infinite."""
    if not reward.needs_costs:
        label_costs(a, s, i, v.costs)
    rewards_of(a, s, z, i, -1, reward, v)
    for label in range(len(out)):
        out[label] = reward.forbidden if np.isinf(v.costs[label]) else v.rewards[label]


@leaf
def take(
    a: Arrays, s: State, z: Completion, i: int, label: int, changes: int, v: LabelValues
) -> None:
    """Label node i, after noting what rewards need to know: costs, and the changes asked for."""
    label_costs(a, s, i, v.costs)
    if changes != NO_CHANGES:
        find_changes(a, s, z, i, label, changes, v.changes)
    assign(a, s, i, label)
    set_completed(a, z, i, label)
