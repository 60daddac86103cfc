"""Rollout advantages: both ways played to the end, and learning from them."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.acting import play
from policrf.learn.advantage import Scale, rollout_advantages
from policrf.learn.dqn_options import DQN
from policrf.learn.train import train_dqn
from policrf.mdp.rewards import load_reward
from policrf.policy.engine import Engine


def test_advantages_are_differences_of_final_energies() -> None:
    instance = pc.make_scene(30, "B", seed=3)
    policy = pc.Policy.untrained(n_labels=21, n_features=85)
    trail = play(Engine(policy, instance), epsilon=0.5, seed=1, reward=load_reward("sign"))
    steps = np.array([4, 17])
    found = rollout_advantages(Engine(policy, instance), trail, steps, 3)
    assert found.shape == (2, 21)
    for row, t in enumerate(steps):
        state = np.full(30, -1)
        state[trail.nodes[:t]] = trail.labels[:t]
        tried = np.flatnonzero(np.isfinite(found[row]))
        assert len(tried) == 3
        assert trail.labels[t] in tried
        engine = Engine(policy, instance)
        engine.reset(state)
        without = instance.crf.energy(engine.label_all()[0])
        for label in tried:
            state[trail.nodes[t]] = label
            engine.reset(state)
            after = instance.crf.energy(engine.label_all()[0])
            assert found[row, label] == pytest.approx(without - after, abs=1e-4)


def test_the_greedy_action_has_no_advantage() -> None:
    instance = pc.make_scene(30, "B", seed=3)
    policy = pc.Policy.untrained(n_labels=21, n_features=85)
    trail = play(Engine(policy, instance), epsilon=1.0, seed=1, reward=load_reward("sign"))
    steps = np.arange(5)
    found = rollout_advantages(Engine(policy, instance), trail, steps, 2)
    np.testing.assert_allclose(found[steps, trail.labels[:5]], 0.0, atol=1e-4)


def test_scaled_to_their_mean_size() -> None:
    scale = Scale()
    scale.take(np.array([[1.0, -3.0, np.nan]], np.float32))
    np.testing.assert_allclose(
        scale.apply(np.array([1.0, -5.0, np.nan], np.float32)), [0.5, -1.0, np.nan]
    )


def test_learning_from_advantages_is_deterministic_and_finite() -> None:
    scenes = [pc.make_scene(25, "B", seed=seed) for seed in range(6)]
    options = {"kind": "residual", "target": "advantage", "rounds": 3, "updates": 4, "seed": 5}
    first, second = train_dqn(scenes, **options), train_dqn(scenes, **options)
    for name, array in first.weights.items():
        assert np.isfinite(array).all()
        np.testing.assert_array_equal(array, second.weights[name])


def test_advantages_are_for_single_labels() -> None:
    with pytest.raises(InvalidOption, match="backup 'all'"):
        DQN(target="advantage", backup="taken")
