"""A kind of network is an entry of `KINDS`: the worked example of docs/extending.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.policy.builders import random_instance, random_policy

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.train import train
from policrf.policy.engine import Engine
from policrf.policy.kinds import KINDS, Kind
from policrf.testing.batch import make_batch
from policrf.testing.network import PolicyNetwork

BIASED = Kind(
    sees_costs=False,
    tensors=lambda spec: {"bias": (spec.layers, spec.width)},
    start={"bias": 0.0},
)


@pytest.fixture
def biased(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(KINDS, "biased", BIASED)
    return "biased"


def test_the_engine_computes_a_new_kind(biased: str) -> None:
    instance = random_instance(30, 4)
    policy = random_policy(instance, biased, "partial", 4)
    engine = Engine(policy, instance)
    network = PolicyNetwork.from_policy(policy).double()
    while engine.remaining:
        full = network(make_batch(policy.spec, instance, engine.labels)).detach().numpy()
        open_nodes = engine.labels < 0
        np.testing.assert_allclose(engine.all_scores()[open_nodes], full[open_nodes], atol=1e-4)
        node, label, _ = engine.best()
        engine.step(node, label)
    unbiased = {name: array for name, array in policy.weights.items() if name != "bias"}
    paper = pc.Policy(random_policy(instance, "paper", "partial", 4).spec, unbiased)
    assert not np.allclose(Engine(paper, instance).scores(0), Engine(policy, instance).scores(0))


def test_a_new_kind_is_learned_and_saved(biased: str, tmp_path: Path) -> None:
    scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(6)]
    options = {"rounds": 2, "updates": 8, "batch": 16, "learning_rate": 1e-2}
    train(scenes, kind=biased, out=tmp_path, **options)
    policy = pc.load_policy(tmp_path / "last.safetensors")
    assert policy.spec.kind == biased
    assert np.abs(policy.weights["bias"]).max() > 0
    assert sorted(pc.solve(scenes[0], policy).order.tolist()) == list(range(20))


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidOption, match="kind is 'biased'; it must be one of paper, residual"):
        pc.Policy.untrained(n_labels=3, n_features=4, kind="biased")
