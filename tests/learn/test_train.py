import json

import numpy as np
import pytest

import policrf as pc
from policrf.datasets.sources import load_instances, split
from policrf.errors import InvalidFile, InvalidInstance, InvalidOption
from policrf.learn.train import train
from policrf.learn.validate import validate

SCENES = [pc.make_scene(25, "A", seed=seed) for seed in range(24)]
QUICK = {"validate_rounds": 4, "episodes": 2, "updates": 6, "batch": 16, "capacity": 2000}


@pytest.mark.parametrize(
    "options",
    [
        {"target": "reward"},
        {"target": "reward", "backup": "taken"},
        {"target": "reward", "reward": "shaped", "kind": "residual"},
        {"target": "reward", "backup": "taken", "discount": 0.9, "ahead": 2, "kind": "residual"},
        {
            "target": "reward",
            "backup": "taken",
            "discount": 1.0,
            "ahead": 0,
            "reward": "difference",
        },
        {"target": "hindsight", "actors": 2},
        {"target": "hindsight", "kind": "residual"},
    ],
)
def test_same_seed_same_policy_and_every_way_to_learn_runs(options):
    one, two, other = (
        train(SCENES[:12], rounds=4, seed=seed, **(QUICK | options)) for seed in (1, 1, 2)
    )
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, two.weights[name])
    assert any((array != other.weights[name]).any() for name, array in one.weights.items())


def test_a_resumed_run_ends_where_an_unbroken_one_does(tmp_path):
    options = QUICK | {"target": "hindsight"}
    train(SCENES, rounds=8, out=tmp_path / "whole", seed=3, **options)
    train(SCENES, rounds=4, out=tmp_path / "parts", seed=3, **options)
    train(SCENES, rounds=8, out=tmp_path / "parts", seed=3, resume=True, **options)
    whole = pc.load_policy(tmp_path / "whole" / "last.safetensors")
    parts = pc.load_policy(tmp_path / "parts" / "last.safetensors")
    for name, array in whole.weights.items():
        np.testing.assert_array_equal(array, parts.weights[name])
    lines = [
        json.loads(line) for line in (tmp_path / "parts" / "log.jsonl").read_text().splitlines()
    ]
    assert [line["round"] for line in lines] == [0, 4, 8]
    assert {"loss", "energy", "iou", "reward", "episodes", "updates"} <= set(lines[-1])


def test_learning_lowers_the_energy_and_raises_iou():
    held_out = [pc.make_scene(25, "A", seed=1000 + seed) for seed in range(20)]
    before = validate(train(SCENES, rounds=0, **QUICK), held_out)
    policy = train(
        SCENES, rounds=12, validate_rounds=6, target="hindsight",
        episodes=4, updates=24, batch=8, learning_rate=3e-3,
    )  # fmt: skip
    after = validate(policy, held_out)
    assert after.energy < 0.5 * before.energy
    assert after.iou > before.iou + 20


def test_the_supervised_baseline_learns_and_pays_no_heed_to_given_labels():
    policy = train(
        SCENES, "supervised", rounds=6, validate_rounds=3, updates=30, learning_rate=3e-3
    )
    assert validate(policy, SCENES[:10]).iou > 40
    assert (policy.weights["theta1"] == 0).all()
    assert (policy.weights["theta2"] == 0).all()
    bare = [pc.Instance(s.crf, s.features, s.edges, s.edge_weights) for s in SCENES[:3]]
    with pytest.raises(InvalidInstance, match="truth"):
        train(bare, "supervised", rounds=1)


def test_search_over_weights_is_repeatable_and_moves_what_it_may():
    options = {"rounds": 3, "validate_rounds": 3, "pairs": 2, "trials": 4, "lower": "greedy"}
    start = train(SCENES[:8], kind="residual", rounds=1, width=8, **QUICK)
    one, two = (train(SCENES[:8], "evolve", start=start, select="iou", **options) for _ in range(2))
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, two.weights[name])
        if name not in ("head_out", "scale"):
            np.testing.assert_array_equal(array, start.weights[name])
    with pytest.raises(InvalidOption, match="no tensor"):
        train(SCENES[:4], "evolve", kind="paper", rounds=1, tensors=("scale",))


def test_mistakes_in_the_configuration_are_named(tmp_path):
    with pytest.raises(InvalidOption, match="discount 0"):
        train(SCENES[:4], backup="all", discount=0.9)
    with pytest.raises(InvalidOption, match="hindsight"):
        train(SCENES[:4], target="foresight")
    with pytest.raises(InvalidOption, match="dqn has no option 'epsilom'; did you mean epsilon"):
        train(SCENES[:4], epsilom=0.5)
    with pytest.raises(InvalidOption, match="method is 'sarsa'"):
        train(SCENES[:4], "sarsa")
    with pytest.raises(InvalidOption, match=r"network is 'paper'; give Network\(...\)"):
        train(SCENES[:4], network="paper")
    with pytest.raises(InvalidFile, match="no checkpoint"):
        train(SCENES[:4], rounds=1, out=tmp_path, resume=True, **QUICK)
    with pytest.raises(InvalidOption, match="give it as out"):
        train(SCENES[:4], rounds=1, resume=True)
    with pytest.raises(InvalidInstance, match="no instances to learn from"):
        train([])
    with pytest.raises(InvalidInstance, match="instances holds a CRF"):
        train([SCENES[0].crf])


def test_sources(tmp_path):
    scenes = load_instances("synthetic:A+B:20+30", count=4, seed=7)
    assert [(s.source["preset"], s.crf.n_nodes) for s in scenes] == [
        ("A", 20),
        ("A", 30),
        ("B", 20),
        ("B", 30),
    ]
    for k, scene in enumerate(scenes[::2]):
        scene.save(tmp_path / f"{k}.npz")
    assert len(load_instances(str(tmp_path))) == 2
    assert load_instances(str(tmp_path), potentials="u", count=1)[0].crf.potentials == ()
    with pytest.raises(InvalidOption, match="synthetic:REGIME:NODES"):
        load_instances("synthetic:A")
    with pytest.raises(InvalidFile, match="no such folder"):
        load_instances("not/there")
    training, held_out = split(list(range(30)), 0.1, 40)
    assert (len(training), len(held_out)) == (27, 3)
    assert not set(training) & set(held_out)
