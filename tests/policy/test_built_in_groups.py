"""Policies, highest confidence first and tree search on CRFs with each of the built-in groups."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.policy.engine import Engine
from policrf.testing import random_crf, reference_minimum
from policrf.testing.random_groups import BUILT_IN
from policrf.testing.reference import reference_energy

groups = pytest.mark.parametrize("group", sorted(BUILT_IN))


def untrained(crf: pc.CRF, **options: object) -> pc.Policy:
    features = pc.Instance.from_crf(crf).features.shape[1]
    return pc.Policy.untrained(n_labels=crf.n_labels, n_features=features, **options)


@groups
@pytest.mark.parametrize("seed", range(3))
def test_labelings_are_scored_by_the_model(group: str, seed: int) -> None:
    crf = random_crf(seed, groups=("potts", group), forbidden=0.1, ragged=seed == 2)
    lowest = reference_minimum(crf)
    for solver in (untrained(crf), "untrained", "highest_confidence_first"):
        solution = pc.solve(crf, solver)
        assert solution.energy == pytest.approx(reference_energy(crf, solution.labels.tolist()))
        assert not solution.energy < lowest - 1e-9
    searched = pc.solve(crf, untrained(crf), search=8)
    assert searched.energy == pytest.approx(reference_energy(crf, searched.labels.tolist()))


@groups
def test_partial_costs_are_differences_of_the_energy_of_a_part(group: str) -> None:
    """Untrained, with partial costs and no gain: margins of E(labels + l) over the labels l."""
    crf = random_crf(3, n_nodes=9, n_labels=4, groups=("potts", group))
    policy = untrained(crf, costs="partial", gain=0.0, squash=False, units=False)
    engine = Engine(policy, pc.Instance.from_crf(crf))
    rng = np.random.default_rng(0)
    for node in rng.permutation(9):
        labels = engine.labels
        energies = []
        for label in range(4):
            labels[node] = label
            energies.append(reference_energy(crf, labels.tolist()))
        least, second = np.sort(energies)[:2]
        margins = [(second if e == least else least) - e for e in energies]
        np.testing.assert_allclose(engine.scores(int(node)), margins, atol=1e-5)
        engine.step(int(node), int(rng.integers(4)))
