"""Brute force against itertools and the plain-Python energy."""

import numpy as np
import pytest

import policrf as pc
from policrf.errors import CustomPotentialFailed, InvalidOption, TooLarge
from policrf.testing import random_crf, reference_minimum
from policrf.testing.reference import all_labelings, reference_energy


@pytest.mark.parametrize("seed", range(12))
def test_finds_the_minimum_of_every_group_mixed(seed):
    crf = random_crf(seed, n_nodes=5, forbidden=0.2 * (seed % 2), ragged=seed % 3 == 0)
    solution = pc.solve(crf, "brute_force")
    assert solution.energy == pytest.approx(reference_minimum(crf), abs=1e-12)
    assert solution.optimal
    assert solution.lower_bound == pytest.approx(solution.energy, rel=1e-13)
    assert solution.lower_bound <= solution.energy


@pytest.mark.parametrize("scale", [1e9, 1e-9])
def test_finds_the_minimum_at_any_scale(scale):
    crf = random_crf(3, n_nodes=5, scale=scale)
    assert pc.solve(crf, "brute_force").energy == pytest.approx(reference_minimum(crf), rel=1e-12)


def test_visits_every_allowed_labeling_once():
    unary = np.zeros((4, 3))
    unary[0, 1] = unary[2, 0] = unary[2, 2] = np.inf
    crf = pc.CRF(unary, pc.Potts([[0, 1], [1, 3]], 1.0))
    assert pc.solve(crf, "brute_force").info["labelings"] == 2 * 3 * 1 * 3


def test_two_energies_that_differ_in_the_last_digits():
    unary = np.full((8, 2), 1e6)
    unary[5, 1] -= 1e-8
    labels = pc.solve(pc.CRF(unary), "brute_force").labels
    assert labels[5] == 1


def test_more_labelings_than_the_limit():
    crf = pc.CRF(np.zeros((4, 2)))
    assert pc.solve(crf, "brute_force", limit=16).optimal
    with pytest.raises(TooLarge, match="16 labelings, more than limit=15"):
        pc.solve(crf, "brute_force", limit=15)
    with pytest.raises(TooLarge, match=r"10\^30"):
        pc.solve(pc.CRF(np.zeros((100, 2))), "brute_force")
    with pytest.raises(InvalidOption, match="limit"):
        pc.solve(crf, "brute_force", limit=0)


def test_nothing_allowed_is_a_proven_infinity():
    barred = np.full((2, 2), np.inf)
    solution = pc.solve(pc.CRF(np.zeros((2, 2)), pc.Tables([[0, 1]], [barred])), "brute_force")
    assert solution.energy == np.inf
    assert solution.optimal


def test_stops_in_the_middle_without_a_claim():
    crf = random_crf(1, n_nodes=12, n_labels=3, groups=("potts", "hop1"))
    stopped = pc.solve(crf, "brute_force", callback=lambda progress: True)
    assert not stopped.optimal
    assert stopped.lower_bound == -np.inf
    assert stopped.info["labelings"] < 3**12
    assert stopped.energy == pytest.approx(reference_energy(crf, stopped.labels.tolist()))


def test_a_failing_custom_function_is_named():
    def fails(labels, parameters):
        if labels.sum() == 3:
            raise ValueError("three")
        return 0.0

    crf = pc.CRF(np.zeros((3, 2)), pc.Custom([[0, 1, 2]], fails))
    with pytest.raises(CustomPotentialFailed, match="fails"):
        pc.solve(crf, "brute_force")


def test_first_of_equals_is_the_same_every_time():
    crf = pc.CRF(np.zeros((5, 3)), pc.Potts([[0, 1]], -1.0))
    first, second = (pc.solve(crf, "brute_force").labels for _ in range(2))
    assert first.tolist() == second.tolist()
    assert sum(1 for y in all_labelings(crf) if crf.energy(y) == -1.0) > 1
