"""Simulations, backup and decisions (appendix B2, Algorithm "Monte Carlo Tree Search Training").

A simulation selects actions from the root down to the depth limit, expanding the states it is the
first to reach; every action on its way gets a value added and is counted. The value of an action is
    rewards   the mean reward of the simulation's steps from it on (the paper looks no further);
    rollout   −E of the labeling that the greedy policy completes from where the simulation ends,
              which is then the first state it has not seen before.
The mean instead of the sum keeps values comparable where the kept statistics of an earlier root saw
fewer steps ahead. After n_sim simulations the action taken most is decided, and its state becomes
the root with its statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.mdp.tournament import champion
from policrf.policy.step import step, undo
from policrf.policy.work import LEAVES, ROWS, STEPS
from policrf.search.candidates import expand, set_priors
from policrf.search.options import GUMBEL_ROOT, ROLLOUT_LEAF
from policrf.search.select_action import (
    decide_gumbel,
    draw_noise,
    improved,
    most_visits,
    root_value,
    select,
)
from policrf.search.tree import (
    HIGH,
    LABEL,
    LOW,
    NODE,
    UNEXPANDED,
    Tree,
    add_state,
    borrow,
    find_edge,
    has_room,
    keep_subtree,
    most_taken,
    note_value,
)
from policrf.search.walk import (
    BEST_ENERGY,
    BORROW,
    DEPTH,
    ENGINE_AT,
    FOLLOW,
    GUMBEL_SCALE,
    LEAF,
    PLAN_AT,
    ROOT,
    SIMULATIONS,
    STATE_AT,
    STOP_EARLY,
    TEMPERATURE,
    Walk,
    move_engine,
    move_state,
    reward_of,
)
from policrf.types import FloatArray, IntArray

if TYPE_CHECKING:
    from policrf.policy.engine import Parts

BEST, NONE = -1, -2  # what `run` takes as an edge


class Decisions(NamedTuple):
    """What was decided so far, of T decisions in all. Mutable."""

    nodes: IntArray  # [T]
    labels: IntArray  # [T]


@inner
def back_up(t: Tree, states: IntArray, edges: IntArray, depth: int, outcome: float) -> None:
    """Add the values of a simulation of `depth` steps; `outcome` is its rollout's, or NaN."""
    total = 0.0
    if states[depth] >= 0:
        t.visits[states[depth]] += 1
    for k in range(depth - 1, -1, -1):
        state, edge = states[k], edges[k]
        value = outcome
        if np.isnan(outcome):
            total += t.reward[state, edge]
            value = total / (depth - k)
        if np.isinf(value):  # forbidden: as bad as anything seen so far
            value = t.bounds[LOW] if t.bounds[LOW] <= t.bounds[HIGH] else 0.0
        else:
            note_value(t, value)
        t.taken[state, edge] += 1
        t.total[state, edge] += value


@inner
def settled(t: Tree, remaining: int) -> bool:
    """Whether `remaining` further simulations cannot change which action is taken most."""
    first, second = 0, 0
    for k in range(t.n_actions[0]):
        taken = t.taken[0, k]
        if taken > first:
            first, second = taken, first
        elif taken > second:
            second = taken
    return first - second > remaining


@inner
def begin_decision(q: Walk) -> None:
    """Gumbel selection draws its noise; the root has its actions already."""
    draw_noise(q.numbers[GUMBEL_SCALE], q.generator, q.noise)
    for k in range(q.tree.n_actions[0]):
        q.before[k] = q.tree.taken[0, k]


@inner
def keep_best(labels: IntArray, energy: float, q: Walk, left: int) -> None:
    """Remember a rollout if it is the best so far: its labeling, and its last `left` nodes."""
    if energy < q.numbers[BEST_ENERGY]:
        q.numbers[BEST_ENERGY] = energy
        q.counters[PLAN_AT] = 0
        for i in range(len(labels)):
            q.best_labels[i] = labels[i]
        for t in range(left):
            q.plan[t] = q.trial[t]


@inner
def follow_plan(q: Walk, i: int, label: int) -> None:
    """A decision was taken: go on along the best rollout if it was the next action of that.

    Otherwise the rollout is left (PLAN_AT = −1).
    """
    at = q.counters[PLAN_AT]
    if at >= 0 and q.plan[at] == i and q.best_labels[i] == label:
        q.counters[PLAN_AT] += 1
    else:
        q.counters[PLAN_AT] = -1


@inner
def descend(a: Arrays, q: Walk, depth: int, limit: int) -> int:
    """Go on selecting until a state needs actions of its own, or `limit` is reached; the depth.

    No engine is needed: what the tree does not know is the reward of an action not taken before.
    """
    t = q.tree
    state = q.states[depth]
    while depth < limit and t.n_actions[state] != UNEXPANDED:
        if t.borrowed[state] and t.visits[state] >= q.settings[BORROW]:
            break
        if depth == 0 and q.counters[SIMULATIONS] == 0 and q.settings[ROOT] == GUMBEL_ROOT:
            begin_decision(q)
        t.visits[state] += 1
        k = select(q, state, depth)
        i, label = t.action[state, k, NODE], t.action[state, k, LABEL]
        q.edges[depth] = k
        q.path[depth, NODE], q.path[depth, LABEL] = i, label
        if np.isnan(t.reward[state, k]):
            move_state(a, q, depth)
            t.reward[state, k] = reward_of(a, q, i, label)
        depth += 1
        if t.child[state, k] < 0 and depth < limit and has_room(t):
            t.child[state, k] = add_state(t, t.taken[state, k])
            if q.settings[BORROW] and t.taken[state, k] == 0:
                borrow(t, state, k, t.child[state, k])
                set_priors(t, t.child[state, k], q.numbers[TEMPERATURE])
        state = t.child[state, k]
        q.states[depth] = state
        if state < 0:
            break
    return depth


