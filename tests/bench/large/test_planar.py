"""Matching finds the minimum of the Ising glass, and takes nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.bench.large.planar import ising_minimum
from policrf.errors import UnsupportedPotential
from policrf.scenes import make_frustrated
from policrf.scenes.frustrated import grid_edges
from policrf.testing.reference import reference_minimum


@pytest.mark.parametrize("seed", range(4))
def test_matching_finds_the_minimum(seed):
    pytest.importorskip("pymatching")
    crf = make_frustrated("ising", 9, 2, 4, seed)
    assert crf.energy(ising_minimum(crf)) == reference_minimum(crf)
    weights = np.random.default_rng(seed).integers(-5, 6, 12).astype(float)
    crf = pc.CRF(np.zeros((9, 2)), pc.Potts(grid_edges(3, 3), weights))
    assert crf.energy(ising_minimum(crf)) == reference_minimum(crf)


def test_other_fields_are_refused():
    pytest.importorskip("pymatching")
    edges = grid_edges(4, 4)
    edges[0] = 0, 15
    others = [
        make_frustrated("grid", 16, 2, 4),
        make_frustrated("glass", 16, 2, 3),
        pc.CRF(np.zeros((16, 2)), pc.Potts(edges, np.ones(24))),
        pc.CRF(np.zeros((16, 2)), pc.Potts(grid_edges(4, 4), np.full(24, 0.5))),
    ]
    for crf in others:
        with pytest.raises(UnsupportedPotential, match="matching takes"):
            ising_minimum(crf)
