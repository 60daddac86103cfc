"""Frustrated fields: sizes, seeds, wrong options."""

from __future__ import annotations

import numpy as np
import pytest

from policrf.errors import InvalidOption, UnknownName
from policrf.scenes import FRUSTRATED, make_frustrated


def test_sizes_are_as_asked():
    crf = make_frustrated("random", 200, 3, degree=6)
    assert (crf.n_nodes, crf.n_labels, len(crf.arrays.clique_kind)) == (200, 3, 600)
    third = make_frustrated("third_order", 90, 2, degree=4)
    assert third.arrays.clique_ptr.tolist() == list(range(0, 361, 3))
    scopes = third.arrays.clique_nodes.reshape(-1, 3)
    assert len(np.unique(scopes, axis=0)) == 120
    assert (np.diff(scopes, axis=1) > 0).all()
    ising = make_frustrated("ising", 110)
    assert (ising.n_nodes, len(ising.arrays.edges)) == (100, 180)
    assert set(ising.arrays.edge_weights.tolist()) == {-1.0, 1.0}
    glass = make_frustrated("glass", 400, degree=8)
    assert abs(glass.arrays.edge_weights.mean()) < 0.1
    assert 0.9 < glass.arrays.edge_weights.std() < 1.1


@pytest.mark.parametrize("name", FRUSTRATED)
def test_a_seed_gives_one_field(name):
    labels = np.arange(49) % 2
    energies = [make_frustrated(name, 49, seed=seed).energy(labels) for seed in (1, 1, 2)]
    assert energies[0] == energies[1] != energies[2]


def test_wrong_options_are_refused():
    with pytest.raises(UnknownName, match="random, glass"):
        make_frustrated("smooth", 100)
    with pytest.raises(InvalidOption, match="degree"):
        make_frustrated("random", 20, degree=12)
