"""The statistics tree in arrays (appendix B2): N(s), N(a|s) and r̃(s, a), no objects, no recursion.

State 0 is the root; a state's actions are the first `n_actions` of its S slots. A state has a
higher number than its parent, so one pass in order of the numbers finds a subtree, and keeping a
subtree (the chosen child becomes the root) moves every state to a lower number, in place.

A state may borrow its parent's actions at first, scores included: a label changes the scores of few
nodes, and most states are hardly ever reached again. A state that is reached again gets actions of
its own, with all counts at 0: what was taken by its parent's scores would be ahead of what its own
scores favour.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.types import FloatArray, IntArray

NODE, LABEL = 0, 1  # columns of Tree.action
LOW, HIGH = 0, 1  # entries of Tree.bounds
UNEXPANDED = -1  # in Tree.n_actions
M1_BONUS, M2_BONUS, M3_BONUS = 0, 1, 2  # columns of Tree.bonus
N_BONUSES = 3


class Tree(NamedTuple):
    """Room for M states with S actions each. Mutable."""

    used: IntArray  # [1]; states in the tree
    bounds: FloatArray  # [2]; lowest and highest value that was backed up below the root
    visits: IntArray  # [M]; N(s), how often the state was reached
    n_actions: IntArray  # [M]; its actions, or UNEXPANDED
    borrowed: IntArray  # [M]; 1 if they are its parent's
    action: IntArray  # [M, S, 2]; node and label
    score: FloatArray  # [M, S]; the policy's
    prior: FloatArray  # [M, S]; π_θ(a|s), a softmax over the actions in the tree
    bonus: FloatArray  # [M, S, N_BONUSES]; M1, M2 and M3
    taken: IntArray  # [M, S]; N(a|s)
    total: FloatArray  # [M, S]; r̃(s, a), the sum of the values of all simulations through it
    reward: FloatArray  # [M, S]; of the action itself; NaN until it is taken first
    child: IntArray  # [M, S]; the state it leads to; −1 until a simulation goes on from there
    place: IntArray  # [M]; scratch space of `keep_subtree`


def new_tree(n_states: int, n_slots: int) -> Tree:
    """A tree of one unexpanded state."""
    slots = (n_states, n_slots)
    tree = Tree(
        used=np.zeros(1, np.int64),
        bounds=np.zeros(2),
        visits=np.zeros(n_states, np.int64),
        n_actions=np.zeros(n_states, np.int64),
        borrowed=np.zeros(n_states, np.int64),
        action=np.zeros((*slots, 2), np.int64),
        score=np.zeros(slots),
        prior=np.zeros(slots),
        bonus=np.zeros((*slots, N_BONUSES)),
        taken=np.zeros(slots, np.int64),
        total=np.zeros(slots),
        reward=np.zeros(slots),
        child=np.zeros(slots, np.int64),
        place=np.zeros(n_states, np.int64),
    )
    start_tree(tree, 0)
    return tree


@leaf
def start_tree(t: Tree, visits: int) -> None:
    """Forget everything; the root was reached `visits` times."""
    t.used[0] = 0
    t.bounds[LOW], t.bounds[HIGH] = np.inf, -np.inf
    add_state(t, visits)


@inner
def add_state(t: Tree, visits: int) -> int:
    """A new unexpanded state; returns its number."""
    state = t.used[0]
    t.used[0] += 1
    t.visits[state] = visits
    t.n_actions[state] = UNEXPANDED
    t.borrowed[state] = 0
    return int(state)


@inner
def has_room(t: Tree) -> bool:
    """Whether a further state fits."""
    return bool(t.used[0] < len(t.visits))


@inner
def borrow(t: Tree, parent: int, edge: int, state: int) -> None:
    """Give a new state the actions of its parent but for the node that the edge labels.

    If these are none, the state stays without.
    """
    gone, count = t.action[parent, edge, NODE], 0
    for k in range(t.n_actions[parent]):
        if t.action[parent, k, NODE] != gone:
            copy_prior(t, parent, k, state, count)
            start_edge(t, state, count)
            count += 1
    if count:
        t.n_actions[state] = count
        t.borrowed[state] = 1


@inner
def add_edge(t: Tree, state: int, node: int, label: int, score: float) -> None:
    """A further action of a state, not taken yet."""
    k = t.n_actions[state]
    t.n_actions[state] += 1
    t.action[state, k, NODE], t.action[state, k, LABEL] = node, label
    t.score[state, k] = score
    start_edge(t, state, k)


@inner
def start_edge(t: Tree, state: int, k: int) -> None:
    """The action in slot k was not taken yet."""
    t.taken[state, k] = 0
    t.total[state, k] = 0.0
    t.reward[state, k] = np.nan
    t.child[state, k] = -1


@inner
def find_edge(t: Tree, state: int, node: int, label: int) -> int:
    """The slot of an action; −1 if the state does not have it."""
    for k in range(t.n_actions[state]):
        if t.action[state, k, NODE] == node and t.action[state, k, LABEL] == label:
            return k
    return -1


@inner
def note_value(t: Tree, value: float) -> None:
    """Widen the bounds, by which values are scaled."""
    t.bounds[LOW] = min(t.bounds[LOW], value)
    t.bounds[HIGH] = max(t.bounds[HIGH], value)


@inner
def scaled(t: Tree, value: float) -> float:
    """The value on the scale of the tree's own: 0 the lowest, 1 the highest; ½ if all are alike."""
    width = t.bounds[HIGH] - t.bounds[LOW]
    return float((value - t.bounds[LOW]) / width) if width > 0 else 0.5


