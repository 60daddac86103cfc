"""Beliefs by mean field against their equation, and which quotas are pursued."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.mdp.completion import new_completion
from policrf.mdp.state import default_labels
from policrf.testing import random_crf


def look_ahead(crf: pc.CRF, sweeps: int = 0, limit: float = 0.0):
    return new_completion(crf.arrays, default_labels(crf), beliefs=True, sweeps=sweeps, limit=limit)


@pytest.mark.parametrize("seed", range(4))
def test_beliefs_satisfy_the_mean_field_equation(seed: int) -> None:
    crf = random_crf(seed, n_nodes=12, n_labels=3, groups=["potts"])
    beliefs = look_ahead(crf, sweeps=200).beliefs.astype(float)
    costs = crf.unary.copy()
    for (i, j), weight in zip(crf.arrays.edges, crf.arrays.edge_weights, strict=True):
        costs[i] -= weight * beliefs[j]
        costs[j] -= weight * beliefs[i]
    expected = np.exp(-costs) / np.exp(-costs).sum(axis=1, keepdims=True)
    # A node is not looked at again for changes below 1e-3, and e^x is good to about 1 %.
    np.testing.assert_allclose(beliefs, expected, atol=0.02)


def test_without_sweeps_beliefs_are_those_of_the_unaries() -> None:
    crf = random_crf(1, n_nodes=12, n_labels=3, groups=["potts"])
    expected = np.exp(-crf.unary) / np.exp(-crf.unary).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(look_ahead(crf).beliefs, expected, rtol=1e-5)


@pytest.mark.parametrize(("price", "pursued"), [(1.0, True), (1.6, True), (1.8, False)])
def test_a_quota_is_given_up_where_its_members_cost_more_than_its_share(
    price: float, pursued: bool
) -> None:
    """Four members at `price` each, two wanted, a penalty of 4: the limit of 0.85 is 3.4."""
    crf = pc.CRF(np.tile([0.0, price], (4, 1)), pc.BoxSupport([[0, 1, 2, 3]], [1], 4.0, 2))
    assert look_ahead(crf, limit=0.85).penalties.tolist() == [4.0 if pursued else 0.0]
    assert look_ahead(crf).penalties.tolist() == [4.0]


def test_edges_inside_a_clique_do_not_make_its_quota_dear() -> None:
    unary = np.tile([0.0, 1.0], (4, 1))
    ring = [[0, 1], [1, 2], [2, 3], [3, 0]]
    crf = pc.CRF(unary, pc.Potts(ring, 50.0), pc.BoxSupport([[0, 1, 2, 3]], [1], 6.0, 4))
    assert look_ahead(crf, limit=0.85).penalties.tolist() == [6.0]


def test_a_member_is_promised_to_one_label_only() -> None:
    """Two boxes on the same four nodes want three each: the cheaper one gets them."""
    unary = np.tile([0.0, 0.1, 0.2], (4, 1))
    members = [[0, 1, 2, 3], [0, 1, 2, 3]]
    crf = pc.CRF(unary, pc.BoxSupport(members, [1, 2], 10.0, 3))
    assert look_ahead(crf, limit=0.85).penalties.tolist() == [10.0, 0.0]
    halves = pc.CRF(unary, pc.BoxSupport(members, [1, 2], 10.0, 2))
    assert look_ahead(halves, limit=0.85).penalties.tolist() == [10.0, 10.0]


def test_quotas_beyond_reach_and_forbidden_labels_give_no_nan() -> None:
    unary = np.array([[0.0, np.inf], [np.inf, 0.0], [0.0, np.inf]])
    crf = pc.CRF(
        unary,
        pc.Potts([[0, 1], [1, 2]], 1.0),
        pc.BoxSupport([[0, 1, 2], [0, 1]], [1, 1], 5.0, [2, 3]),
    )
    seen = look_ahead(crf, sweeps=10, limit=0.85)
    assert seen.penalties.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(seen.beliefs, [[1, 0], [0, 1], [1, 0]], atol=1e-6)


def test_looking_ahead_lowers_the_energy_of_the_untrained_policy() -> None:
    scenes = [pc.make_scene(200, "ABC"[seed % 3], seed=seed) for seed in range(9)]
    energies = {}
    for foresight, limit in ((0, 0.0), (10, 1.0)):
        policy = pc.Policy.untrained(
            n_labels=21, n_features=85, foresight=foresight, quota_limit=limit
        )
        energies[foresight] = np.mean([pc.solve(scene, policy).energy for scene in scenes])
    assert energies[10] < 0.99 * energies[0]
