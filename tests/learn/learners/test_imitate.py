"""Imitation by the shared kind: its scores are the plain network's, and it learns what is asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.policy.builders import random_policy

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.experience.corpus import Instances
from policrf.learn.experience.states import play_states
from policrf.learn.learners.forward import parameters
from policrf.learn.learners.imitate import ImitationLearner, label_logits, squashed_margins
from policrf.learn.learners.label_graphs import embed_labels, hops_of, join_hops
from policrf.learn.options import Imitate, Optimizer
from policrf.learn.train import train
from policrf.learn.validate import validate
from policrf.policy.engine import Engine
from policrf.policy.shared.static_inputs import static_inputs
from policrf.testing.batch import make_batch
from policrf.testing.network import PolicyNetwork

torch = pytest.importorskip("torch")
QUICK = {"updates": 4, "batch": 4, "validate_rounds": 3, "width": 8}


def mixed(count: int, regime: str = "B", seed: int = 0) -> list[pc.Instance]:
    """Scenes of two numbers of labels."""
    return [pc.make_scene(30, regime, seed=seed + k, n_labels=(4, 7)[k % 2]) for k in range(count)]


def test_the_learners_scores_are_the_plain_networks() -> None:
    instances = [pc.make_scene(25, "B", seed=k, n_labels=5) for k in range(2)]
    instances.append(pc.make_scene(40, "A", seed=7, n_labels=5))
    policy = random_policy(instances[0], "shared", "expected", 2)
    theta = parameters(policy.weights)
    engines = [Engine(policy, instance) for instance in instances]
    seen = [play_states(e, k, np.random.default_rng(k)) for k, e in enumerate(engines)]
    static = [
        torch.from_numpy(static_inputs(policy.spec, e.instance, e.parts.completion))
        for e in engines
    ]
    starts = np.cumsum([0, *(len(part) for part in static)])
    rows = np.concatenate([s.nodes + start for s, start in zip(seen, starts, strict=False)])
    inputs = torch.cat(static)
    embedded = embed_labels(theta, inputs, join_hops([hops_of(i) for i in instances]))
    costs = torch.from_numpy(np.concatenate([s.costs for s in seen]))
    views = torch.from_numpy(np.concatenate([s.inputs for s in seen]))
    logits = label_logits(theta, inputs, embedded, torch.from_numpy(rows), costs, views)
    found = squashed_margins(-logits).detach().numpy()
    module, at = PolicyNetwork.from_policy(policy), 0
    for instance, states in zip(instances, seen, strict=True):
        batch = make_batch(policy.spec, instance, np.full(instance.crf.n_nodes, -1))
        full = module(batch).detach().numpy()
        n_nodes = instance.crf.n_nodes  # the first state is the empty one, with all nodes
        np.testing.assert_allclose(found[at : at + n_nodes], full, atol=2e-4)
        at += len(states.nodes)


def test_a_state_along_the_way_is_what_the_engine_sees() -> None:
    scene = pc.make_scene(40, "C", seed=3, n_labels=6)
    policy = random_policy(scene, "shared", "expected", 4)
    seen = play_states(Engine(policy, scene), 0, np.random.default_rng(1))
    order = Engine(policy, scene).label_all()[1].tolist()
    along = seen.nodes[40:].tolist()
    step = order.index(along[0])
    assert along == order[step : step + 8]
    assert seen.costs.min(axis=1).max() == 0.0


def test_gradients_reach_every_tensor() -> None:
    scenes = mixed(4)
    spec = random_policy(scenes[0], "shared", "expected", 0).spec
    start = random_policy(scenes[0], "shared", "expected", 0)
    options = Imitate(truth=0.5, teacher="icm")
    learner = ImitationLearner(options, spec, Instances(scenes), start=start)
    with ThreadPoolExecutor(1) as pool:
        learner.begin(pool)
    learner.batch = learner.batches[0]
    learner.loss().backward()
    for name, tensor in learner.theta.items():
        assert tensor.grad is not None, name
        assert tensor.grad.abs().sum() > 0, name


def test_true_labels_of_one_set_help_with_another() -> None:
    """Learned with 4 and 7 labels, better labels with 10."""
    policy = train(mixed(40), "imitate", rounds=12, learning_rate=2e-2, width=8, seed=1)
    fresh = [pc.make_scene(30, "B", seed=900 + k, n_labels=10) for k in range(20)]
    untrained = pc.Policy.untrained(kind="shared")
    assert validate(policy, fresh).iou > validate(untrained, fresh).iou + 5
    assert policy.spec.any_labels


def many_or_none(seed: int) -> pc.Instance:
    """Two cliques in which a label occurs six times or more, or not at all."""
    rng = np.random.default_rng(seed)
    counted = pc.CountFunction([np.arange(12), np.arange(12, 24)], [0.0, *[3.0] * 5, *[0.0] * 7])
    chain = pc.Potts([[i, i + 1] for i in range(23)], 0.3)
    return pc.Instance.from_crf(pc.CRF(rng.exponential(size=(24, 5)), chain, counted))


def test_without_truth_targets_are_the_lowest_energies_known() -> None:
    instances = [many_or_none(seed) for seed in range(12)]
    spec = pc.Policy.untrained(kind="shared", width=8).spec
    steps = Optimizer(learning_rate=1e-2, updates=6, batch=4)
    learner = ImitationLearner(Imitate(optimizer=steps), spec, Instances(instances))
    rule = Engine(learner.policy(), instances[0])
    losses = []
    with ThreadPoolExecutor(1) as pool:
        learner.begin(pool)
        for seen in learner.batches[0]:
            crf = instances[seen.instance].crf
            assert learner.best.energies[seen.instance] <= seen.energy
            assert seen.energy == pytest.approx(crf.energy(seen.labels))
        while learner.rounds < 20:
            learner.round(pool)
            losses.append(learner.recent["loss"])
    labels = rule.label_all()[0]
    assert learner.best.energies[0] <= instances[0].crf.energy(labels)
    assert np.isfinite(learner.best.energies).all()
    assert np.mean(losses[-4:]) < 0.8 * losses[0]


def test_a_run_is_the_same_for_a_seed_and_when_resumed(tmp_path: Path) -> None:
    scenes = mixed(12)
    options = QUICK | {"truth": 0.5}
    whole = train(scenes, "imitate", rounds=6, seed=3, out=tmp_path / "whole", **options)
    train(scenes, "imitate", rounds=3, seed=3, out=tmp_path / "parts", **options)
    train(scenes, "imitate", rounds=6, seed=3, out=tmp_path / "parts", resume=True, **options)
    other = train(scenes, "imitate", rounds=6, seed=4, **options)
    last = [pc.load_policy(tmp_path / name / "last.safetensors") for name in ("whole", "parts")]
    for name, array in last[0].weights.items():
        np.testing.assert_array_equal(array, last[1].weights[name])
    assert any((array != other.weights[name]).any() for name, array in whole.weights.items())


def test_evolution_moves_the_last_tensors() -> None:
    policy = train(
        mixed(6), "evolve", kind="shared", rounds=2, pairs=2, trials=2, select="iou", lower="greedy"
    )
    assert policy.spec.kind == "shared"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidOption, match="dqn does not learn the kind 'shared'; use the"):
        train(mixed(4), "dqn", kind="shared")
    with pytest.raises(InvalidOption, match="imitate learns the kind 'shared', not 'paper'"):
        train(mixed(4)[::2], "imitate", kind="paper")
    with pytest.raises(InvalidOption, match="truth is 2; it must be from 0 to 1"):
        Imitate(truth=2)
