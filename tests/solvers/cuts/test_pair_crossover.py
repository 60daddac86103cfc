"""Regions taken all at once are those that are taken one after the other."""

import numpy as np
import pytest

import policrf as pc
from policrf.solvers.cuts.crossover import Incumbent
from policrf.solvers.cuts.pair_crossover import is_of_pairs, pair_mixture
from policrf.testing import random_crf


@pytest.mark.parametrize("seed", range(20))
def test_the_mixture_is_that_of_crossover(seed):
    rng = np.random.default_rng(seed)
    crf = pc.grid(rng.normal(size=(12, 12, 3)), rng.uniform(-0.2, 0.5, (12, 12)))
    pairs = rng.integers(0, 144, (20, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    crf = crf.with_potentials(
        *crf.potentials,
        pc.Tables(pairs, rng.normal(size=(len(pairs), 3, 3))),
        pc.Tables([[5], [7]], rng.normal(size=(2, 3))),
    )
    one = rng.integers(0, 3, 144)
    two = np.where(rng.random(144) < 0.3, rng.integers(0, 3, 144), one)
    incumbent = Incumbent(crf.arrays, one)
    incumbent.keep(two)
    mixed = pair_mixture(crf, one, two)
    assert mixed.tolist() == incumbent.labels.tolist()
    assert crf.energy(mixed) < min(crf.energy(one), crf.energy(two))


def test_forbidden_labelings_are_not_mixed():
    crf = pc.CRF([[0.0, np.inf], [0.0, 1.0]], pc.Potts([[0, 1]], [0.5]))
    assert pair_mixture(crf, np.array([1, 0]), np.array([0, 1])).tolist() == [0, 1]


def test_what_is_of_pairs():
    assert is_of_pairs(random_crf(0, n_nodes=6, n_labels=3, groups=("potts",)).arrays)
    assert not is_of_pairs(random_crf(0, n_nodes=6, n_labels=3, groups=("hop1",)).arrays)
    triple = pc.CRF(np.zeros((3, 2)), pc.Tables([[0, 1, 2]], np.zeros((1, 2, 2, 2))))
    assert not is_of_pairs(triple.arrays)
