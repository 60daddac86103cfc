"""What the learner regresses on: from an episode to steps of the replay memory.

`reward`      z = r_t + γ r_{t+1} + … + γ^n max_a Q(s_{t+n}, a), or to the end of the episode.
              With γ = 0 the rewards of all labels of the node are known at once, not only of the
              one that was taken (`backup="all"`): 21 targets for the price of one.
`hindsight`   z = +1 for the label that the node has in the lowest-energy labeling that was ever
              found for this instance, −1 for the others: credit from the end of the episode, HOP2
              included. The labelings come from the policy's own episodes, finished by local search
              (after self-imitation learning, Oh et al. 2018); a solver's may be put in first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from policrf.learn.experience.acting import Trail
from policrf.learn.experience.corpus import Instances
from policrf.learn.experience.replay import LabelArray, Steps, returns, states_before
from policrf.learn.options import Returns
from policrf.policy.kinds import INPUTS
from policrf.types import BoolArray, Float32Array, FloatArray, IntArray


class Regression(NamedTuple):
    """What Q-learning keeps with T steps; an array that is not wanted has no columns."""

    rewards: Float32Array  # [T, L]; of every label of the node (backup all)
    known: BoolArray  # [T, L]; which of them there are: a forbidden label has none
    returns: Float32Array  # [T]; of the label taken: the sum of the rewards looked ahead (taken)
    factors: Float32Array  # [T]; of the value after them
    views: Float32Array  # [T, L, 1 + D]; what a kind that sees costs saw at the node
    later_views: Float32Array  # [T, L, 1 + D]; and at the best node after the rewards (bootstrap)


def blank_regression(how: Returns, n_labels: int, *, sees_costs: bool) -> Regression:
    """A step of zeros, for the shapes."""
    later = n_labels if sees_costs and how.bootstrap else 0
    return Regression(
        rewards=np.zeros((1, n_labels if how.backup == "all" else 0), np.float32),
        known=np.zeros((1, n_labels if how.backup == "all" else 0), np.bool_),
        returns=np.zeros(1, np.float32),
        factors=np.zeros(1, np.float32),
        views=np.zeros((1, n_labels if sees_costs else 0, 1 + len(INPUTS)), np.float32),
        later_views=np.zeros((1, later, 1 + len(INPUTS)), np.float32),
    )


def steps_of(
    trail: Trail, instance: int, how: Returns, *, scale: float, keep: IntArray
) -> Steps[Regression]:
    """Some steps of an episode for the replay memory.

    Parameters
    ----------
    trail
        The episode.
    instance
        Its instance's number in the corpus.
    how
        Which rewards a value sums.
    scale
        Rewards are divided by it.
    keep
        The steps wanted.
    """
    count = len(trail.nodes)
    rewards = trail.rewards / np.float32(scale)
    blank = blank_regression(how, rewards.shape[1], sees_costs=bool(len(trail.views)))
    kept = {name: np.repeat(array, len(keep), axis=0) for name, array in blank._asdict().items()}
    if how.backup == "all":
        kept["rewards"], kept["known"] = rewards[keep], trail.known[keep]
    else:
        taken = taken_rewards(trail).astype(np.float64) / scale
        sums, factors = _sums(taken, how.discount, how.ahead)
        kept["returns"], kept["factors"] = _float32(sums[keep]), _float32(factors[keep])
    if len(trail.views):
        kept["views"] = trail.views[keep]
    if how.bootstrap and len(trail.views):
        kept["later_views"] = trail.best_views[np.minimum(keep + how.ahead, count - 1)]
    return Steps(
        instances=np.full(len(keep), instance, np.int64),
        nodes=trail.nodes[keep],
        labels=trail.labels[keep],
        states=states_before(trail.nodes, trail.labels, keep, count),
        actions=_following(trail, keep, how.ahead) if how.bootstrap else _no_actions(len(keep)),
        kept=Regression(**kept),
    )


def taken_rewards(trail: Trail) -> Float32Array:
    """Rewards of the labels taken `[T]`; a forbidden one earns the least that any other did."""
    at = np.arange(len(trail.nodes)), trail.labels
    earned, known = trail.rewards[at], trail.known[at]
    least = earned[known].min() if known.any() else np.float32(0)
    return np.where(known, earned, least).astype(np.float32)


def _following(trail: Trail, keep: IntArray, ahead: int) -> Any:
    """The next `ahead` actions and the best one after them `[len(keep), ahead + 1, 2]`."""
    count = len(trail.nodes)
    actions = np.full((len(keep), ahead + 1, 2), -1, np.int32)
    for k in range(ahead):
        inside = keep + k < count
        actions[inside, k, 0] = trail.nodes[keep[inside] + k]
        actions[inside, k, 1] = trail.labels[keep[inside] + k]
    actions[:, ahead] = trail.best[np.minimum(keep + ahead, count - 1)]
    return actions


def _no_actions(count: int) -> Any:
    return np.zeros((count, 0, 2), np.int32)


def _float32(array: FloatArray) -> Float32Array:
    return array.astype(np.float32)


def _sums(rewards: FloatArray, discount: float, ahead: int) -> tuple[FloatArray, FloatArray]:
    """Discounted sums of the next `ahead` rewards, and the factor of the value after them."""
    count = len(rewards)
    if ahead == 0:
        return returns(rewards, discount), np.zeros(count)
    sums = np.zeros(count)
    for k in range(min(ahead, count)):
        sums[: count - k] += discount**k * rewards[k:]
    factor = np.where(np.arange(count) + ahead < count, discount**ahead, 0.0)
    return sums, factor


def following_states(steps: Steps[Regression]) -> LabelArray:
    """The states that the kept actions lead to, `[T, N]`."""
    states = steps.states.copy()
    rows = np.arange(len(states))
    for k in range(steps.actions.shape[1] - 1):
        node, label = steps.actions[:, k, 0], steps.actions[:, k, 1]
        real = node >= 0
        states[rows[real], node[real]] = label[real]
    return states


class BestKnown:
    """The lowest-energy labeling found so far of every training instance."""

    def __init__(self, corpus: Instances) -> None:
        self.corpus = corpus
        self.energies: FloatArray = np.full(len(corpus), np.inf)
        self.labels: IntArray = np.concatenate(
            [np.argmin(instance.crf.unary, axis=1) for instance in corpus.instances]
        ).astype(np.int64)

    def offer(self, instance: int, labels: IntArray, energy: float) -> bool:
        """Keep the labeling if it is the best of its instance."""
        if energy >= self.energies[instance]:
            return False
        start, stop = self.corpus.starts[instance], self.corpus.starts[instance + 1]
        self.energies[instance] = energy
        self.labels[start:stop] = labels
        return True

    def of(self, instances: Sequence[int] | IntArray, nodes: IntArray) -> IntArray:
        """The labels of these nodes."""
        return np.asarray(self.labels[self.corpus.starts[np.asarray(instances)] + nodes])

    def state(self) -> dict[str, Any]:
        """What is known."""
        return {"energies": self.energies, "labels": self.labels}

    def restore(self, state: dict[str, Any]) -> None:
        """What `state` gave."""
        self.energies[:], self.labels[:] = state["energies"], state["labels"]
