"""Self-play: an episode in which every decision follows a search (appendix B2, the algorithm).

Before each decision n_sim simulations of depth d_sim; the action is drawn from π_MCTS (Gumbel
selection draws by its noise). Of every decision the root is kept: its actions, how often each was
taken and what it was worth on average, and the reward of every label of the node decided.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import assign, load_labels
from policrf.crf.state import State, new_state
from policrf.mdp.completion import Completion, complete, new_completion, set_completed
from policrf.mdp.rewards import RewardCall, load_reward
from policrf.mdp.state import default_labels
from policrf.mdp.step_rewards import LabelValues, finite_rewards_of, new_label_values
from policrf.search.search import TreeSearch
from policrf.travel import packed, unpacked
from policrf.types import IntArray


class Game(NamedTuple):
    """One episode: T decisions, S slots, L labels."""

    instance: int
    nodes: IntArray  # [T]
    labels: IntArray  # [T]
    actions: NDArray[np.int32]  # [T, S, 2]; the root's actions, −1 = none
    policy: NDArray[np.float32]  # [T, S]; π_MCTS
    values: NDArray[np.float32]  # [T, S]; mean value of an action; NaN if it was never taken
    depths: NDArray[np.float32]  # [T]; steps that a simulation could take
    rewards: NDArray[np.float32]  # [T, L]; of every label of the decided node
    energy: float
    refined: IntArray | None  # the labeling after local search, where hindsight wants it
    refined_energy: float

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, tuple(map(packed, self))


def _arrived(*parts: Any) -> Game:
    return Game(*map(unpacked, parts))


def play_game(search: TreeSearch, *, which: int, seed: int, refine: bool, slots: int = 0) -> Game:
    """One episode from the empty labeling on instance number `which`.

    Roots have room for `slots` actions, or for as many as the options keep.
    """
    search.reset(seed=seed)
    options, crf = search.options, search.instance.crf
    count, slots = search.remaining, slots or options.slots
    actions = np.full((count, slots, 2), -1, np.int32)
    targets = np.zeros((count, slots), np.float32)
    values = np.full((count, slots), np.nan, np.float32)
    for t in range(count):
        search.simulate()
        found, probability = search.tree_policy()
        actions[t, : len(found)], targets[t, : len(found)] = found, probability
        values[t, : len(found)] = search.root_values()
        search.commit(draw=True)
    rewards = np.zeros((count, crf.n_labels), np.float32)
    rewards_along(
        crf.arrays, new_state(crf.arrays), new_completion(crf.arrays, default_labels(crf)),
        search.order, search.labels, load_reward(options.reward, ties=options.ties),
        new_label_values(crf.n_labels), rewards,
    )  # fmt: skip
    labels = search.engine.labels
    refined, refined_energy = None, float("inf")
    if refine:
        from policrf.solvers.refine.refine_rounds import refine_labels

        refined = refine_labels(crf, labels)
        refined_energy = crf.energy(refined)
    depths = np.minimum(options.depth, count - np.arange(count)).astype(np.float32)
    return Game(
        instance=which,
        nodes=search.order,
        labels=search.labels,
        actions=actions,
        policy=targets,
        values=values,
        depths=depths,
        rewards=rewards,
        energy=crf.energy(labels),
        refined=refined,
        refined_energy=refined_energy,
    )


@leaf
def rewards_along(
    a: Arrays, s: State, z: Completion, nodes: IntArray, labels: IntArray, reward: RewardCall,
    values: LabelValues, out: NDArray[np.float32],
) -> None:  # fmt: skip
    """The reward of every label of each decided node [T, L], in the state it was decided in."""
    for t in range(len(nodes)):
        finite_rewards_of(a, s, z, nodes[t], reward, values, out[t])
        assign(a, s, nodes[t], labels[t])
        set_completed(a, z, nodes[t], labels[t])


@leaf
def rewards_at(
    a: Arrays, s: State, z: Completion, labels: IntArray, nodes: IntArray, reward: RewardCall,
    values: LabelValues, out: NDArray[np.float32],
) -> None:  # fmt: skip
    """The reward of every label of some nodes [R] in the state `labels` [N], into `out` [R, L]."""
    load_labels(a, s, labels)
    complete(a, z, labels)
    for k in range(len(nodes)):
        finite_rewards_of(a, s, z, nodes[k], reward, values, out[k])
