"""Episodes that are behind: remembered in their turn, kept in a checkpoint, logged."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.experience.actors import actors_for
from policrf.learn.experience.players import DqnPlayer, GamePlayer, Order
from policrf.search.search import SearchOptions

SCENES = [pc.make_scene(20, "A", seed=seed) for seed in range(8)]
QUICK = {"updates": 3, "batch": 8, "width": 8, "episodes": 2, "capacity": 500}


def same(one, other):
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, other.weights[name])


@pytest.mark.parametrize("method", ["dqn", "mcts"])
def test_a_run_that_is_behind_goes_on_to_the_bit(tmp_path, method):
    options = QUICK | {"staleness": 2, "validate_rounds": 2}
    if method == "mcts":
        options |= {"simulations": 4, "depth": 2, "actors": 2}
    pc.train(SCENES, method, out=tmp_path / "whole", rounds=6, **options)
    pc.train(SCENES, method, out=tmp_path / "parts", rounds=3, **options)
    pc.train(SCENES, method, out=tmp_path / "parts", rounds=6, resume=True, **options)
    same(*(pc.load_policy(tmp_path / run / "last.safetensors") for run in ("whole", "parts")))
    lines = [json.loads(text) for text in (tmp_path / "whole" / "log.jsonl").read_text().split("\n")
             if text]  # fmt: skip
    assert [line.get("staleness") for line in lines] == [None, None, 2.0, 2.0]
    per_round = 2 * 20
    assert lines[-1]["transitions"] == per_round * (1 + 6 - 2)  # one round before the first


def test_staleness_changes_what_is_learned_and_none_is_the_default():
    found = [
        pc.train(SCENES, "dqn", rounds=4, select="last", **QUICK | more)
        for more in ({}, {"staleness": 0}, {"staleness": 1})
    ]
    same(found[0], found[1])
    assert any((found[0].weights[k] != found[2].weights[k]).any() for k in found[0].weights)
    with pytest.raises(InvalidOption, match="staleness is -1"):
        pc.train(SCENES, "dqn", staleness=-1)


def test_players_travel_without_their_engines_and_play_the_same():
    spec = {"n_labels": 21, "n_features": SCENES[0].features.shape[1]}
    policy = pc.Policy.untrained(**spec)
    players = [
        DqnPlayer(SCENES, "sign", True, True),
        GamePlayer(SCENES, SearchOptions(simulations=4, depth=2), 20, False),
    ]
    for player in players:
        order = Order(3, seed=5, epsilon=0.5)
        played = player.play(policy, order)
        assert len(pickle.dumps(player)) < 1.1 * len(pickle.dumps(SCENES)) + 2000
        other = pickle.loads(pickle.dumps(player)).play(policy, order)
        arrived = pickle.loads(pickle.dumps(played))
        for found in (other, arrived):
            _equal(played, found)


def _equal(one, other):
    for name in one._fields:
        mine, theirs = getattr(one, name), getattr(other, name)
        if name in ("values", "margins", "inputs") and hasattr(one, "known"):
            continue  # scratch space
        if hasattr(mine, "_fields"):
            _equal(mine, theirs)
        else:
            np.testing.assert_array_equal(mine, theirs)
            assert getattr(mine, "dtype", None) == getattr(theirs, "dtype", None)


def test_only_a_cluster_has_actors_elsewhere():
    with actors_for(pc.Processes(2), 3) as pool:
        assert pool._max_workers == 3
