"""The factor graph holds the same energy as the CRF, in another layout."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policrf as pc
from policrf.crf.potentials import COUNTED, DOMINANT
from policrf.errors import InvalidOption, UnsupportedPotential
from policrf.solvers.messages.counting_messages import count_cost
from policrf.solvers.messages.graph.explicit_tables import explicit_tables
from policrf.solvers.messages.graph.factor_graph import all_terms, build_factor_graph
from policrf.solvers.messages.graph.node_order import chains, order_nodes
from policrf.solvers.messages.message_state import real_labels, slices
from policrf.solvers.messages.pair_messages import pair_cost, send
from policrf.solvers.messages.spanning_forests import appearance_probabilities, forest, forest_cover
from policrf.solvers.run import Run
from policrf.testing import random_crf
from policrf.testing.strategies import crfs


def graph_of(crf, **options):
    return build_factor_graph(crf, explicit_tables(Run(crf, "test"), 10**6), **options)


def graph_energy(g, labels):
    """The sum of all terms of the factor graph; labels are of its own nodes."""
    total = sum(g.unary[i, labels[i]] for i in range(len(g.unary)))
    for i in range(len(g.unary)):
        for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
            if k < g.arc_reverse[k]:
                total += pair_cost(g, k, labels[i], labels[g.arc_node[k]])
    for c in range(len(g.clique_kind)):
        members = slice(g.clique_ptr[c], g.clique_ptr[c + 1])
        own = labels[g.clique_nodes[members]]
        matches = int((own == g.clique_label[c]).sum())
        if g.clique_kind[c] == COUNTED:
            total += g.tables[g.clique_start[c] + min(matches, g.clique_count[c] - 1)]
        elif g.clique_kind[c] == DOMINANT:
            most, first = g.clique_weight[c], g.clique_start[c]
            differ = [int((own != x).sum()) for x in range(g.clique_count[c])]
            allowance, *least = g.tables[first : first + g.clique_count[c] + 1]
            total += min(
                most,
                *(b + (most - b) * n / allowance for b, n in zip(least, differ, strict=True)),
            )
        elif g.clique_label[c] >= 0:
            total += count_cost(
                g.clique_kind[c], g.clique_weight[c], g.clique_count[c], len(own), matches
            )
        else:
            total += g.tables[g.clique_start[c] + int(own @ g.clique_stride[members])]
    return total


@settings(max_examples=60, deadline=None)
@given(crfs(max_nodes=6, max_labels=3), st.booleans(), st.integers(0, 1000))
def test_same_energy_as_the_crf(crf, split, seed):
    g = graph_of(crf, split_agreement=split)
    rng = np.random.default_rng(seed)
    labels = np.array([rng.integers(n) for n in g.sizes])
    boxes = np.flatnonzero(g.origin < 0)
    energies = []
    for state in range(2 ** len(boxes)):
        labels[boxes] = [(state >> b) & 1 for b in range(len(boxes))]
        energies.append(graph_energy(g, labels))
    expected = crf.energy(real_labels(g, labels))
    if np.isinf(expected):
        finite = crf.unary[np.isfinite(crf.unary)]
        assert min(energies) > finite.max()
    else:
        assert min(energies) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    crfs(max_nodes=5, max_labels=4, groups=("potts", "tables", "hop1", "pairwise", "order")),
    st.integers(0, 99),
)
def test_messages_across_pairwise_terms_are_minima(crf, seed):
    g = graph_of(crf, split_agreement=True)
    h = np.where(g.allowed, np.random.default_rng(seed).normal(size=g.unary.shape), 1e6)
    out = np.empty(h.shape[1])
    for i in range(len(g.unary)):
        for k in range(g.arc_ptr[i], g.arc_ptr[i + 1]):
            j = g.arc_node[k]
            low = send(g, k, h[i], out)
            for y in range(g.sizes[j]):
                costs = [h[i, x] + pair_cost(g, k, x, y) for x in range(g.sizes[i])]
                assert out[y] + low == pytest.approx(min(costs), rel=1e-9, abs=1e-9)
            assert out.min() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("weight", [-2.0, -0.1, 0.3])
def test_negative_potts_weights_reward_other_labels(weight):
    g = graph_of(pc.CRF(np.zeros((2, 3)), pc.Potts([[0, 1]], weight)))
    out = np.empty(3)
    low = send(g, 0, np.array([0.0, 0.5, 4.0]), out)
    expected = [min(0, 0.5 + weight), min(0.5, weight), min(4.0, weight)]
    np.testing.assert_allclose(out + low, expected)


def test_the_same_edge_twice_is_one_term():
    crf = pc.CRF(
        np.zeros((3, 2)), pc.Potts([[0, 1]], 0.5), pc.Potts([[1, 0], [1, 2]], [0.25, -1.0])
    )
    g = graph_of(crf)
    assert len(g.arc_node) == 4
    assert sorted(g.arc_weight.tolist()) == [-1.0, -1.0, 0.75, 0.75]


def test_an_order_without_relation_to_the_graph_is_replaced():
    side = 12
    index = np.arange(side * side).reshape(side, side)
    across = np.stack([index[:, :-1].reshape(-1), index[:, 1:].reshape(-1)], axis=1)
    grid = np.concatenate(
        [across, np.stack([index[:-1].reshape(-1), index[1:].reshape(-1)], axis=1)]
    )
    assert (order_nodes(grid, side * side) == np.arange(side * side)).all()
    shuffled = np.random.default_rng(0).permutation(side * side)[grid]
    place = order_nodes(shuffled, side * side)
    assert sorted(place.tolist()) == list(range(side * side))
    assert chains(shuffled, place) < 0.8 * chains(shuffled, np.arange(side * side))


def test_forests():
    ends = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [4, 5]])
    ptr = 2 * np.arange(len(ends) + 1)
    cover = forest_cover(ptr, ends.reshape(-1), 6)
    assert cover.tolist() == [0, 0, 1, 0, 0]
    rho = appearance_probabilities(ptr, ends.reshape(-1), 6)
    np.testing.assert_allclose(rho[:3].sum(), 2.0)  # a spanning tree has two edges of the triangle
    np.testing.assert_allclose(rho[3:], 1.0)
    assert (rho > 0.5).all()
    # A clique of three nodes and an edge inside it close a cycle.
    taken = forest(np.array([0, 3, 5]), np.array([0, 1, 2, 0, 1]), np.array([0, 1]), 3)
    assert taken.tolist() == [True, False]


def test_terms_of_the_graph_are_listed_once():
    g = graph_of(random_crf(5))
    ptr, nodes, first = all_terms(g)
    assert len(ptr) - 1 == len(g.clique_kind) + len(g.arc_node) // 2
    assert len(nodes) == ptr[-1]
    assert set(first) | set(g.arc_reverse[first]) == set(range(len(g.arc_node)))


def test_slices_cover_everything_once():
    work = np.array([5.0, 1.0, 1.0, 30.0, 1.0, 1.0])
    cut = slices(work, limit=6.0)
    assert [i for first, stop in cut for i in range(first, stop)] == list(range(6))
    assert len(cut) > 2
    assert slices(np.zeros(0)) == []


def test_a_table_above_the_limit_is_refused_by_name():
    crf = pc.CRF(
        np.zeros((5, 4)), pc.Custom([[0, 1], [1, 2, 3, 4]], lambda labels, _: float(labels.sum()))
    )
    with pytest.raises(UnsupportedPotential, match=r"Custom: clique 1 of 4 nodes has 256 .* 100"):
        pc.solve(crf, "belief_propagation", table_limit=100)
    tables = pc.CRF(np.zeros((3, 4)), pc.Tables([[0, 1, 2]], np.zeros((1, 4, 4, 4))))
    with pytest.raises(UnsupportedPotential, match="Tables: clique 0"):
        pc.solve(tables, "tree_reweighted", table_limit=63)
    assert pc.solve(tables, "tree_reweighted", table_limit=64).optimal
    with pytest.raises(InvalidOption, match="table_limit"):
        pc.solve(tables, "dual_decomposition", table_limit=0)


def test_a_custom_function_is_called_once_a_labeling():
    calls = []

    def spy(labels, _):
        calls.append(tuple(labels))
        return float(labels[0] * labels[1])

    crf = pc.CRF(np.array([[0.0, -1.0], [0.0, -1.5], [0.0, 0.1]]), pc.Custom([[0, 1]], spy))
    g = graph_of(crf)
    assert sorted(calls) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert graph_energy(g, np.array([1, 1, 0])) == pytest.approx(crf.energy([1, 1, 0]))
