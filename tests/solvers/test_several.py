"""Several solutions against enumeration."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption


def small_crf(seed, tied=False):
    rng = np.random.default_rng(seed)
    unary = rng.integers(0, 3, (5, 3)).astype(float) if tied else rng.normal(size=(5, 3))
    unary[1, 2] = np.inf
    edges = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]]
    weights = np.ones(5) if tied else rng.normal(size=5)
    return pc.CRF(unary, pc.Potts(edges, weights), pc.BoxSupport([[0, 2, 4]], [1], [0.5], [2]))


def all_energies(crf):
    labelings = itertools.product(range(crf.n_labels), repeat=crf.n_nodes)
    energies = [(crf.energy(list(labels)), labels) for labels in labelings]
    return sorted(pair for pair in energies if np.isfinite(pair[0]))


def all_of(solution):
    return [solution, *solution.others]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("solver", ["exact", "brute_force"])
def test_the_best_are_those_of_enumeration(solver, tied):
    for seed in range(4):
        crf = small_crf(seed, tied)
        found = all_of(pc.solve(crf, solver, solutions=9))
        expected = [energy for energy, _ in all_energies(crf)[:9]]
        assert [one.energy for one in found] == pytest.approx(expected, abs=1e-9)
        assert all(one.optimal for one in found)
        assert len({tuple(one.labels.tolist()) for one in found}) == 9
        assert [crf.energy(one.labels) for one in found] == [one.energy for one in found]


def test_all_labelings_come_back_where_more_are_asked_for():
    crf = pc.CRF([[0.0, 1.0], [0.0, np.inf]], pc.Potts([[0, 1]]))
    found = all_of(pc.solve(crf, "exact", solutions=5))
    assert [one.energy for one in found] == [0.0, 2.0]
    assert [one.optimal for one in found] == [True, True]
    tables = pc.Tables([[0, 1]], [[[0.0, np.inf], [np.inf, np.inf]]])
    only = pc.solve(pc.CRF(np.zeros((2, 2)), tables), "exact", solutions=3)
    assert only.optimal
    assert only.others == ()


@pytest.mark.parametrize("solver", ["icm", "alpha_expansion", "exact"])
@pytest.mark.parametrize("diversity", [2, 4])
def test_diverse_ones_differ_from_all_before(solver, diversity):
    rng = np.random.default_rng(3)
    crf = pc.grid(rng.uniform(size=(4, 4, 4)), 0.2)
    found = all_of(pc.solve(crf, solver, solutions=4, diversity=diversity))
    assert len(found) == 4
    for one, other in itertools.combinations(found, 2):
        assert np.count_nonzero(one.labels != other.labels) >= diversity
    for one in found[1:]:
        assert one.energy == crf.energy(one.labels)
        assert not one.optimal


def test_searches_without_a_proof_find_different_labelings():
    crf = pc.grid(np.random.default_rng(0).uniform(size=(5, 5, 3)), 0.3)
    found = all_of(pc.solve(crf, "icm", solutions=5))
    assert len({one.labels.tobytes() for one in found}) == 5
    again = all_of(pc.solve(crf, "icm", solutions=5))
    assert [one.labels.tolist() for one in again] == [one.labels.tolist() for one in found]


def test_others_are_searched_for_where_the_time_is_too_short_for_a_proof():
    """The first gets half of the time; what is left goes to labelings unlike it."""
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 2000, (8000, 2))
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    crf = pc.CRF(rng.normal(size=(2000, 4)), pc.Tables(edges, rng.normal(size=(len(edges), 4, 4))))
    found = pc.solve(crf, "exact", solutions=3, seconds=2)
    assert not found.optimal
    assert len({one.labels.tobytes() for one in all_of(found)}) == 3


def test_no_time_gives_the_first_only_and_no_proof():
    found = pc.solve(small_crf(0), "exact", solutions=3, seconds=0)
    assert found.others == ()
    assert not found.optimal


@pytest.mark.parametrize("wrong", [{"solutions": 0}, {"diversity": 0}, {"solutions": -2}])
def test_numbers_below_one_are_refused(wrong):
    with pytest.raises(InvalidOption, match=next(iter(wrong))):
        pc.solve(small_crf(0), "icm", **wrong)
