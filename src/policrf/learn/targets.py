"""What the learner regresses on: from an episode to steps of the replay memory.

`reward`      z = r_t + γ r_{t+1} + … + γ^n max_a Q(s_{t+n}, a), or to the end of the episode.
              With γ = 0 the rewards of all labels of the node are known at once, not only of the
              one that was taken (`backup="all"`): 21 targets for the price of one.
`hindsight`   z = +1 for the label that the node has in the lowest-energy labeling that was ever
              found for this instance, −1 for the others: credit from the end of the episode, HOP2
              included. The labelings come from the policy's own episodes, finished by local search
              (after self-imitation learning, Oh et al. 2018); a solver's may be put in first.
`advantage`   z = what the final energy gains if a label is given now and the policy goes on from
              there, against the policy going on without it (`advantage.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.learn.acting import Trail
from policrf.learn.corpus import Corpus
from policrf.learn.replay import Steps, returns, states_before
from policrf.policy.network import INPUTS
from policrf.types import FloatArray, IntArray

TARGETS = ("reward", "hindsight", "advantage")
BACKUPS = ("all", "taken")


def bootstraps(backup: str, discount: float, ahead: int) -> bool:
    """Whether targets hold values of later states."""
    return backup == "taken" and discount > 0 and ahead > 0


def n_values(n_labels: int, *, backup: str, residual: bool, bootstrap: bool) -> int:
    """How many numbers `steps_of` keeps with a step."""
    views = n_labels * (1 + len(INPUTS)) if residual else 0
    return (n_labels if backup == "all" else 2) + views * (2 if bootstrap else 1)


def steps_of(
    trail: Trail, instance: int, n_nodes: int, *,
    backup: str, discount: float, ahead: int, scale: float, keep: IntArray,
) -> Steps:  # fmt: skip
    """The steps `keep` of an episode for the replay memory.

    Parameters
    ----------
    ahead: rewards summed before bootstrapping; 0 = to the end, without bootstrapping.
    scale: rewards are divided by it.
    """
    count = len(trail.nodes)
    rewards = trail.rewards / np.float32(scale)
    parts: list[Any] = []
    actions = np.full(
        (len(keep), ahead + 1 if bootstraps(backup, discount, ahead) else 0, 2), -1, np.int32
    )
    if backup == "all":
        parts.append(rewards[keep])
    else:
        taken = rewards[np.arange(count), trail.labels].astype(np.float64)
        sums, factor = _sums(taken, discount, ahead)
        parts.append(np.stack([sums, factor], axis=1)[keep])
    if len(trail.views):
        parts.append(trail.views[keep].reshape(len(keep), -1))
    if actions.shape[1]:
        later = np.minimum(keep + ahead, count - 1)
        for k in range(ahead):
            inside = keep + k < count
            actions[inside, k, 0] = trail.nodes[keep[inside] + k]
            actions[inside, k, 1] = trail.labels[keep[inside] + k]
        actions[:, ahead] = trail.best[later]
        if len(trail.views):
            parts.append(trail.best_views[later].reshape(len(keep), -1))
    return Steps(
        np.full(len(keep), instance, np.int64),
        trail.nodes[keep],
        trail.labels[keep],
        states_before(trail.nodes, trail.labels, keep, n_nodes),
        np.concatenate(parts, axis=1).astype(np.float32),
        actions,
    )


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


def following_states(steps: Steps) -> NDArray[np.int16]:
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

    def __init__(self, corpus: Corpus) -> None:
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
