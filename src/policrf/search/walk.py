"""Where the search stands: the settings, the path of a simulation, and what follows it.

A simulation walks down states that the tree knows already, where every number it needs is stored.
Only a new action's reward needs the energy at that state, and only a new state's priors need the
engine there. So both follow the path on demand, each from wherever it stands: they go back to the
last state in common and forward from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.changes import assign, unassign
from policrf.crf.state import State
from policrf.mdp.completion import Completion, set_completed
from policrf.mdp.exploration import Explorer, note_labeled, note_unlabeled
from policrf.mdp.graph import Graph
from policrf.mdp.rewards import RewardCall
from policrf.mdp.step_rewards import LabelValues, rewards_of
from policrf.policy.net import Net
from policrf.policy.step import step, undo
from policrf.policy.work import Work
from policrf.random_numbers import Generator
from policrf.search.tree import LABEL, NODE, Tree
from policrf.types import FloatArray, IntArray

# Entries of Walk.settings.
DEPTH, LEAF, ROOT, CANDIDATES, ENCOURAGED, STOP_EARLY, FOLLOW, BORROW, SCALED = range(9)
# Entries of Walk.numbers.
EXPLORATION, TEMPERATURE, GUMBEL_SCALE, CERTAINTY, BEST_ENERGY, LOWEST = 0, 1, 2, 3, 4, 5
# Entries of Walk.counters.
SIMULATIONS, ENGINE_AT, STATE_AT, ENGINE_STEPS, EXPANDED, PLAN_AT = 0, 1, 2, 3, 4, 5


class Walk(NamedTuple):
    """D = depth limit, S slots, N nodes, L labels. Mutable."""

    settings: IntArray  # [9]
    numbers: FloatArray  # [6]; CERTAINTY is Σ exp(−S_j) over the nodes unlabeled at the engine,
    # LOWEST what the lowest value counts in PUCB, the highest 1
    counters: IntArray  # [6]; simulations of this decision; how far engine and energy are along
    reward: RewardCall
    tree: Tree
    explorer: Explorer  # follows the engine
    state: State  # follows the path on its own, for rewards
    completion: Completion
    generator: Generator
    path: IntArray  # [D, 2]; the actions of the simulation
    states: IntArray  # [D + 1]; the states it passed
    edges: IntArray  # [D]; the slots it took
    engine_path: IntArray  # [D, 2]
    state_path: IntArray  # [D, 2]
    frontier: IntArray  # scratch space of `next_best`
    values: LabelValues  # scratch space
    noise: FloatArray  # [S]; Gumbel noise of the root's actions
    before: IntArray  # [S]; N(a|root) when the decision began
    schedule: IntArray  # [n_sim]; `selection.halving_schedule`
    best_labels: IntArray  # [N]; of the best rollout so far
    plan: IntArray  # [N]; its nodes in order, from entry PLAN_AT on those after the root
    trial: IntArray  # [N]; the nodes of the rollout under way


@inner
def in_common(one: IntArray, length: int, other: IntArray, depth: int) -> int:
    """How many actions two paths share from the start."""
    k = 0
    while (
        k < min(length, depth)
        and one[k, NODE] == other[k, NODE]
        and one[k, LABEL] == other[k, LABEL]
    ):
        k += 1
    return k


@inner
def move_engine(
    n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, q: Walk, depth: int
) -> None:
    """Bring the engine, and what M1 and M2 are read from, to `depth` actions of the path."""
    e, at = q.explorer, q.counters
    shared = in_common(q.engine_path, at[ENGINE_AT], q.path, depth)
    while at[ENGINE_AT] > shared:
        i = undo(n, g, a, s, z, w)
        note_unlabeled(g, e, i)
        q.numbers[CERTAINTY] += np.exp(-e.entropy[i])
        at[ENGINE_AT] -= 1
    while at[ENGINE_AT] < depth:
        k = at[ENGINE_AT]
        i = q.path[k, NODE]
        step(n, g, a, s, z, w, i, q.path[k, LABEL])
        note_labeled(g, e, i)
        q.numbers[CERTAINTY] -= np.exp(-e.entropy[i])
        q.engine_path[k, NODE], q.engine_path[k, LABEL] = i, q.path[k, LABEL]
        at[ENGINE_AT] += 1
        at[ENGINE_STEPS] += 1


@inner
def move_state(a: Arrays, q: Walk, depth: int) -> None:
    """Bring the energy to `depth` actions of the path."""
    s, z, at = q.state, q.completion, q.counters
    shared = in_common(q.state_path, at[STATE_AT], q.path, depth)
    while at[STATE_AT] > shared:
        at[STATE_AT] -= 1
        i = q.state_path[at[STATE_AT], NODE]
        unassign(a, s, i)
        set_completed(a, z, i, z.default[i])
    while at[STATE_AT] < depth:
        k = at[STATE_AT]
        i, label = q.path[k, NODE], q.path[k, LABEL]
        assign(a, s, i, label)
        set_completed(a, z, i, label)
        q.state_path[k, NODE], q.state_path[k, LABEL] = i, label
        at[STATE_AT] += 1


@inner
def reward_of(a: Arrays, q: Walk, i: int, label: int) -> float:
    """The chosen reward of an action where the energy stands; −inf if it is forbidden there."""
    rewards_of(a, q.state, q.completion, i, label, q.reward, q.values)
    return float(q.values.rewards[label])
