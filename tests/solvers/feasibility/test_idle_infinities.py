"""Infinite entries of tables where a unary forbids the label anyway."""

import itertools

import numpy as np

import policrf as pc
from policrf.solvers.feasibility.idle_infinities import without_idle_infinities


def test_infinite_entries_at_forbidden_labels_say_nothing():
    rng = np.random.default_rng(0)
    unary = rng.normal(size=(3, 3))
    unary[0, 2] = unary[1, 0] = np.inf
    tables = rng.normal(size=(2, 3, 3))
    tables[0, 2] = tables[0, :, 0] = np.inf
    tables[1, 0] = np.inf
    crf = pc.CRF(unary, pc.Tables([[0, 1], [1, 2]], tables))
    simpler = without_idle_infinities(crf)
    assert np.isfinite(simpler.arrays.data).all()
    for labels in itertools.product(range(3), repeat=3):
        assert simpler.energy(labels) == crf.energy(labels)
    tables[1, 1, 1] = np.inf  # both labels are allowed
    kept = without_idle_infinities(pc.CRF(unary, pc.Tables([[0, 1], [1, 2]], tables)))
    assert np.isinf(kept.arrays.data).sum() == 1
    assert without_idle_infinities(pc.CRF(unary, pc.Potts([[0, 1]], 1.0))) is None
    assert without_idle_infinities(pc.CRF(np.zeros((3, 3)), *crf.potentials)) is None
