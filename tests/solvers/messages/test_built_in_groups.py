"""Counts of labels, robust P^n Potts and order in closed form: the same as their tables."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policrf as pc
from policrf.crf.potentials import COUNTED
from policrf.crf.tabulate import tabulate_clique
from policrf.errors import TooLarge, UnsupportedPotential
from policrf.solvers.messages.clique_messages import clique_minimum, send_from_clique
from policrf.solvers.messages.graph.count_rows import count_rows
from policrf.solvers.messages.graph.explicit_tables import explicit_tables, has_no_reachable_cap
from policrf.solvers.messages.graph.factor_graph import build_factor_graph
from policrf.solvers.run import Run
from policrf.testing import random_crf, reference_minimum
from policrf.testing.strategies import crfs

CLOSED = ("label_cost", "counts", "robust_potts", "order", "pairwise")
BOUNDING = ["tree_reweighted", "tree_reweighted:schedule=parallel", "dual_decomposition"]
ALL = [*BOUNDING, "belief_propagation", "mean_field"]


def graph_of(crf):
    return build_factor_graph(crf, explicit_tables(Run(crf, "test"), 10**6))


def clique_answer(crf):
    """Messages and minimum of the one clique of `crf` whose members' costs are its unaries."""
    g = graph_of(crf)
    assert len(g.clique_kind) == 1
    h = g.unary[g.clique_nodes]
    out, labels = np.empty_like(h), np.empty(len(h), np.int64)
    send_from_clique(g, 0, h, out)
    value = clique_minimum(g, 0, h, labels)
    attained = crf.energy(labels[np.argsort(g.origin[g.clique_nodes])])
    return out, value, attained


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("group", ["one_count", "robust_potts"])
def test_messages_are_those_of_the_table(group, seed):
    rng = np.random.default_rng(seed)
    n, n_labels = (int(size) for size in rng.integers([3, 2], [6, 4]))
    clique = [rng.permutation(n)]
    unary = rng.normal(size=(n, n_labels)).round(int(rng.integers(0, 3)))
    if group == "one_count":
        values = rng.normal(size=int(rng.integers(2, n + 3))).round(1)
        values[0] = values.max() + 1.0  # not the same for all counts
        closed = pc.CountFunction(clique, values, labels=[int(rng.integers(n_labels))])
    else:
        own = rng.normal(size=n_labels)
        most = max(own.max(), 0.0) + rng.random()
        closed = pc.RobustPotts(clique, most, rng.integers(1, 4), own)
    crf = pc.CRF(unary, closed)
    table = pc.CRF(unary, pc.Tables(clique, [tabulate_clique(crf, 0)]))
    ours, expected = clique_answer(crf), clique_answer(table)
    np.testing.assert_allclose(ours[0], expected[0], atol=1e-9)
    assert ours[1] == pytest.approx(expected[1])
    assert ours[2] == pytest.approx(expected[1])


@pytest.mark.parametrize("solver", ALL)
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    groups=st.lists(st.sampled_from(CLOSED), min_size=1, unique=True),
    scale=st.sampled_from([1e-9, 1.0, 1e9]),
    forbidden=st.sampled_from([0.0, 0.3]),
)
def test_bounds_are_bounds(solver, seed, groups, scale, forbidden):
    crf = random_crf(
        seed, n_nodes=5, groups=groups, forbidden=forbidden, ragged=seed % 2 == 1, scale=scale
    )
    solution = pc.solve(crf, solver)
    lowest = reference_minimum(crf)
    # The trace has the bounds as the solver gave them; a solution's is never above its energy.
    given_bounds = [line.lower_bound for line in solution.trace]
    assert max(given_bounds) <= lowest + 1e-8 * scale
    assert solution.energy >= (lowest - 1e-8 * scale if np.isfinite(lowest) else np.inf)


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize(("group", "share"), [("label_cost", 0.9), ("counts", 0.7)])
def test_small_crfs_come_close(solver, group, share):
    found, looked = 0, 0
    for seed in range(30):
        crf = random_crf(seed, groups=("potts", group), forbidden=0.15 * (seed % 2))
        lowest = reference_minimum(crf)
        if np.isfinite(lowest):
            looked += 1
            found += pc.solve(crf, solver).energy <= lowest + 1e-9
    assert looked >= 20
    assert found >= share * looked


@pytest.mark.parametrize("solver", ALL)
def test_the_right_number_of_members_is_found(solver):
    """Exactly three of eight nodes must have label 1: the three that lose least by it."""
    gains = np.array([0.5, -0.3, 2.0, 0.1, -1.0, 0.4, 0.9, -0.2])
    unary = np.stack([np.zeros(8), gains], axis=1)
    exactly = np.where(np.arange(9) == 3, 0.0, np.inf)
    crf = pc.CRF(unary, pc.CountFunction([range(8)], exactly, labels=[1]))
    solution = pc.solve(crf, solver)
    assert np.isfinite(solution.energy)
    if solver not in ("mean_field", "tree_reweighted:schedule=parallel"):
        assert solution.energy == pytest.approx(-1.5)


