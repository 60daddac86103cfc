"""One table for all edges: never copied an edge, forbidden entries, distances in O(L)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policrf as pc
from policrf.solvers.messages.graph.explicit_tables import explicit_tables
from policrf.solvers.messages.graph.factor_graph import build_factor_graph
from policrf.solvers.messages.graph.finite_costs import (
    OCTAVES,
    TableUses,
    finite_tables,
    table_spans,
)
from policrf.solvers.messages.graph.pair_terms import DENSE, LINEAR
from policrf.solvers.messages.pair_messages import pair_cost, send
from policrf.solvers.run import Run
from policrf.testing import reference_minimum

RING = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])


def graph_of(crf):
    return build_factor_graph(crf, explicit_tables(Run(crf, "test"), 10**6))


def both_forms(seed, *, forbidden=0.0, n_labels=4):
    """The same CRF with one shared table, and with a table for every edge."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_labels, n_labels))
    table[rng.random(table.shape) < forbidden] = np.inf
    table[0, 0] = 0.0
    weights = rng.random(5) + 0.1
    unary = rng.normal(size=(5, n_labels))
    shared = pc.CRF(unary, pc.Pairwise(RING, table, weights))
    return shared, pc.CRF(unary, pc.Tables(RING, weights[:, None, None] * table))


@pytest.mark.parametrize("solver", ["belief_propagation", "tree_reweighted", "dual_decomposition"])
@pytest.mark.parametrize("seed", range(6))
def test_a_shared_table_is_as_good_as_one_for_every_edge(solver, seed):
    shared, single = both_forms(seed, forbidden=0.2 * (seed % 2))
    ours, theirs = pc.solve(shared, solver), pc.solve(single, solver)
    assert ours.energy == pytest.approx(theirs.energy)
    assert ours.lower_bound == pytest.approx(theirs.lower_bound, rel=1e-4, abs=1e-4)
    assert ours.lower_bound <= reference_minimum(shared) + 1e-9


def test_the_table_is_kept_once():
    shared, single = both_forms(0)
    assert len(graph_of(shared).tables) == 16
    assert len(graph_of(single).tables) == 5 * 16


def test_forbidden_pairs_with_factors_that_are_far_apart():
    """Every edge forbids, and none of them by so much that the others lose their digits."""
    table = np.array([[0.0, 1.0], [np.inf, -1.0]])
    weights = np.array([1e-9, 1e-3, 1.0, 1e3, 1e3])
    crf = pc.CRF(np.zeros((5, 2)), pc.Pairwise(RING, table, weights))
    g = graph_of(crf)
    assert len(g.tables) <= 4 * 4
    for i in range(5):
        for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
            ends = g.origin[i], g.origin[g.arc_node[k]]
            edge = int(np.flatnonzero((np.sort(RING) == sorted(ends)).all(axis=1))[0])
            x, y = (1, 0) if ends == tuple(RING[edge]) else (0, 1)
            cost = pair_cost(g, k, x, y) + weights[edge]
            assert g.forbidden * (1 - 1e-9) <= cost <= 2**OCTAVES * g.forbidden * (1 + 1e-9)
            assert pair_cost(g, k, 1, 1) == pytest.approx(-weights[edge])
    solution = pc.solve(crf, "tree_reweighted")
    assert solution.energy == pytest.approx(reference_minimum(crf))


def test_spans_and_finite_tables_by_hand():
    values = np.array([9.0, 1.0, np.inf, 4.0, 5.0, 5.0])
    uses = TableUses(np.array([1, 4, 1]), np.array([3, 2, 3]), np.array([1.0, -2.0, 1024.0]))
    assert table_spans(values, uses).tolist() == [3.0, 0.0, 3072.0]
    finite, start = finite_tables(values, uses, 100.0)
    assert finite[:6].tolist() == [9.0, 1.0, 101.0, 4.0, 5.0, 5.0]
    assert start[:2].tolist() == [1, 4]
    assert finite[start[2] : start[2] + 3] == pytest.approx([1.0, 1 + 100 / 1024, 4.0])
    assert values[2] == np.inf


@settings(max_examples=60, deadline=None)
@given(
    n_labels=st.integers(2, 7),
    step=st.floats(0.0, 3.0),
    limit=st.floats(0.0, 9.0),
    seed=st.integers(0, 999),
)
def test_truncated_distances_take_two_passes(n_labels, step, limit, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_labels)
    table = np.minimum(step * np.abs(labels[:, None] - labels), limit)
    weights = rng.random(5)
    crf = pc.CRF(rng.normal(size=(5, n_labels)), pc.Pairwise(RING, table, weights))
    g = graph_of(crf)
    assert (g.arc_kind == LINEAR).all()
    out, h = np.empty(n_labels), rng.normal(size=n_labels) * 3
    for k in range(len(g.arc_node)):
        low = send(g, k, h, out)
        expected = (h[:, None] + g.arc_weight[k] * table).min(axis=0)
        np.testing.assert_allclose(out + low, expected, atol=1e-12)
        assert out.min() == 0.0


@pytest.mark.parametrize("table", ["quadratic", "skew", "negative"])
def test_other_tables_are_not_taken_for_distances(table):
    labels = np.arange(4.0)
    tables = {
        "quadratic": (labels[:, None] - labels) ** 2,
        "skew": np.maximum(labels[:, None] - labels, 0.0),
        "negative": -np.abs(labels[:, None] - labels),
    }
    crf = pc.CRF(np.zeros((5, 4)), pc.Pairwise(RING, tables[table]))
    assert (graph_of(crf).arc_kind == DENSE).all()
    turned = pc.CRF(np.zeros((5, 4)), pc.Pairwise(RING, np.abs(tables["skew"]), -1.0))
    assert (graph_of(turned).arc_kind == DENSE).all()


def test_nodes_with_fewer_labels_read_a_part_of_the_table():
    """An order over nodes with unequal label sets shares its prices, distances or not."""
    labels = np.arange(3.0)
    unary = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, np.inf], [2.0, 1.0, 0.0], [0.0, np.inf, np.inf]])
    crf = pc.CRF(
        unary,
        pc.LabelOrder([[0, 1, 2, 3]], np.abs(labels[:, None] - labels)),
        cardinalities=[3, 2, 3, 1],
    )
    solution = pc.solve(crf, "tree_reweighted")
    assert solution.energy == pytest.approx(reference_minimum(crf))
    assert solution.lower_bound <= solution.energy
