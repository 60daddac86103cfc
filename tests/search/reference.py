"""The search of appendix B2 as plainly as can be: every action in the tree, in dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import policrf as pc
from policrf.mdp.state import Episode
from policrf.policy.engine import Engine
from policrf.random_numbers import below
from policrf.testing.exploration_scores import m1_scores, m2_scores, m3_scores


@dataclass
class Node:
    visits: int = 0
    actions: list = field(default_factory=list)
    prior: dict = field(default_factory=dict)
    taken: dict = field(default_factory=dict)
    total: dict = field(default_factory=dict)
    children: dict = field(default_factory=dict)


class PlainSearch:
    """Shares only the scores of the engine, the rewards of `Episode` and the random numbers."""

    def __init__(self, policy, instance, options, generator):
        self.policy, self.instance, self.options = policy, instance, options
        self.generator = generator
        self.given: list[tuple[int, int]] = []
        self.root = Node()

    def state(self, actions):
        labels = np.full(self.instance.crf.n_nodes, -1)
        for node, label in actions:
            labels[node] = label
        return labels

    def expand(self, node, labels):
        engine = Engine(self.policy, self.instance)
        engine.reset(labels)
        scores = engine.all_scores()
        n_labels = scores.shape[1]
        best = scores.max(axis=1)
        by_node = sorted(range(len(best)), key=lambda i: (-best[i], i))
        rank = {i: r for r, i in enumerate(by_node)}
        valid = [divmod(int(k), n_labels) for k in np.flatnonzero(np.isfinite(scores))]
        node.actions = sorted(valid, key=lambda a: (-scores[a], rank[a[0]], a[1]))
        z = np.array([scores[a] for a in node.actions]) / self.options.temperature
        weight = np.exp(z - z.max())
        node.prior = dict(zip(node.actions, weight / weight.sum(), strict=True))
        node.taken = dict.fromkeys(node.actions, 0)
        node.total = dict.fromkeys(node.actions, 0.0)

    def simulate(self):
        crf, options = self.instance.crf, self.options
        node, actions, trail = self.root, list(self.given), []
        left = crf.n_nodes - len(actions)
        while len(trail) < min(options.depth, left):
            labels = self.state(actions)
            if not node.actions:
                self.expand(node, labels)
            node.visits += 1
            bonus = np.zeros(crf.unary.shape)
            if options.encourage:
                which = below(self.generator, 3)
                if which == 0:
                    bonus += m1_scores(self.instance, labels)[:, None]
                elif which == 1:
                    bonus += m2_scores(self.instance, labels)[:, None]
                else:
                    bonus += m3_scores(self.instance, labels)

            def u(a, node=node, bonus=bonus):
                mean = node.total[a] / node.taken[a] if node.taken[a] else 0.0
                explore = node.prior[a] * np.sqrt(node.visits) / (1 + node.taken[a])
                return mean + options.exploration * explore + bonus[a]

            best = max(u(a) for a in node.actions)
            action = next(a for a in node.actions if u(a) >= best - 1e-12)
            episode = Episode(crf)
            for earlier in actions:
                episode.step(*earlier)
            reward = episode.step(*action)[options.reward]
            trail.append((node, action, reward))
            actions.append(action)
            if action not in node.children and len(trail) < min(options.depth, left):
                node.children[action] = Node(visits=node.taken[action])
            node = node.children.get(action)
        if node is not None:
            node.visits += 1
        rewards = [reward for _, _, reward in trail]
        for k, (node, action, _) in enumerate(trail):
            node.taken[action] += 1
            node.total[action] += float(np.mean(rewards[k:]))

    def commit(self, action):
        self.given.append(action)
        child = self.root.children.get(action)
        self.root = child or Node(visits=self.root.taken[action])


def tree_as_dictionary(search):
    """The kernel's tree in the same words: {path: (visits, {action: (taken, total, prior)})}."""
    t = search.tree
    out, todo = {}, [(0, ())]
    while todo:
        state, path = todo.pop()
        actions = {}
        for k in range(max(0, int(t.n_actions[state]))):
            action = (int(t.action[state, k, 0]), int(t.action[state, k, 1]))
            actions[action] = (
                int(t.taken[state, k]),
                float(t.total[state, k]),
                float(t.prior[state, k]),
            )
            if t.child[state, k] >= 0:
                todo.append((int(t.child[state, k]), (*path, action)))
        out[path] = (int(t.visits[state]), actions)
    return out


def plain_as_dictionary(plain):
    """The same of a `PlainSearch`."""
    out, todo = {}, [(plain.root, ())]
    while todo:
        node, path = todo.pop()
        actions = {a: (node.taken[a], node.total[a], node.prior[a]) for a in node.actions}
        out[path] = (node.visits, actions)
        todo += [(child, (*path, action)) for action, child in node.children.items()]
    return out


def tiny_instance(seed, **fields):
    """A random CRF of a few nodes with features and a graph."""
    from policrf.testing.random_crf import random_crf

    return pc.Instance.from_crf(random_crf(seed, **fields))