@inner
def mean_value(t: Tree, state: int, k: int) -> float:
    """r̃ / N(a|s); an action that was never taken counts as 0."""
    if t.taken[state, k] == 0:
        return 0.0
    return float(t.total[state, k] / t.taken[state, k])


@inner
def most_taken(t: Tree, state: int) -> int:
    """argmax π_MCTS; among equals the higher mean value, then the earlier slot."""
    best = 0
    for k in range(1, t.n_actions[state]):
        more = t.taken[state, k] - t.taken[state, best]
        if more > 0 or (more == 0 and mean_value(t, state, k) > mean_value(t, state, best)):
            best = k
    return best


@inner
def keep_subtree(t: Tree, edge: int) -> None:
    """The child of the root's edge becomes the root with its statistics; all else is forgotten."""
    child, taken = t.child[0, edge], t.taken[0, edge]
    if child < 0:
        start_tree(t, taken)
        return
    used = t.used[0]
    for state in range(used):
        t.place[state] = -1
    t.place[child] = 0
    t.used[0] = 0
    t.bounds[LOW], t.bounds[HIGH] = np.inf, -np.inf
    for state in range(child, used):
        if t.place[state] < 0:
            continue
        to = t.used[0]
        t.used[0] += 1
        t.place[state] = to
        t.visits[to], t.n_actions[to] = t.visits[state], t.n_actions[state]
        t.borrowed[to] = t.borrowed[state]
        for k in range(t.n_actions[state]):
            if t.child[state, k] >= 0:
                t.place[t.child[state, k]] = 0  # its own place when its turn comes
            copy_prior(t, state, k, to, k)
            copy_counts(t, state, k, to, k)
            if t.taken[to, k]:
                note_value(t, mean_value(t, to, k))
    for state in range(t.used[0]):
        for k in range(t.n_actions[state]):
            if t.child[state, k] >= 0:
                t.child[state, k] = t.place[t.child[state, k]]


@inner
def copy_prior(t: Tree, state: int, k: int, to: int, at: int) -> None:
    """What the policy says of an action, slot k of one state, into slot `at` of another."""
    for column in range(2):
        t.action[to, at, column] = t.action[state, k, column]
    for column in range(N_BONUSES):
        t.bonus[to, at, column] = t.bonus[state, k, column]
    t.score[to, at], t.prior[to, at] = t.score[state, k], t.prior[state, k]


@inner
def copy_counts(t: Tree, state: int, k: int, to: int, at: int) -> None:
    """What simulations say of an action, slot k of one state, into slot `at` of another."""
    t.taken[to, at], t.total[to, at] = t.taken[state, k], t.total[state, k]
    t.reward[to, at], t.child[to, at] = t.reward[state, k], t.child[state, k]
