"""States that the shared kind learns from: nodes of one instance, and what is seen there.

Two states of an episode that the policy played by itself: the empty one with all nodes, and one
from somewhere along the way with the nodes decided next. A node is asked for its label when its
turn comes, after labels that the policy gives, not in states that only a teacher would reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.crf.changes import load_labels
from policrf.crf.instance import Instance
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.learn.experience.self_play import rewards_at
from policrf.mdp.completion import Completion, complete, new_completion
from policrf.mdp.rewards import RewardCall
from policrf.mdp.state import default_labels
from policrf.mdp.step_rewards import new_label_values
from policrf.policy.engine import Engine
from policrf.policy.network import Spec
from policrf.policy.shared.state_views import view_states
from policrf.types import Float32Array, IntArray

NEXT = 0.125  # part of the nodes that is asked for in a state along the way
FEWEST = 8
HIGHEST_COST = 30.0  # over the lowest of a node; forbidden labels have this


class Seen(NamedTuple):
    """M decisions of one instance."""

    instance: int
    nodes: IntArray  # [M]
    costs: Float32Array  # [M, L]; over the lowest of a node
    inputs: Float32Array  # [M, L, D]; without the margin
    labels: IntArray  # [N]; where the episode ended, or what local search made of that
    energy: float  # of these labels; +inf where nobody asks
    rewards: Float32Array = np.zeros((0, 0), np.float32)  # [M, L]; where they are learned


def play_states(engine: Engine, which: int, generator: np.random.Generator) -> Seen:
    """Label instance number `which` greedily, and look at the start and along the way."""
    engine.reset()
    labels, order, _ = engine.label_all()
    return look_along(engine, which, order, labels, generator)


def look_along(
    engine: Engine, which: int, order: IntArray, labels: IntArray, generator: np.random.Generator,
    reward: RewardCall | None = None,
) -> Seen:  # fmt: skip
    """Look at the start and along the way of an episode that was played.

    Parameters
    ----------
    engine
        Of the instance; what it foresees is looked at, its labels are not.
    which
        The instance's number.
    order
        The nodes in the order of the episode `[N]`.
    labels
        Where it ended `[N]`.
    generator
        Draws the state along the way.
    reward
        What every label of the nodes is rewarded by in these states; none if not given.
    """
    instance, spec = engine.instance, engine.policy.spec
    state, completion = new_state(instance.crf.arrays), engine.parts.completion
    n_nodes = instance.crf.n_nodes
    empty = np.full(n_nodes, -1, np.int64)
    step = int(generator.integers(n_nodes))
    rest = order[step : step + max(FEWEST, int(NEXT * n_nodes))]
    prefix = empty.copy()
    prefix[order[:step]] = labels[order[:step]]
    asked = ((empty, np.arange(n_nodes)), (prefix, rest))
    parts = [_look(spec, instance, state, completion, *pair) for pair in asked]
    nodes, costs, inputs = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    seen = Seen(which, nodes, costs, inputs, labels, np.inf)
    if reward is None:
        return seen
    rewards = [_rewards(instance, state, *pair, reward) for pair in asked]
    return seen._replace(rewards=np.concatenate(rewards))


def _rewards(
    instance: Instance, state: State, labels: IntArray, nodes: IntArray, reward: RewardCall
) -> Float32Array:
    """Of every label of the nodes in a state `[M, L]`."""
    crf = instance.crf
    out = np.zeros((len(nodes), crf.n_labels), np.float32)
    completion = new_completion(crf.arrays, default_labels(crf))
    values = new_label_values(crf.n_labels)
    rewards_at(crf.arrays, state, completion, labels, nodes, reward, values, out)
    raise_if_failed()
    return out


def _look(
    spec: Spec, instance: Instance, state: State, completion: Completion, labels: IntArray,
    nodes: IntArray,
) -> tuple[IntArray, Float32Array, Float32Array]:  # fmt: skip
    load_labels(instance.crf.arrays, state, labels)
    complete(instance.crf.arrays, completion, labels)
    costs, inputs = view_states(spec, instance, state, completion)
    raise_if_failed()
    chosen = costs[nodes]
    lowest = chosen.min(axis=1, keepdims=True)
    lowest[np.isinf(lowest)] = 0.0  # every label is forbidden by now
    over = np.minimum(chosen - lowest, HIGHEST_COST)
    return nodes, over.astype(np.float32), inputs[nodes]