@leaf
def tree_policy(q: Walk, out: FloatArray) -> int:
    """π_MCTS(a|root) into `out` [S]; returns how many actions there are.

    N(a|s) / Σ N(a|s); with Gumbel selection a softmax of score + σ(value).
    """
    t = q.tree
    count = t.n_actions[0]
    total = 0.0
    if q.settings[ROOT] == GUMBEL_ROOT:
        highest, most, unknown = -np.inf, most_visits(t), root_value(t)
        for k in range(count):
            out[k] = improved(t, k, q.numbers[TEMPERATURE], most, unknown)
            highest = max(highest, out[k])
        for k in range(count):
            out[k] = np.exp(out[k] - highest)
            total += out[k]
    else:
        for k in range(count):
            out[k] = t.taken[0, k]
            total += out[k]
    for k in range(count):
        out[k] /= total
    return int(count)


@inner
def best_edge(q: Walk) -> int:
    """What is decided when labeling: argmax π_MCTS, or the next action of the best rollout."""
    at = q.counters[PLAN_AT]
    if q.settings[FOLLOW] and q.numbers[BEST_ENERGY] < np.inf and at >= 0:
        i = q.plan[at]
        edge = find_edge(q.tree, 0, i, q.best_labels[i])
        if edge >= 0:
            return edge
    if q.settings[ROOT] == GUMBEL_ROOT:
        return decide_gumbel(q)
    return most_taken(q.tree, 0)


@inner
def roll_out(p: Parts, q: Walk, depth: int, left: int) -> float:
    """−E of the labeling that the greedy policy completes from `depth` actions of the path.

    `left` nodes are unlabeled at the root. The engine comes back to where the path ends.
    """
    n, g, a, s, z, w = p.net, p.graph, p.arrays, p.state, p.completion, p.work
    move_engine(n, g, a, s, z, w, q, depth)
    for k in range(left):
        if k < depth:
            q.trial[k] = q.path[k, NODE]
        else:
            q.trial[k] = champion(w.scores)
            step(n, g, a, s, z, w, q.trial[k], w.best[q.trial[k]])
    outcome = -np.inf if s.forbidden[0] else -s.total[0]
    keep_best(s.labels, -outcome, q, left)
    for _ in range(left - depth):
        undo(n, g, a, s, z, w)
    return float(outcome)


@inner
def simulate_once(p: Parts, q: Walk, left: int) -> None:
    """One simulation from the root, where `left` nodes are unlabeled."""
    n, g, a, s, z, w = p.net, p.graph, p.arrays, p.state, p.completion, p.work
    t, rollouts = q.tree, q.settings[LEAF] == ROLLOUT_LEAF
    limit = min(q.settings[DEPTH], left)
    depth = descend(a, q, 0, limit)
    while depth < limit and q.states[depth] >= 0:
        if rollouts and depth > 0 and t.visits[q.states[depth]] == 0:
            break
        move_engine(n, g, a, s, z, w, q, depth)
        expand(n, g, a, s, z, w, q, q.states[depth])
        depth = descend(a, q, depth, limit)
    outcome = roll_out(p, q, depth, left) if rollouts else np.nan
    back_up(t, q.states, q.edges, depth, outcome)
    q.counters[SIMULATIONS] += 1


@leaf
def run(
    p: Parts, q: Walk, d: Decisions, count: int, goal: int, edge: int, start: int, stop: int
) -> None:
    """`count` simulations and then a decision, for decisions `start` … `stop` − 1.

    `goal` is how many simulations a decision has in all. What is decided is slot `edge` of the
    root, or the best (BEST), or nothing (NONE). One kernel does it all: numba compiles the engine
    again for each kernel that calls it.
    """
    n, g, a, s, z, w = p.net, p.graph, p.arrays, p.state, p.completion, p.work
    t, early = q.tree, q.settings[STOP_EARLY] != 0
    for at in range(start, stop):
        for _ in range(count):
            if early and settled(t, goal - q.counters[SIMULATIONS]):
                break
            simulate_once(p, q, len(d.nodes) - at)
        if edge == NONE:
            return
        chosen = best_edge(q) if edge == BEST else edge
        i, label = t.action[0, chosen, NODE], t.action[0, chosen, LABEL]
        d.nodes[at], d.labels[at] = i, label
        q.path[0, NODE], q.path[0, LABEL] = i, label
        move_engine(n, g, a, s, z, w, q, 1)
        move_state(a, q, 1)
        follow_plan(q, i, label)
        q.counters[ENGINE_AT] = q.counters[STATE_AT] = q.counters[SIMULATIONS] = 0
        w.journal.used[STEPS] = w.journal.used[ROWS] = w.journal.used[LEAVES] = 0
        keep_subtree(t, chosen)
