"""The graph of a CRF without an image: what the labels of two nodes may change, as weights."""

import numpy as np
import pytest

import policrf as pc
from policrf.crf.features import derive_graph

CHAIN = [[0, 1], [1, 2], [2, 3]]
WEIGHTS = np.array([0.5, 1.0, 3.0])
POTTS = 1.0 - np.eye(3)


def test_potts_in_three_forms_has_one_graph():
    unary = np.zeros((4, 3))
    edges, weights = derive_graph(pc.CRF(unary, pc.Potts(CHAIN, WEIGHTS)))
    for group in (
        pc.Pairwise(CHAIN, POTTS, WEIGHTS),
        pc.Pairwise(CHAIN, 2 * POTTS, WEIGHTS / 2),
        pc.Pairwise(CHAIN, POTTS - 7.0, -WEIGHTS),
        pc.Tables(CHAIN, WEIGHTS[:, None, None] * POTTS),
    ):
        other_edges, other = derive_graph(pc.CRF(unary, group))
        assert other_edges.tolist() == edges.tolist()
        np.testing.assert_allclose(other, weights, rtol=1e-6)
    # Node 1 hears more from the edge of 1.0 than from that of 0.5; the scores are w / mean(w).
    assert weights[1, 0] / weights[0, 1] == pytest.approx(np.exp(0.5 / 1.5))


def test_terms_on_the_same_edge_add_up():
    unary = np.zeros((4, 3))
    both = pc.CRF(unary, pc.Potts(CHAIN, 0.25), pc.Pairwise(CHAIN, POTTS, WEIGHTS - 0.25))
    np.testing.assert_allclose(
        derive_graph(both)[1], derive_graph(pc.CRF(unary, pc.Potts(CHAIN, WEIGHTS)))[1], rtol=1e-6
    )


def test_a_table_that_forbids_is_as_strong_as_the_strongest():
    forbids = np.where(POTTS > 0, np.inf, 0.0)
    unary = np.zeros((4, 3))
    tables = [0.5 * POTTS, forbids, 3.0 * POTTS]
    _, weights = derive_graph(pc.CRF(unary, pc.Tables(CHAIN, tables)))
    expected = derive_graph(pc.CRF(unary, pc.Potts(CHAIN, [0.5, 3.0, 3.0])))[1]
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    _, only = derive_graph(pc.CRF(unary, pc.Pairwise(CHAIN, forbids)))
    np.testing.assert_allclose(only[1], [0.5, 0.5])
    _, nothing = derive_graph(pc.CRF(unary, pc.Pairwise(CHAIN, np.zeros((3, 3)))))
    np.testing.assert_allclose(nothing[1], [0.5, 0.5])


def test_cliques_of_other_kinds_are_no_edges():
    crf = pc.CRF(np.zeros((4, 3)), pc.LabelCost([[0, 1]], 1.0), pc.CountFunction([[2, 3]], [0, 1]))
    edges, weights = derive_graph(crf)
    assert edges.shape == weights.shape == (0, 2)
    assert pc.Instance.from_crf(crf).edges.shape == (0, 2)
