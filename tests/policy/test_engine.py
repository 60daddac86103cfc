"""Steps, undo, weights that change, threads."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policy.builders import KINDS, random_instance, random_policy

import policrf as pc
from policrf.errors import InvalidLabeling, InvalidOption
from policrf.policy.engine import Engine, label_many
from policrf.testing import random_crf


def snapshot(engine: Engine) -> list[bytes]:
    """Every number that a step may change, but scratch space."""
    parts = engine.parts
    work = parts.work
    unlabeled = parts.state.labels < 0
    arrays = [
        *parts.state._replace(scratch=np.zeros(0)),
        parts.completion.labels,
        parts.completion.matches,
        work.rows,
        work.scores.values,
        work.scores.winners,
        work.best[unlabeled],
    ]
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


@pytest.mark.parametrize("journal", [1, 40, 100_000])
@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_undo_restores_every_bit(kind: str, costs: str, journal: int) -> None:
    """With a journal that holds everything, some steps, or none: what is not kept is recomputed."""
    instance = random_instance(70, 2)
    engine = Engine(random_policy(instance, kind, costs, 2), instance, journal=journal)
    rng = np.random.default_rng(0)
    trail: list[tuple[int, list[bytes]]] = []
    for _ in range(400):
        if engine.remaining and (not trail or rng.random() < 0.6):
            node = int(rng.choice(np.flatnonzero(engine.labels < 0)))
            trail.append((node, snapshot(engine)))
            engine.step(node, int(rng.integers(5)))
        else:
            node, before = trail.pop()
            assert engine.undo() == node
            assert snapshot(engine) == before
    fresh = Engine(engine.policy, instance)
    fresh.reset(engine.labels)
    assert np.array_equal(engine.all_scores(), fresh.all_scores())
    kept = [int(k) for k in engine.parts.work.journal.steps[: len(trail), 3]]
    if journal == 1 and kind != "shared":  # which keeps no messages: few scores may fit
        assert set(kept) <= {0}
    elif journal not in (1, 40):
        assert set(kept) <= {1}


@pytest.mark.parametrize("seed", range(3))
def test_undo_with_tables_and_custom_functions(seed: int) -> None:
    instance = pc.Instance.from_crf(random_crf(seed, n_nodes=12, n_labels=3, forbidden=0.1))
    engine = Engine(random_policy(instance, "residual", "relaxed", seed), instance, journal=15)
    start = snapshot(engine)
    for _ in range(12):
        node, label, _ = engine.best()
        engine.step(node, label)
    for _ in range(12):
        engine.undo()
    assert snapshot(engine) == start
    with pytest.raises(InvalidLabeling, match="no step to undo"):
        engine.undo()


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_the_way_to_a_labeling_does_not_matter(kind: str, costs: str) -> None:
    """Scores depend on the labeling to the last bit, not on the order of the steps."""
    instance = random_instance(50, 8)
    policy = random_policy(instance, kind, costs, 8)
    one, other, loaded = (Engine(policy, instance) for _ in range(3))
    rng = np.random.default_rng(1)
    nodes, labels = rng.permutation(50)[:30], rng.integers(0, 5, 30)
    for node, label in zip(nodes, labels, strict=True):
        one.step(int(node), int(label))
    for node, label in zip(nodes[::-1], labels[::-1], strict=True):
        other.step(int(node), int(label))
    loaded.reset(one.labels)
    assert np.array_equal(one.all_scores(), other.all_scores())
    assert np.array_equal(one.all_scores(), loaded.all_scores())
    assert one.best() == other.best() == loaded.best()


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_labeling_at_once_is_labeling_step_by_step(kind: str, costs: str) -> None:
    instance = random_instance(90, 5)
    policy = random_policy(instance, kind, costs, 5)
    engine = Engine(policy, instance, journal=5)
    steps = []
    while engine.remaining:
        node, label, score = engine.best()
        assert engine.scores(node)[label] == score == engine.all_scores().max()
        steps.append((node, label, score))
        engine.step(node, label)
    labels, order, scores = Engine(policy, instance, track=False).label_all()
    assert order.tolist() == [node for node, _, _ in steps]
    assert [int(labels[node]) for node in order] == [label for _, label, _ in steps]
    assert scores.tolist() == [score for _, _, score in steps]


def test_steps_that_are_none_are_refused() -> None:
    instance = random_instance(20, 0)
    engine = Engine(random_policy(instance, "paper", "partial", 0), instance)
    engine.step(3, 1)
    with pytest.raises(InvalidLabeling, match="node 3 is labeled already"):
        engine.step(3, 1)
    with pytest.raises(InvalidLabeling, match="no label 5"):
        engine.step(4, 5)
    with pytest.raises(InvalidLabeling, match="outside"):
        engine.scores(20)
    with pytest.raises(InvalidLabeling, match="journal"):
        engine.undo()


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_loading_another_policy_is_building_another_engine(kind: str, costs: str) -> None:
    instance = random_instance(40, 3)
    old, new = (random_policy(instance, kind, costs, seed) for seed in (2, 8))
    engine = Engine(old, instance, journal=40)
    engine.label_all()
    engine.load(new)
    fresh = Engine(new, instance, journal=40)
    assert snapshot(engine) == snapshot(fresh)
    assert np.array_equal(engine.all_scores(), fresh.all_scores())
    for one, other in zip(engine.label_all(), fresh.label_all(), strict=True):
        assert np.array_equal(one, other)
    with pytest.raises(InvalidOption, match="one spec"):
        engine.load(random_policy(instance, kind, costs, 2, width=16))


def test_threads_change_nothing() -> None:
    instances = [random_instance(40 + 3 * k, k) for k in range(8)]
    policy = random_policy(instances[0], "residual", "relaxed", 0)
    one, two = (label_many(policy, instances, threads=threads) for threads in (1, 3))
    for (labels, order, scores), (labels_2, order_2, scores_2) in zip(one, two, strict=True):
        assert np.array_equal(labels, labels_2)
        assert np.array_equal(order, order_2)
        assert np.array_equal(scores, scores_2)


def test_an_engine_that_tracks_nothing_never_calls_a_potential() -> None:
    """The paper kind sees labels only: a custom potential that would fail is never asked."""

    def forbidden(labels: np.ndarray, parameters: np.ndarray) -> float:
        raise AssertionError("called")

    crf = pc.CRF(np.zeros((4, 2)), pc.Custom([[0, 1, 2, 3]], forbidden))
    instance = pc.Instance(crf, np.ones((4, 1)), [[0, 1]], [[1.0, 1.0]])
    policy = random_policy(instance, "paper", "partial", 0)
    labels, order, _ = Engine(policy, instance, track=False).label_all()
    assert sorted(order.tolist()) == [0, 1, 2, 3]
    assert labels.min() >= 0
