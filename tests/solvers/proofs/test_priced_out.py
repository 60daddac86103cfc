import numpy as np
import pytest

import policrf as pc
from policrf.solvers.proofs.dead_end_elimination import allowed_labels
from policrf.solvers.proofs.priced_out import forbid_priced_out
from policrf.testing import random_crf


def alive_of(crf):
    alive = allowed_labels(crf.unary)
    forbid_priced_out(crf.arrays, alive)
    return alive


def test_a_label_cost_of_infinity_is_a_forbidden_label():
    crf = pc.CRF(np.zeros((4, 3)), pc.LabelCost([[0, 1, 2]], [[1.0, np.inf, 2.0]]))
    assert alive_of(crf).tolist() == [[True, False, True]] * 3 + [[True, True, True]]


def test_a_count_that_is_allowed_keeps_the_label():
    exactly_two = pc.CountFunction([[0, 1, 2]], [np.inf, np.inf, 0.0, np.inf], labels=[1])
    assert alive_of(pc.CRF(np.zeros((3, 2)), exactly_two)).all()
    beyond = pc.CountFunction([[0, 1]], [0.0, np.inf, np.inf, 0.0], labels=[1])
    assert not alive_of(pc.CRF(np.zeros((2, 2)), beyond))[:, 1].any()


@pytest.mark.parametrize("seed", range(40))
def test_no_allowed_labeling_is_lost(seed):
    crf = random_crf(seed, groups=("label_cost", "counts"), n_nodes=4, forbidden=0.4)
    alive = alive_of(crf)
    for labels in np.ndindex(*crf.cardinalities):
        if np.isfinite(crf.energy(labels)):
            assert alive[np.arange(4), labels].all()


def test_a_model_that_is_impossible_is_seen_at_once():
    unary = [[0.0, np.inf, np.inf], *[[1.0, 2.0, 3.0]] * 30]
    crf = pc.CRF(
        unary, pc.Potts([[k, k + 1] for k in range(30)], 1.0),
        pc.LabelCost([range(31)], [[np.inf, 1.0, 1.0]]),
    )  # fmt: skip
    found = pc.solve(crf, "exact", seconds=5)
    assert found.optimal
    assert found.energy == np.inf
    assert found.info["infeasible"]
