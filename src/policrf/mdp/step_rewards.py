"""The rewards of a step in compiled code: one switch for acting, searching and single episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import assign
from policrf.crf.energy import label_costs
from policrf.crf.state import State
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
    load_reward,
    shaped,
    sign,
)
from policrf.types import Float32Array, FloatArray, IntArray


class LabelValues(NamedTuple):
    """What is known of every label of one node. Mutable scratch space."""

    costs: FloatArray  # [L]
    changes: FloatArray  # [L]
    rewards: FloatArray  # [L]


class Report(NamedTuple):
    """What an episode reports of each step: K rewards at once. Mutable."""

    codes: IntArray  # [K]; `RewardCall.code`
    addresses: IntArray  # [K]
    ties: bool
    changes: int  # the most that any of them asks for
    values: LabelValues  # scratch space
    earned: FloatArray  # [K]


def new_label_values(n_labels: int) -> LabelValues:
    """All zero."""
    return LabelValues(np.zeros(n_labels), np.zeros(n_labels), np.zeros(n_labels))


def new_report(rewards: Sequence[str], ties: bool, n_labels: int) -> Report:
    """For the rewards of these names."""
    calls = [load_reward(name, ties=ties) for name in rewards]
    return Report(
        codes=np.array([call.code for call in calls], np.int64),
        addresses=np.array([call.address for call in calls], np.int64),
        ties=bool(ties),
        changes=max((call.changes for call in calls), default=NO_CHANGES),
        values=new_label_values(n_labels),
        earned=np.zeros(len(calls)),
    )


@inner
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


@inlined
def apply_reward(code: int, address: int, ties: bool, v: LabelValues) -> None:
    """The rewards of all labels from their costs and changes."""
    if code == CALL_DIFFERENCE:
        difference(v.costs, v.changes, ties, v.rewards)
    elif code == CALL_SIGN:
        sign(v.costs, v.changes, ties, v.rewards)
    elif code == CALL_SHAPED:
        shaped(v.costs, v.changes, ties, v.rewards)
    else:
        call_reward(address, v.costs, v.changes, len(v.costs), int(ties), v.rewards)  # type: ignore[call-arg]


@inlined
def rewards_of(
    a: Arrays, s: State, z: Completion, i: int, wanted: int, reward: RewardCall, v: LabelValues
) -> None:
    """The reward of every label of the unlabeled node i, or at least of `wanted`, if it is ≥ 0."""
    if reward.needs_costs:
        label_costs(a, s, i, v.costs)
    if reward.changes != NO_CHANGES:
        find_changes(a, s, z, i, wanted, reward.changes, v.changes)
    apply_reward(reward.code, reward.address, reward.ties, v)


@inlined
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
def take(a: Arrays, s: State, z: Completion, i: int, label: int, r: Report) -> None:
    """Label node i, and report what it earns by each of several rewards."""
    label_costs(a, s, i, r.values.costs)
    if r.changes != NO_CHANGES:
        find_changes(a, s, z, i, label, r.changes, r.values.changes)
    for k in range(len(r.earned)):
        apply_reward(r.codes[k], r.addresses[k], r.ties, r.values)
        r.earned[k] = r.values.rewards[label]
    assign(a, s, i, label)
    set_completed(a, z, i, label)
