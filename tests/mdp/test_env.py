"""The Gymnasium environment."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from tests.policy.builders import halfway_instance

import policrf as pc
from policrf.errors import InvalidInstance, InvalidLabeling, UnknownName
from policrf.mdp.rewards import REWARDS

gymnasium = pytest.importorskip("gymnasium")
env_checker = pytest.importorskip("gymnasium.utils.env_checker")


def make(**options: object) -> object:
    return gymnasium.make("policrf.mdp.env:policrf/Label-v0", **options)


def test_it_passes_the_checker() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env_checker.check_env(
            make(instance=pc.make_scene(25, "A")).unwrapped, skip_render_check=True
        )


@pytest.mark.parametrize("halfway", [False, True])
@pytest.mark.parametrize("reward", ["difference", "sign", "shaped"])
def test_masked_episodes_end_with_the_energy_of_the_labeling(reward: str, halfway: bool) -> None:
    scene = pc.make_scene(25, "B", seed=2)
    if halfway:
        scene = halfway_instance(1, n_nodes=25)
    env = make(instance=scene, reward=reward)
    observation, info = env.reset(seed=1)
    env.action_space.seed(1)
    total, steps, done = 0.0, 0, False
    while not done:
        action = env.action_space.sample(mask=info["action_mask"])
        observation, gained, done, truncated, info = env.step(action)
        assert gained == info["rewards"][reward]
        assert not truncated
        total += info["rewards"]["difference"]
        steps += 1
    assert steps == 25
    assert total == pytest.approx(-scene.crf.energy(observation["labels"]))
    assert info["energy"] == pytest.approx(-total)
    assert not info["action_mask"].any()


def test_an_action_that_is_not_open_is_an_error() -> None:
    env = make(instance=pc.make_scene(25, "A"))
    env.reset(seed=0)
    env.step(3 * 21 + 5)
    with pytest.raises(InvalidLabeling, match="node 3 is labeled already"):
        env.step(3 * 21 + 6)


def test_several_instances_are_drawn_and_can_be_asked_for() -> None:
    scenes = [pc.make_scene(25, "A", seed=seed) for seed in range(4)]
    env = make(instance=scenes).unwrapped
    drawn = set()
    for seed in range(20):
        env.reset(seed=seed)
        drawn.add(env.instance.source["seed"])
    assert len(drawn) > 1
    env.reset(options={"index": 2})
    assert env.instance is scenes[2]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInstance, match="one size"):
        make(instance=[pc.make_scene(25, "A"), pc.make_scene(30, "A")])
    with pytest.raises(InvalidInstance, match="at least one"):
        make(instance=[])
    with pytest.raises(UnknownName, match="no reward"):
        make(reward="profit")


def test_the_same_seed_gives_the_same_episode() -> None:
    runs = []
    for _ in range(2):
        env = make(instance=pc.make_scene(25, "A"))
        _, info = env.reset(seed=3)
        env.action_space.seed(3)
        gains = []
        for _ in range(10):
            _, gained, *_, info = env.step(env.action_space.sample(mask=info["action_mask"]))
            gains.append(gained)
        runs.append(gains)
    assert np.array_equal(*runs)


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import gymnasium", "policrf.mdp.env:policrf/Label-v0"),
        ("import policrf, gymnasium", "policrf.mdp.env:policrf/Label-v0"),
        ("import policrf.mdp.env, gymnasium", "policrf.mdp.env:policrf/Label-v0"),
        ("import policrf.mdp.env, gymnasium", "policrf/Label-v0"),
        ("import gymnasium, policrf.mdp.env", "policrf/Label-v0"),
    ],
)
def test_registered_by_importing_its_module_in_any_order(imports, name):
    code = f"{imports}\nenv = gymnasium.make({name!r})\nprint(env.unwrapped.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "policrf.mdp.env", done.stderr


def test_a_reward_of_ones_own_is_paid_beside_the_packages(monkeypatch):
    monkeypatch.setitem(REWARDS._targets, "fixed", fixed)
    env = make(instance=pc.make_scene(25, "A"), reward="fixed")
    env.reset(seed=0)
    _, gained, _, _, info = env.step(3 * 21 + 5)
    assert gained == 105.0
    assert set(info["rewards"]) == {"difference", "sign", "shaped", "fixed"}


def fixed(costs, changes, ties, out):
    out[:] = 100.0 + np.arange(len(out))
