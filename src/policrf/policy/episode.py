"""Whole episodes in one kernel: greedy labeling (the paper's Algorithm 1) and exploring play."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import State, label_costs
from policrf.mdp.completion import Completion
from policrf.mdp.exploration import EXPLOIT, Explorer, draw_set, explore, note_labeled
from policrf.mdp.graph import Graph
from policrf.mdp.rewards import label_rewards
from policrf.mdp.tournament import champion
from policrf.policy.net import Net
from policrf.policy.scoring import score_node
from policrf.policy.step import step
from policrf.policy.work import Work
from policrf.random_numbers import Generator
from policrf.types import FloatArray, IntArray


class Record(NamedTuple):
    """T steps of an episode. Mutable: `play` fills it."""

    nodes: IntArray  # [T]
    labels: IntArray  # [T]
    scores: FloatArray  # [T]; the policy's score of the action taken
    sets: IntArray  # [T]; which set the action was drawn from (`mdp.exploration.SETS`)
    rewards: FloatArray  # [T, 3]; by `mdp.rewards.REWARDS`
    unary_rewards: FloatArray  # [T, 3]; what the node's unary argmin would have earned there


def new_record(n_steps: int) -> Record:
    """Room for `n_steps` steps."""
    whole = [np.zeros(n_steps, np.int64) for _ in range(3)]
    rewards = [np.zeros((n_steps, 3)) for _ in range(2)]
    return Record(whole[0], whole[1], np.zeros(n_steps), whole[2], rewards[0], rewards[1])


@leaf
def advance(
    n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work,
    order: IntArray, labels: IntArray, scores: FloatArray, start: int, stop: int, forced: bool,
) -> None:  # fmt: skip
    """Steps `start` … `stop` − 1: the policy's best, noted in the arrays, or those noted there."""
    for t in range(start, stop):
        if not forced:
            order[t] = champion(w.scores)
            labels[t] = w.best[order[t]]
            scores[t] = w.scores.values[order[t]]
        step(n, g, a, s, z, w, order[t], labels[t])


@leaf
def play(
    n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, e: Explorer,
    generator: Generator, epsilon: float, random_labels: bool, ties: bool,
    r: Record, start: int, stop: int,
) -> None:  # fmt: skip
    """Steps `start` … `stop` − 1: the policy's best with probability ε, else an encouraged one."""
    costs = w.costs[0]
    for t in range(start, stop):
        chosen = draw_set(generator, epsilon)
        i, label = champion(w.scores), -1
        if chosen != EXPLOIT:
            i, label = explore(a, s, e, chosen, random_labels, generator)
        if label < 0:
            label = w.best[i]
        r.nodes[t], r.labels[t], r.sets[t] = i, label, chosen
        r.scores[t] = w.scores.values[i]
        if label != w.best[i]:
            score_node(n, g, a, s, z, w, i)
            r.scores[t] = w.costs[2, label]
        label_costs(a, s, i, costs)
        label_rewards(a, s, z, i, e.unary_labels[i], ties, costs, r.unary_rewards[t])
        label_rewards(a, s, z, i, label, ties, costs, r.rewards[t])
        step(n, g, a, s, z, w, i, label)
        note_labeled(g, e, i)
