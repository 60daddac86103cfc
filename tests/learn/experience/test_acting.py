"""Exploring episodes: what they note is what an episode earns, and what the policy would do."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policy.builders import random_instance, random_policy

from policrf.learn.experience.acting import Trail, play
from policrf.mdp.rewards import load_reward
from policrf.mdp.state import Episode
from policrf.policy.engine import Engine


@pytest.mark.parametrize("reward", ["difference", "sign", "shaped"])
@pytest.mark.parametrize("kind", ["paper", "residual"])
def test_playing_notes_what_an_episode_earns(kind: str, reward: str) -> None:
    instance = random_instance(40, 1)
    engine = Engine(random_policy(instance, kind, "relaxed", 1), instance)
    trail = play(engine, epsilon=0.3, seed=4, reward=load_reward(reward))
    episode = Episode(instance.crf)
    for t in range(40):
        node = int(trail.nodes[t])
        for label in range(instance.crf.n_labels):
            earned = episode.step(node, label)[reward]
            assert trail.rewards[t, label] == pytest.approx(earned, abs=1e-4)
            episode.undo()
        episode.step(node, int(trail.labels[t]))
    assert engine.remaining == 0
    assert trail.energy[0] == pytest.approx(instance.crf.energy(engine.labels))
    assert len(set(trail.sets.tolist())) == 5


def test_exploiting_always_is_greedy_labeling() -> None:
    instance = random_instance(40, 1)
    policy = random_policy(instance, "residual", "relaxed", 1)
    trail = play(Engine(policy, instance), epsilon=1.0, seed=0, reward=load_reward("difference"))
    labels, order, _ = Engine(policy, instance).label_all()
    assert trail.nodes.tolist() == order.tolist()
    assert trail.labels.tolist() == labels[order].tolist()
    assert trail.best.tolist() == np.stack([trail.nodes, trail.labels], axis=1).tolist()


def test_the_best_action_is_noted_before_every_step() -> None:
    instance = random_instance(30, 2)
    engine = Engine(random_policy(instance, "paper", "partial", 2), instance)
    trail = play(engine, epsilon=0.0, seed=1, reward=load_reward("difference"))
    engine.reset()
    for t in range(30):
        node, label = int(trail.nodes[t]), int(trail.labels[t])
        assert engine.best()[:2] == tuple(trail.best[t])
        if trail.sets[t] in (1, 2):  # M1 and M2 choose the node, the policy its label
            assert label == int(np.argmax(engine.scores(node)))
        engine.step(node, label)


def test_the_same_seed_plays_the_same_episode() -> None:
    instance = random_instance(40, 3)
    engine = Engine(random_policy(instance, "residual", "partial", 3), instance)

    def played(seed: int) -> Trail:
        return play(engine, epsilon=0.5, seed=seed, reward=load_reward("difference"))

    first, again, other = (played(seed) for seed in (9, 9, 10))
    assert first.nodes.tolist() == again.nodes.tolist()
    assert np.array_equal(first.rewards, again.rewards)
    assert first.nodes.tolist() != other.nodes.tolist()
