"""Few instances: every one is judged, by a policy that has not seen it.

The instances are dealt into folds; a policy is learned on all folds but one and labels that one,
with all of its `trust` and with less. `trust` is chosen from a short list: that with which the
labels are most surely better than those of the opponents. So that nothing is judged by a choice
that it had a part in, each fold is judged at the trust that the other folds choose; the policy that
is published is learned on all instances, at the trust that all of them choose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from policrf.crf.instance import Instance
from policrf.learn.label_score import confusions_of, fewer_misses
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy
from policrf.types import IntArray

FOLDS = 4
TRUSTS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
Confusions = list[IntArray]  # of every instance


@dataclass(frozen=True)
class CrossFitted:
    """Labels of every instance by policies that have not seen it."""

    labelings: list[IntArray]
    """At the trust that the other folds choose."""
    trust: float
    """That all folds choose."""


def fold_of(count: int) -> IntArray:
    """The fold of each instance, drawn at random, as evenly as can be `[count]`."""
    order = np.random.default_rng(0).permutation(count)
    folds = np.empty(count, np.int64)
    folds[order] = np.arange(count) % FOLDS
    return folds


def cross_fit(
    instances: Sequence[Instance],
    learn_without: Callable[[int, list[Instance]], Policy],
    opponents: Sequence[Confusions],
) -> CrossFitted:
    """Learn a policy for every fold, and label the fold with it.

    Parameters
    ----------
    instances
        All of them, with truth.
    learn_without
        Gives a policy, from the number of a fold and the instances outside it.
    opponents
        Confusions of the same instances by those whose labels are to be beaten.
    """
    folds = fold_of(len(instances))
    labelings: dict[float, list[IntArray]] = {
        trust: [np.zeros(0, np.int64)] * len(instances) for trust in TRUSTS
    }
    for fold in range(FOLDS):
        policy = learn_without(fold, [instances[k] for k in np.flatnonzero(folds != fold).tolist()])
        for trust in TRUSTS:
            weighed = with_trust(policy, trust)
            for k in np.flatnonzero(folds == fold).tolist():
                labelings[trust][k] = Engine(weighed, instances[k], track=False).label_all()[0]
    confusions = {trust: confusions_of(instances, found) for trust, found in labelings.items()}
    judged = list(labelings[TRUSTS[0]])
    for fold in range(FOLDS):
        trust = surest_trust(confusions, opponents, np.flatnonzero(folds != fold))
        for k in np.flatnonzero(folds == fold).tolist():
            judged[k] = labelings[trust][k]
    return CrossFitted(judged, surest_trust(confusions, opponents, np.arange(len(instances))))


def surest_trust(
    confusions: dict[float, Confusions], opponents: Sequence[Confusions], chosen: IntArray
) -> float:
    """The trust whose worst limit against the opponents, on the chosen instances, is best."""

    def worst(trust: float) -> float:
        ours = [confusions[trust][k] for k in chosen]
        return max(fewer_misses(ours, [them[k] for k in chosen]).limit for them in opponents)

    return min(confusions, key=worst)


def with_trust(policy: Policy, trust: float) -> Policy:
    """The policy with this much of what it learned."""
    return replace(policy, spec=replace(policy.spec, trust=trust))
