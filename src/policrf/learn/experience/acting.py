"""Exploring episodes on the engine, with what learning wants to know of every step.

Beside the action taken (ε: `mdp.exploration`) each step notes the reward of *every* label of its
node, which the energy core gives at the price of one; what the residual kind sees of the node; and
the policy's best action at that moment, from which double Q-learning bootstraps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.mdp.completion import FORBIDDEN, Completion
from policrf.mdp.exploration import (
    EXPLOIT,
    Explorer,
    draw_set,
    explore,
    new_explorer,
    note_labeled,
    start_exploring,
)
from policrf.mdp.rewards import NO_CHANGES, RewardCall
from policrf.mdp.step_rewards import LabelValues, finite_rewards_of, new_label_values
from policrf.mdp.tournament import champion
from policrf.policy.conditional import label_inputs, margins, relative_costs
from policrf.policy.engine import Engine, Parts
from policrf.policy.kinds import INPUTS
from policrf.policy.net import COST_MODE
from policrf.policy.step import step
from policrf.random_numbers import Generator, new_generator
from policrf.travel import packed, unpacked
from policrf.types import FloatArray, IntArray

SLICE = 2000  # steps a kernel call takes


class Trail(NamedTuple):
    """The T steps of an episode. Mutable: `play` fills it."""

    nodes: IntArray  # [T]
    labels: IntArray  # [T]
    sets: IntArray  # [T]; which set the action came from (`mdp.exploration.SETS`)
    rewards: NDArray[np.float32]  # [T, L]; the chosen reward for every label of the node
    known: NDArray[np.bool_]  # [T, L]; whether that reward is one: no hard term forbids the label
    views: NDArray[np.float32]  # [T, L, 1 + D]; margin and inputs of the residual kind, at the node
    best: IntArray  # [T, 2]; the policy's best (node, label) before the step
    best_views: NDArray[np.float32]  # [T, L, 1 + D]; what it sees there
    energy: FloatArray  # [1]; of the labeling at the end
    values: LabelValues  # scratch space
    margins: FloatArray  # [L]; scratch space
    inputs: NDArray[np.float32]  # [L, D]; scratch space

    def __reduce__(self) -> tuple[Any, ...]:
        # Scratch space stays behind, and bits travel as bits.
        kept = (self.nodes, self.labels, self.sets, self.rewards, self.views, self.best)
        more = (self.best_views, self.energy, np.packbits(self.known))
        return _arrived, tuple(map(packed, (*kept, *more)))


def _arrived(*parts: Any) -> Trail:
    nodes, labels, sets, rewards, views, best, best_views, energy, bits = map(unpacked, parts)
    known = np.unpackbits(bits, count=rewards.size).reshape(rewards.shape).astype(np.bool_)
    blank = new_trail(0, rewards.shape[1], views=False, best_views=False)
    return blank._replace(
        nodes=nodes, labels=labels, sets=sets, rewards=rewards, known=known, views=views, best=best,
        best_views=best_views, energy=energy,
    )  # fmt: skip


def new_trail(n_steps: int, n_labels: int, *, views: bool, best_views: bool) -> Trail:
    """Room for an episode; views are kept only where they are wanted."""
    width = 1 + len(INPUTS)
    return Trail(
        nodes=np.zeros(n_steps, np.int64),
        labels=np.zeros(n_steps, np.int64),
        sets=np.zeros(n_steps, np.int64),
        rewards=np.zeros((n_steps, n_labels), np.float32),
        known=np.ones((n_steps, n_labels), np.bool_),
        views=np.zeros((n_steps if views else 0, n_labels, width), np.float32),
        best=np.zeros((n_steps, 2), np.int64),
        best_views=np.zeros((n_steps if best_views else 0, n_labels, width), np.float32),
        energy=np.zeros(1),
        values=new_label_values(n_labels),
        margins=np.zeros(n_labels),
        inputs=np.zeros((n_labels, len(INPUTS)), np.float32),
    )


def play(
    engine: Engine, *, epsilon: float, seed: int, reward: RewardCall, best_views: bool = False
) -> Trail:
    """One episode from the empty labeling.

    Parameters
    ----------
    engine
        A policy on an instance; its state is lost.
    epsilon
        Probability of the policy's best action.
    seed
        Of the exploration.
    reward
        What every label of a step's node is rewarded by (`mdp.rewards.load_reward`).
    best_views
        Whether to note what the residual kind sees at its best action too.
    """
    engine.reset()
    crf = engine.instance.crf
    explorer = new_explorer(crf)
    generator = new_generator(seed)
    start_exploring(engine.parts.graph, explorer, engine.parts.state.labels, generator)
    residual = engine.policy.spec.sees_costs
    trail = new_trail(crf.n_nodes, crf.n_labels, views=residual, best_views=residual and best_views)
    for start in range(0, crf.n_nodes, SLICE):
        stop = min(start + SLICE, crf.n_nodes)
        play_steps(engine.parts, explorer, generator, float(epsilon), reward, trail, start, stop)
    raise_if_failed()
    trail.energy[0] = crf.energy(engine.labels)
    return trail


@leaf
def play_steps(
    p: Parts, e: Explorer, generator: Generator, epsilon: float, reward: RewardCall, r: Trail,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Steps `start` … `stop` − 1 of an episode."""
    n, g, a, s, z, w = p.net, p.graph, p.arrays, p.state, p.completion, p.work
    for t in range(start, stop):
        chosen = draw_set(generator, epsilon)
        best = champion(w.scores)
        r.best[t, 0], r.best[t, 1] = best, w.best[best]
        i, label = best, -1
        if chosen != EXPLOIT:
            i, label = explore(a, s, e, chosen, False, generator)
        if label < 0:
            label = w.best[i]
        r.nodes[t], r.labels[t], r.sets[t] = i, label, chosen
        if len(r.best_views):
            look(a, n.sizes[COST_MODE], s, z, best, r, r.best_views, t)
        if len(r.views):
            look(a, n.sizes[COST_MODE], s, z, i, r, r.views, t)
        finite_rewards_of(a, s, z, i, reward, r.values, r.rewards[t])
        note_known(reward, r.values, r.known[t])
        step(n, g, a, s, z, w, i, label)
        note_labeled(g, e, i)


@leaf
def note_known(reward: RewardCall, v: LabelValues, known: NDArray[np.bool_]) -> None:
    """Which labels [L] have a reward: neither they nor the completed labeling are forbidden."""
    for label in range(len(known)):
        known[label] = np.isfinite(v.costs[label]) and (
            reward.changes == NO_CHANGES or abs(v.changes[label]) < FORBIDDEN / 2
        )


@leaf
def look(
    a: Arrays,
    mode: int,
    s: State,
    z: Completion,
    i: int,
    r: Trail,
    views: NDArray[np.float32],
    t: int,
) -> None:
    """What the residual kind sees at the unlabeled node i into `views[t]`."""
    relative_costs(a, mode, s, z, i, r.values.costs)
    margins(r.values.costs, r.margins)
    label_inputs(a, s, z, i, r.margins, r.inputs)
    for label in range(views.shape[1]):
        views[t, label, 0] = r.margins[label]
        for column in range(r.inputs.shape[1]):
            views[t, label, 1 + column] = r.inputs[label, column]
