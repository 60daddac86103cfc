"""A potential class from outside the package, as docs/extending says: one file and a list."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.compiled import kernel
from policrf.crf.checks import per_clique, require_at_least_zero
from policrf.crf.cliques import Cliques
from policrf.crf.io import native
from policrf.crf.potentials import POTENTIALS
from policrf.crf.potentials.box_agreement import box_labels
from policrf.errors import InvalidFile, InvalidPotential
from policrf.testing import check_potential


@kernel
def truncated_count(labels, parameters):
    different = 0
    for label in labels:
        different += label != parameters[0]
    return float(parameters[1] * min(different, parameters[2]))


class TruncatedCount(pc.Custom):
    """w · min(#{y_i ≠ l}, cap)."""

    def __init__(self, cliques, labels, weights, caps):
        shared = Cliques(cliques, group=self.name)
        self.labels = box_labels(self.name, labels, len(shared))
        self.weights = per_clique(self.name, "weights", weights, len(shared))
        self.caps = per_clique(self.name, "caps", caps, len(shared))
        require_at_least_zero(self.name, "weights", self.weights)
        parameters = np.stack([self.labels, self.weights, self.caps], axis=1)
        super().__init__(shared, truncated_count, parameters)

    def own_fields(self):
        return {"labels": self.labels, "weights": self.weights, "caps": self.caps}


GROUP = TruncatedCount([[0, 1, 2], [2, 3]], [1, 0], 0.5, [2, 1])


def test_it_is_a_potential_like_any_other():
    check_potential(GROUP, n_nodes=4, n_labels=2)
    crf = pc.CRF(np.zeros((4, 2)), GROUP)
    for y in itertools.product(range(2), repeat=4):
        first = min(sum(label != 1 for label in y[:3]), 2)
        second = min(sum(label != 0 for label in y[2:]), 1)
        assert crf.terms(y)["custom"] == 0.5 * (first + second)
    with pytest.raises(InvalidPotential, match=r"TruncatedCount: weights\[0\] is -1.0"):
        TruncatedCount([[0]], [0], -1.0, 1)


def test_a_listed_class_is_loaded_without_its_function(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    crf = pc.CRF(np.random.default_rng(0).normal(size=(4, 2)), pc.Potts([[0, 1]], 0.3), GROUP)
    crf.save(path)
    with pytest.raises(InvalidFile, match="unknown group 'TruncatedCount'"):
        pc.CRF.load(path)
    monkeypatch.setattr(native, "POTENTIALS", (*POTENTIALS, TruncatedCount))
    again = pc.CRF.load(path)
    assert isinstance(again.potentials[1], TruncatedCount)
    assert again.potentials[1].caps.tolist() == [2.0, 1.0]
    assert again.energy([0, 1, 1, 0]) == crf.energy([0, 1, 1, 0])
