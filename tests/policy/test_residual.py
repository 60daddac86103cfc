"""The residual kind: untrained it is highest confidence first and never ends above its default."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.crf.features import unary_distribution
from policrf.crf.units import cost_unit
from policrf.policy.conditional import LEVELS, level, margins
from policrf.policy.engine import Engine
from policrf.testing import random_crf, reference_energy


def untrained(instance: pc.Instance, costs: str, **fields) -> pc.Policy:
    return pc.Policy.untrained(
        n_labels=instance.crf.n_labels,
        n_features=instance.features.shape[1],
        costs=costs,
        **fields,
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("squash", [True, False])
def test_untrained_it_is_highest_confidence_first(seed: int, squash: bool) -> None:
    if seed < 3:
        scene = pc.make_scene(120, "AB"[seed % 2], seed=seed)
        # Scenes hold equal margins, which the two solvers round apart in different ways.
        noise = np.random.default_rng(seed).normal(scale=1e-3, size=scene.crf.unary.shape)
        crf = pc.CRF(scene.crf.unary + noise, *scene.crf.potentials)
    else:
        crf = random_crf(seed, n_nodes=12, n_labels=4)
    instance = pc.Instance.from_crf(crf)
    hand_made = pc.solve(instance, "highest_confidence_first:descend=false")
    learned = pc.solve(instance, untrained(instance, "partial", squash=squash))
    assert learned.order.tolist() == hand_made.order.tolist()
    assert learned.labels.tolist() == hand_made.labels.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_score_is_what_a_label_leads_by(seed: int) -> None:
    """Completed costs against energies of complete labelings."""
    crf = random_crf(seed, n_nodes=8, n_labels=3)
    instance = pc.Instance.from_crf(crf)
    rng = np.random.default_rng(seed)
    default = rng.integers(0, 3, 8)
    engine = Engine(untrained(instance, "completed", squash=False), instance, default=default)
    for node in rng.permutation(8)[:5]:
        engine.step(int(node), int(rng.integers(3)))
    completed = np.where(engine.labels >= 0, engine.labels, default)
    for node in np.flatnonzero(engine.labels < 0):
        energies = []
        for label in range(3):
            completed_there = completed.copy()
            completed_there[node] = label
            energies.append(reference_energy(crf, completed_there.tolist()))
        expected = [min(energies[:k] + energies[k + 1 :]) - energies[k] for k in range(3)]
        scores = engine.scores(int(node)) * cost_unit(crf.arrays)
        assert scores == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("preset", ["A", "B"])
@pytest.mark.parametrize("seed", range(3))
def test_a_greedy_step_on_completed_costs_never_raises_the_completed_energy(
    preset: str, seed: int
) -> None:
    instance = pc.make_scene(80, preset, seed=seed)
    default = np.random.default_rng(seed).integers(0, 21, 80)
    engine = Engine(untrained(instance, "completed"), instance, default=default)
    energy = instance.crf.energy(default)
    for _ in range(80):
        node, label, _ = engine.best()
        engine.step(node, label)
        now = instance.crf.energy(np.where(engine.labels >= 0, engine.labels, default))
        assert now <= energy + 1e-9
        energy = now


@pytest.mark.parametrize("seed", range(3))
def test_started_from_alpha_expansion_it_ends_no_higher(seed: int) -> None:
    instance = pc.make_scene(120, "B", seed=seed)
    start = pc.solve(instance, "alpha_expansion")
    policy = untrained(instance, "completed")
    labels, _, _ = Engine(policy, instance, default=start.labels).label_all()
    assert instance.crf.energy(labels) <= start.energy + 1e-9


def test_relaxed_costs_fill_a_quota_that_single_nodes_cannot() -> None:
    """Ten nodes that each mildly prefer label 0, and a quota that wants six of them at label 1."""
    unary = np.tile([0.0, 0.5], (10, 1)) + np.linspace(0, 0.1, 10)[:, None] * [0, 1]
    crf = pc.CRF(unary, pc.BoxSupport([list(range(10))], [1], 20.0, 6))
    instance = pc.Instance.from_crf(crf)
    energies = {
        costs: pc.solve(instance, untrained(instance, costs)).energy
        for costs in ("partial", "completed", "relaxed")
    }
    best = pc.solve(crf, "brute_force").energy
    assert energies["relaxed"] == pytest.approx(best)
    assert energies["completed"] == energies["partial"] == pytest.approx(20.0)


@pytest.mark.parametrize("seed", range(3))
def test_expected_costs_weigh_unlabeled_neighbours_by_their_unaries(seed: int) -> None:
    crf = random_crf(seed, n_nodes=9, n_labels=3, groups=["potts"])
    instance = pc.Instance.from_crf(crf)
    engine = Engine(untrained(instance, "expected", squash=False, foresight=0), instance)
    engine.step(2, 1)
    engine.step(5, 0)
    unit = cost_unit(crf.arrays)
    beliefs = unary_distribution(crf.unary / unit)
    for node, label in ((2, 1), (5, 0)):
        beliefs[node] = np.eye(3)[label]
    costs = crf.unary.copy()
    for (i, j), weight in zip(crf.arrays.edges, crf.arrays.edge_weights, strict=True):
        costs[i] += weight * (1 - beliefs[j])
        costs[j] += weight * (1 - beliefs[i])
    for node in (0, 3, 8):
        expected = [np.delete(costs[node], k).min() - costs[node, k] for k in range(3)]
        assert engine.scores(node) * unit == pytest.approx(expected, abs=1e-5)


def test_untrained_on_expected_costs_it_beats_highest_confidence_first() -> None:
    """The default start: over scenes of both regimes and all terms, by a clear margin."""
    ratio = []
    for seed in range(4):
        instance = pc.make_scene(250, "AB"[seed % 2], seed=seed)
        policy = pc.Policy.untrained(n_labels=21, n_features=85)
        hand_made = pc.solve(instance, "highest_confidence_first:descend=false").energy
        ratio.append(pc.solve(instance, policy).energy / hand_made)
    assert np.mean(ratio) < 0.95


def test_margins_with_forbidden_labels_are_numbers() -> None:
    out = np.empty(3)
    for costs, expected in (
        ([1.0, 3.0, 2.0], [1.0, -2.0, -1.0]),
        ([1.0, 1.0, 2.0], [0.0, 0.0, -1.0]),
        ([np.inf, 3.0, np.inf], [-1e6, 1e6, -1e6]),
        ([np.inf, np.inf, np.inf], [-1e6, -1e6, -1e6]),
        ([0.0, 1e9, np.inf], [1e6, -1e6, -1e6]),
    ):
        margins(np.array(costs), out)
        assert out.tolist() == expected


def test_counts_are_seen_in_eighths() -> None:
    assert [level(k, 16) for k in range(17)] == [k // 2 for k in range(16)] + [LEVELS]
    assert level(0, 0) == level(5, -1) == level(3, 2) == LEVELS
