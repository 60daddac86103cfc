"""Expansion: the actions of a state that a search can come to take, with their priors.

A state has up to N · L actions; a simulation takes one. Of those not taken yet, with M1 … M3 equal,
PUCB takes the one of the highest prior: a state visited n times has taken its n best. So the tree
holds the `candidates` best actions of the policy's, found in the engine's tournament without a look
at the others, and for each of M1, M2 and M3 half as many that these favour: for M1 and M2 the
policy's label and the unary's of the nodes they rank first (a policy that has learned nothing would
never see a good label without the latter), for M3 the majority label of the nodes already there.
Of nodes that M1 ranks equal it is the few that a random tie-break puts first. With candidates ≥
N · L the tree is the exhaustive one.

π_θ is a softmax over the actions in the tree instead of all: over thousands of actions of nearly
equal scores every prior would be nearly 0, and so would what PUCB explores by it.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.mdp.completion import Completion
from policrf.mdp.exploration import has_labeled_mate, majority_label
from policrf.mdp.graph import Graph
from policrf.mdp.tournament import Tournament
from policrf.policy.net import Net
from policrf.policy.scoring import score_node
from policrf.policy.work import Work
from policrf.search.tree import (
    LABEL,
    M1_BONUS,
    M2_BONUS,
    M3_BONUS,
    NODE,
    Tree,
    add_edge,
    find_edge,
    start_edge,
)
from policrf.search.walk import (
    CANDIDATES,
    CERTAINTY,
    ENCOURAGED,
    EXPANDED,
    TEMPERATURE,
    Walk,
)
from policrf.types import IntArray

SORTED = 256  # actions of a state that are always in the order of their scores


@inner
def leaf_of(t: Tournament, n: int) -> int:
    """The best leaf below match n of a tournament (or leaf n − S itself); −1 if there is none."""
    size = len(t.winners)
    if n < size:
        return int(t.winners[n])
    return n - size if n - size < len(t.values) else -1


@inner
def next_best(t: Tournament, frontier: IntArray, count: int) -> tuple[int, int]:
    """The best leaf below the frontier's matches, which are split around it; −1 if none is left.

    Start with frontier[0] = 1, count = 1: leaves come in order of value, of equals the lowest
    first. Returns the leaf and the new count.
    """
    at, best = -1, -1
    for k in range(count):
        i = leaf_of(t, frontier[k])
        if i < 0 or t.values[i] == -np.inf:
            continue
        if best < 0 or t.values[i] > t.values[best] or (t.values[i] == t.values[best] and i < best):
            at, best = k, i
    if best < 0:
        return -1, count
    n = frontier[at]
    count -= 1
    frontier[at] = frontier[count]
    size = len(t.winners)
    down = size + best
    while down > n:  # the losers of the matches that it won
        if leaf_of(t, down ^ 1) >= 0:
            frontier[count] = down ^ 1
            count += 1
        down //= 2
    return best, count


@inner
def insert_best(
    t: Tree, state: int, most: int, first: int, node: int, label: int, score: float
) -> None:
    """Put an action among the `most` best of a state, by score; of equals the earlier is first.

    The actions before slot `first` stay where they are.
    """
    k = t.n_actions[state]
    if k == most:
        k -= 1
        if t.score[state, k] >= score:
            return
    else:
        t.n_actions[state] += 1
    while k > first and t.score[state, k - 1] < score:
        t.score[state, k] = t.score[state, k - 1]
        t.action[state, k, NODE] = t.action[state, k - 1, NODE]
        t.action[state, k, LABEL] = t.action[state, k - 1, LABEL]
        k -= 1
    t.score[state, k] = score
    t.action[state, k, NODE], t.action[state, k, LABEL] = node, label


@inner
def favoured_nodes(
    best: IntArray, scores: Tournament, q: Walk, order: Tournament, state: int, most: int
) -> None:
    """The policy's and the unary's label of the nodes that a set ranks first.

    A score that the engine does not hold is left open (NaN).
    """
    t = q.tree
    q.frontier[0] = 1
    open_matches = 1
    for _ in range(most):
        i, open_matches = next_best(order, q.frontier, open_matches)
        if i < 0:
            return
        if find_edge(t, state, i, best[i]) < 0:
            add_edge(t, state, i, best[i], scores.values[i])
        likely = q.explorer.unary_labels[i]
        if find_edge(t, state, i, likely) < 0:
            add_edge(t, state, i, likely, np.nan)


@inner
def set_bonuses(g: Graph, a: Arrays, s: State, q: Walk, state: int, most: int) -> None:
    """M1, M2 and M3 of every action, after adding the label M3 favours at up to `most` nodes there.

    The score of an action that is added is left open (NaN).
    """
    t, e = q.tree, q.explorer
    present, found, asked, favourite = t.n_actions[state], 0, -1, -1
    k = 0
    while k < t.n_actions[state]:
        i, label = t.action[state, k, NODE], t.action[state, k, LABEL]
        if i != asked:
            asked = i
            favourite = majority_label(a, s, e, i) if has_labeled_mate(a, s, i) else -1
        if k < present and found < most and favourite >= 0:
            found += 1
            if find_edge(t, state, i, favourite) < 0:
                add_edge(t, state, i, favourite, np.nan)
        t.bonus[state, k, M1_BONUS] = e.labeled_neighbours[i] / max(1, g.ptr[i + 1] - g.ptr[i])
        t.bonus[state, k, M2_BONUS] = np.exp(-e.entropy[i]) / q.numbers[CERTAINTY]
        t.bonus[state, k, M3_BONUS] = 1.0 if label == favourite else 0.0
        k += 1


@inner
def set_priors(t: Tree, state: int, temperature: float) -> None:
    """π_θ(a|s) = softmax(score / temperature) over the state's actions."""
    count = t.n_actions[state]
    highest = -np.inf
    for k in range(count):
        highest = max(highest, t.score[state, k])
    total = 0.0
    for k in range(count):
        t.prior[state, k] = np.exp((t.score[state, k] - highest) / temperature)
        total += t.prior[state, k]
    for k in range(count):
        t.prior[state, k] /= total


