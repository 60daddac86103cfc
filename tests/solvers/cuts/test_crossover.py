"""Crossover takes the better labeling region by region; quota moves keep the energy they report."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.crf.changes import load_labels
from policrf.crf.state import new_state
from policrf.solvers.cuts.crossover import Incumbent
from policrf.solvers.cuts.quota_moves import bring, exchange


@pytest.mark.parametrize("seed", range(10))
def test_the_best_mixture_of_regions(seed):
    rng = np.random.default_rng(seed)
    edges = np.stack([np.arange(11), np.arange(1, 12)], 1)
    crf = pc.CRF(rng.normal(size=(12, 3)), pc.Potts(edges[::2], 1.0), pc.Tables(
        edges[1::2], rng.normal(size=(len(edges[1::2]), 3, 3))))  # fmt: skip
    one, two = rng.integers(0, 3, (2, 12))
    two[[3, 7, 8]] = one[[3, 7, 8]]
    regions = [0, 1, 2], [4, 5, 6], [9, 10, 11]
    mixtures = []
    for choice in itertools.product([False, True], repeat=3):
        mixture = one.copy()
        for take, region in zip(choice, regions, strict=True):
            mixture[region] = two[region] if take else one[region]
        mixtures.append(crf.energy(mixture))
    best = Incumbent(crf.arrays, one)
    best.keep(two)
    # Nodes of a region that agree by chance only split it further.
    assert best.energy <= min(mixtures) + 1e-9
    assert best.energy == pytest.approx(crf.energy(best.labels))


def test_a_forbidden_labeling_is_left_for_an_allowed_one():
    crf = pc.CRF([[np.inf, 5.0], [0.0, 1.0]])
    best = Incumbent(crf.arrays, np.array([0, 0]))
    assert best.energy == np.inf
    assert best.keep(np.array([1, 1]))
    assert best.labels.tolist() == [1, 0]
    assert not best.keep(np.array([0, 0]))


@pytest.mark.parametrize("seed", range(6))
def test_quota_moves(seed):
    rng = np.random.default_rng(seed)
    n = 40
    edges = np.array([p for p in itertools.combinations(range(n), 2) if rng.random() < 0.1])
    box = np.arange(5, 35)
    crf = pc.CRF(
        rng.normal(size=(n, 4)),
        pc.Potts(edges, rng.random(len(edges))),
        pc.BoxAgreement([box], [2], [0.3]),
        pc.BoxSupport([box], [1], [7.0], [18]),
    )
    state = new_state(crf.arrays)

    def energy_after(step, *direction):
        while not step(crf.arrays, state, 1, *direction, 100):
            pass
        energy = crf.energy(state.labels)
        assert state.total[0] == pytest.approx(energy)
        return energy

    load_labels(crf.arrays, state, np.zeros(n, np.int64))
    grown = energy_after(bring, True)
    assert state.matches[1] == 18
    assert energy_after(exchange) <= grown
    assert state.matches[1] == 18

    load_labels(crf.arrays, state, np.ones(n, np.int64))
    everyone = state.total[0]
    assert energy_after(bring, False) < everyone
    assert state.matches[1] >= 18