def test_terms_that_say_nothing_are_constants():
    """The constants of rows stay in the bound, and a label that no count allows is forbidden."""
    unary = np.array([[0.0, 0.5, -3.0], [0.0, 0.5, -3.0], [1.0, 0.5, -3.0]])
    values = [[7.0, 7.0, 7.0], [2.0, 2.0, 2.0], [-4.0, np.inf, np.inf]]
    crf = pc.CRF(unary, pc.CountFunction([[0, 1, 2]], values))
    rows = count_rows(crf.arrays, np.array([0]))
    assert len(rows.clique) == 0
    assert rows.constant.tolist() == [5.0]
    assert rows.banned.tolist() == [[0, 2]]
    for solver in ALL:
        solution = pc.solve(crf, solver)
        assert solution.energy == pytest.approx(5.5)
        assert solver not in BOUNDING or solution.lower_bound == pytest.approx(5.5)


def test_counts_beyond_a_cliques_size_do_not_matter():
    values = np.array([0.0, 1.0, 0.0, 2.0, 1e12, np.inf])
    small = pc.CRF(np.zeros((3, 2)), pc.CountFunction([[0, 1, 2]], values))
    g = graph_of(small)
    assert g.scale == 2.0
    assert np.isinf(g.clique_weight).all()  # no count that can be reached is forbidden


def test_a_label_cost_over_all_nodes_needs_no_table():
    rng = np.random.default_rng(0)
    crf = pc.CRF(rng.exponential(size=(3000, 6)), pc.LabelCost([range(3000)], 300.0))
    g = graph_of(crf)
    assert (g.clique_kind == COUNTED).sum() == 6
    assert len(g.tables) == 12
    bound = pc.solve(crf, "dual_decomposition", iterations=40).lower_bound
    # Without edges the optimum is the best set of labels.
    sets = [s for k in range(1, 7) for s in itertools.combinations(range(6), k)]
    best = min(crf.unary[:, s].min(axis=1).sum() + 300.0 * len(s) for s in sets)
    assert bound <= best
    solution = pc.solve(crf, "belief_propagation")
    assert best - 1e-9 <= solution.energy <= 1.02 * best


def test_robust_potts_is_solved_with_a_proof():
    rng = np.random.default_rng(1)
    nodes = np.arange(100).reshape(10, 10)
    cliques = [nodes[i : i + 5, j : j + 5].reshape(-1) for i in (0, 5) for j in (0, 5)]
    crf = pc.CRF(rng.exponential(size=(100, 4)), pc.RobustPotts(cliques, 9.0, 8))
    solution = pc.solve(crf, "tree_reweighted")
    assert solution.optimal
    assert solution.energy < pc.solve(crf, "icm").energy - 0.1


def test_order_without_a_cap_is_pairs():
    prices = np.tril(np.full((3, 3), 0.5), -1)
    unary = np.random.default_rng(2).normal(size=(12, 3))
    free = pc.CRF(unary, pc.LabelOrder([range(12)], prices))
    high = pc.CRF(unary, pc.LabelOrder([range(12)], prices, cap=33.0))
    capped = pc.CRF(unary, pc.LabelOrder([range(12)], prices, cap=32.0))
    assert [bool(has_no_reachable_cap(c.arrays)[0]) for c in (free, high, capped)] == [1, 1, 0]
    g = graph_of(free)
    assert len(g.arc_node) == 12 * 11
    assert len(g.tables) == 9
    assert pc.solve(high, "tree_reweighted").energy == pc.solve(free, "tree_reweighted").energy


@pytest.mark.parametrize("solver", ["belief_propagation", "dual_decomposition", "mean_field"])
def test_what_has_no_closed_form_is_refused_by_name(solver):
    everything, prices = [range(40)], np.ones((3, 3)) - np.eye(3)
    groups = [
        pc.CoOccurrence(everything, prices),
        pc.Connectivity(everything, [[0, 1]], 1.0),
        pc.LabelOrder(everything, prices, cap=3.0),
    ]
    if solver == "mean_field":
        groups.append(pc.RobustPotts(everything, 1.0))
    for group in groups:
        crf = pc.CRF(np.zeros((40, 3)), pc.LabelCost([[0, 1]], 1.0), group)
        with pytest.raises(UnsupportedPotential, match=rf"{group.name}: clique 0 .* refine"):
            pc.solve(crf, solver)


def test_too_many_pairs_of_a_sequence_are_refused():
    crf = pc.CRF(np.zeros((9000, 3)), pc.LabelOrder([range(9000)], np.eye(3)))
    with pytest.raises(TooLarge, match="LabelOrder"):
        pc.solve(crf, "tree_reweighted")


@settings(max_examples=30, deadline=None)
@given(crfs(max_nodes=5, max_labels=3, groups=("potts", *CLOSED)))
def test_answers_without_a_feasible_labeling_are_still_labelings(crf):
    for solver in ("belief_propagation", "mean_field"):
        crf.checked_labels(pc.solve(crf, solver, iterations=5).labels)
