"""Learning from more instances than are held at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.options import Schedule
from policrf.learn.train import train


class Counted(Sequence):
    """Scenes made when they are asked for; notes which."""

    def __init__(self, count: int) -> None:
        self.count, self.asked = count, []

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(self.count))]
        self.asked.append(k)
        return pc.make_scene(20, "B", seed=k)


OPTIONS = {"updates": 2, "episodes": 2, "pool": 100, "pool_rounds": 2, "keep": 20, "batch": 8}


def test_every_instance_has_its_turn() -> None:
    scenes = Counted(20)
    train(scenes, rounds=9, **OPTIONS)
    assert set(scenes.asked) == set(range(20))


def test_pools_change_nothing_for_a_set_that_fits() -> None:
    scenes = [pc.make_scene(20, "B", seed=k) for k in range(10)]
    options = OPTIONS | {"pool": 200}
    one = train(scenes, rounds=4, **options)
    two = train(scenes, rounds=4, **(options | {"pool": 200_000}))
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, two.weights[name])


@pytest.mark.parametrize("target", ["reward", "hindsight"])
def test_a_run_over_pools_is_resumed_to_the_bit(tmp_path, target: str) -> None:
    options = OPTIONS | {"target": target, "validate_rounds": 100}
    train(Counted(20), rounds=7, out=tmp_path / "whole", **options)
    train(Counted(20), rounds=3, out=tmp_path / "parts", **options)
    train(Counted(20), rounds=7, out=tmp_path / "parts", resume=True, **options)
    whole, parts = (
        pc.load_policy(tmp_path / run / "last.safetensors") for run in ("whole", "parts")
    )
    for name, array in whole.weights.items():
        np.testing.assert_array_equal(array, parts.weights[name])


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("supervised", {"updates": 2, "batch": 8}),
        ("mcts", {"updates": 2, "batch": 8, "episodes": 2, "simulations": 4, "depth": 2}),
        ("evolve", {"pairs": 1, "trials": 2, "lower": "greedy"}),
    ],
)
def test_other_learners_take_turns_too(method: str, options: dict) -> None:
    """Pools of seven for 18 instances: they are not all of one size."""
    scenes = Counted(19)
    train(scenes, method, rounds=7, pool=140, pool_rounds=2, **options)
    assert set(scenes.asked) == set(range(19))


def test_a_pool_holds_at_least_one() -> None:
    with pytest.raises(InvalidOption, match="pool"):
        Schedule(pool=0)