@inner
def expand(
    n: Net, g: Graph, a: Arrays, s: State, z: Completion, w: Work, q: Walk, state: int
) -> None:
    """Give a state its own actions; the engine stands there."""
    t, most = q.tree, q.settings[CANDIDATES]
    t.n_actions[state] = t.borrowed[state] = 0
    q.frontier[0] = 1
    open_matches, i, asked, first = 1, 0, -1, 0
    # Where every action has a slot there is nobody to beat: nodes come by their best label, and
    # only the labels of a node are sorted; sorting all N · L would take their square.
    everything = most > SORTED and most >= len(s.labels) * w.costs.shape[1]
    while True:
        i, open_matches = next_best(w.scores, q.frontier, open_matches)
        if i < 0 or (t.n_actions[state] == most and w.scores.values[i] <= t.score[state, most - 1]):
            break
        score_node(n, g, a, s, z, w, i)
        if everything:
            first = t.n_actions[state]
        for label in range(w.costs.shape[1]):
            lowest = t.score[state, most - 1] if t.n_actions[state] == most else -np.inf
            if w.costs[2, label] > lowest:
                insert_best(t, state, most, first, i, label, w.costs[2, label])
    for k in range(t.n_actions[state]):
        start_edge(t, state, k)
    if q.settings[ENCOURAGED]:
        few = 0 if everything else (most + 1) // 2
        favoured_nodes(w.best, w.scores, q, q.explorer.adjacency, state, few)
        favoured_nodes(w.best, w.scores, q, q.explorer.certainty, state, few)
        set_bonuses(g, a, s, q, state, few)
        for k in range(t.n_actions[state]):  # scores that were left open
            if np.isnan(t.score[state, k]):
                i = t.action[state, k, NODE]
                if i != asked:
                    score_node(n, g, a, s, z, w, i)
                    asked = i
                t.score[state, k] = w.costs[2, t.action[state, k, LABEL]]
    set_priors(t, state, q.numbers[TEMPERATURE])
    q.counters[EXPANDED] += 1
