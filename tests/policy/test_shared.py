"""The shared kind: any labels, none preferred, and the untrained rule where nothing is learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.policy.builders import halfway_crf, halfway_instance, random_policy

import policrf as pc
from policrf.crf.features import feature_names
from policrf.errors import InvalidOption
from policrf.policy.engine import Engine
from policrf.policy.kinds import STATIC_INPUTS
from policrf.policy.network import PAPER_BLOCKS, UNIT_BLOCKS
from policrf.policy.shared.static_inputs import block_of, static_inputs
from policrf.testing import random_crf


def some_policy(seed: int = 0, **fields: object) -> pc.Policy:
    """Every tensor random."""
    return random_policy(pc.make_scene(20, "A"), "shared", "expected", seed, width=16)


def renamed(scene: pc.Instance, names: np.ndarray) -> pc.Instance:
    """The same scene, label l called names[l]."""
    old = np.argsort(names)  # the label that is called k now
    groups = []
    for group in scene.crf.potentials:
        if isinstance(group, pc.BoxAgreement):
            group = pc.BoxAgreement(group.cliques, names[group.labels], group.weights)
        elif isinstance(group, pc.BoxSupport):
            labels = names[group.labels]
            group = pc.BoxSupport(group.cliques, labels, group.penalties, group.counts)
        groups.append(group)
    n_labels = scene.crf.n_labels
    place = {name: k for k, name in enumerate(feature_names(n_labels))}
    columns = [
        place[f"{name.split(':')[0]}:{old[int(name.split(':')[1])]}" if ":" in name else name]
        for name in feature_names(n_labels)
    ]
    crf = pc.CRF(scene.crf.unary[:, old], *groups)
    return replace(scene, crf=crf, features=scene.features[:, columns], truth=None)


@pytest.mark.parametrize("seed", range(4))
def test_labels_may_be_called_otherwise(seed: int) -> None:
    scene = pc.make_scene(60, "ABC"[seed % 3], seed=seed, n_labels=5 + seed)
    # Of equal unaries the first label is the default: the one place where its number counts.
    noise = np.random.default_rng(seed).normal(scale=1e-3, size=scene.crf.unary.shape)
    scene = replace(scene, crf=pc.CRF(scene.crf.unary + noise, *scene.crf.potentials))
    names = np.random.default_rng(seed).permutation(scene.crf.n_labels)
    policy = some_policy(seed)
    one, two = Engine(policy, scene), Engine(policy, renamed(scene, names))
    np.testing.assert_allclose(two.all_scores()[:, names], one.all_scores(), atol=1e-4)
    labels, order, _ = one.label_all()
    for node, label in zip(order[:30], labels[order[:30]], strict=True):
        two.step(int(node), int(names[label]))
    one.reset(two_labels := np.where(two.labels < 0, -1, np.argsort(names)[two.labels]))
    assert (two_labels >= 0).sum() == 30
    np.testing.assert_allclose(two.all_scores()[:, names], one.all_scores(), atol=1e-4)


@pytest.mark.parametrize("costs", ["partial", "completed", "relaxed", "expected"])
def test_untrained_it_is_the_untrained_rule(costs: str) -> None:
    shared = pc.Policy.untrained(kind="shared", costs=costs)
    problems = [pc.make_scene(80, "B", seed=1), halfway_instance(2)]
    problems += [
        pc.Instance.from_crf(random_crf(seed, n_nodes=12, n_labels=4, forbidden=0.1))
        for seed in range(3)
    ]
    for instance in problems:
        residual = pc.Policy.untrained(
            n_labels=instance.crf.n_labels, n_features=instance.features.shape[1], costs=costs
        )
        one, two = Engine(shared, instance).label_all(), Engine(residual, instance).label_all()
        for a, b in zip(one, two, strict=True):
            assert np.array_equal(a, b)


def test_trust_weighs_what_was_learned() -> None:
    scene, policy = pc.make_scene(60, "B", seed=3), some_policy(4)
    rule = Engine(pc.Policy.untrained(kind="shared", foresight=1), scene).all_scores()
    distances = []
    for trust in (0.0, 0.1, 1.0):
        spec = replace(policy.spec, trust=trust)
        scores = Engine(pc.Policy(spec, policy.weights), scene).all_scores()
        distances.append(np.abs(scores - rule).max())
    assert distances[0] == 0.0
    assert 0 < distances[1] < distances[2]
    with pytest.raises(InvalidOption, match="trust is -1; it must be a number, 0 or more"):
        replace(policy.spec, trust=-1)


@pytest.mark.parametrize("seed", range(4))
def test_one_policy_for_every_crf(seed: int) -> None:
    """No features given, other numbers of labels, tables, custom cliques, forbidden labels."""
    policy = some_policy(seed)
    crfs = [
        random_crf(seed, n_nodes=13, n_labels=2 + seed, forbidden=0.1, ragged=seed % 2 == 1),
        halfway_crf(seed),
        pc.CRF(np.random.default_rng(seed).normal(size=(9, 40))),
        pc.CRF(np.zeros((3, 1))),
    ]
    for crf in crfs:
        solution = pc.solve(crf, policy)
        assert solution.energy == crf.energy(solution.labels)
        assert np.isfinite(crf.unary[np.arange(crf.n_nodes), solution.labels]).all()
        assert sorted(solution.order.tolist()) == list(range(crf.n_nodes))


def test_a_file_holds_it(tmp_path: Path) -> None:
    policy = some_policy(1)
    policy.save(tmp_path / "shared.safetensors")
    back = pc.load_policy(tmp_path / "shared.safetensors")
    assert back.spec == policy.spec
    assert "any labels" in repr(back)
    scene = pc.make_scene(40, "C", n_labels=9)
    assert np.array_equal(Engine(back, scene).all_scores(), Engine(policy, scene).all_scores())


def test_names_of_an_instances_columns_are_not_blocks() -> None:
    scene = pc.make_scene(20, "A", n_labels=3)
    given = {"n_labels": 3, "n_features": 13, "feature_names": scene.feature_names}
    spec = pc.Policy.untrained(kind="shared", **given).spec
    assert (spec.n_labels, spec.n_features, spec.feature_names) == (0, 2, UNIT_BLOCKS)
    older = pc.Policy.untrained(kind="shared", units=False, **given).spec
    assert older.feature_names == PAPER_BLOCKS
    own = pc.Policy.untrained(kind="shared", feature_names=("warmth", "entropy")).spec
    assert own.feature_names == ("warmth", "entropy")
    with pytest.raises(InvalidOption, match="n_labels is 0; it must be whole, at least 1"):
        pc.Policy.untrained(kind="residual", n_features=3)


def test_features_are_read_by_block() -> None:
    scene = pc.make_scene(30, "B", n_labels=4)
    engine = Engine(pc.Policy.untrained(kind="shared", units=False), scene)
    inputs = static_inputs(engine.policy.spec, scene, engine.parts.completion)
    at = {name: k for k, name in enumerate((*STATIC_INPUTS, *PAPER_BLOCKS))}
    assert inputs.shape == (30, 4, len(at))
    features = {name: scene.features[:, k] for k, name in enumerate(scene.feature_names)}
    for label in range(4):
        confidence = inputs[:, label, at["box_confidence"]]
        assert np.array_equal(confidence, features[f"box_confidence:{label}"])
        assert np.array_equal(inputs[:, label, at["entropy"]], features["entropy"])
        np.testing.assert_allclose(
            inputs[:, label, at["unary"]], features[f"unary:{label}"], atol=1e-6
        )
    assert not block_of(replace(scene, feature_names=()), "box_confidence").any()


def test_the_papers_sizes_are_refused_where_they_are_needed() -> None:
    with pytest.raises(InvalidOption, match="n_features is 0; it must be whole, at least 1"):
        pc.Policy.untrained(kind="paper", n_labels=3)
