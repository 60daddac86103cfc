"""Label costs, robust Potts and shared tables in expansion moves, against all 2^n of each."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.errors import UnsupportedPotential
from policrf.solvers.cuts.expansion_move import expand
from policrf.solvers.cuts.expansion_problem import move_problem
from policrf.solvers.cuts.move_state import move_state
from policrf.solvers.cuts.refusals import is_metric, refuse_what_no_cut_takes
from policrf.testing import random_crf, reference_energy, reference_minimum


def some_cliques(rng, n_nodes, count=3):
    return [rng.permutation(n_nodes)[: rng.integers(1, n_nodes + 1)] for _ in range(count)]


def label_costs(rng, n_nodes, n_labels, scale):
    cliques = [*some_cliques(rng, n_nodes), np.arange(n_nodes)]
    costs = 2 * scale * rng.random((len(cliques), n_labels)) * rng.integers(0, 2, n_labels)
    costs[rng.random(costs.shape) < 0.05] = np.inf
    return pc.LabelCost(cliques, costs)


def robust_potts(rng, n_nodes, n_labels, scale):
    cliques = [*some_cliques(rng, n_nodes), np.arange(n_nodes)]
    own = scale * rng.normal(size=n_labels)
    most = max(own.max(), 0.0) + 3 * scale * rng.random(len(cliques))
    sizes = np.array([len(clique) for clique in cliques])
    truncations = np.maximum((sizes + 1) // 2 - rng.random(len(cliques)) * 2, 0.3)
    return pc.RobustPotts(cliques, most, truncations, own)


def pairwise(rng, n_nodes, n_labels, scale):
    edges = np.stack(np.triu_indices(n_nodes, 1), axis=1)
    edges = edges[rng.random(len(edges)) < 0.4]
    place = rng.normal(size=n_labels)
    table = np.abs(place[:, None] - place) + rng.normal(size=(n_labels, 1))
    return pc.Pairwise(edges, scale * table, rng.random(len(edges)))


BUILDERS = {"label_cost": label_costs, "robust_potts": robust_potts, "pairwise": pairwise}


def metric_crf(seed, groups, *, n_nodes=7, n_labels=3, scale=1.0, forbidden=0.2, quotas=False):
    rng = np.random.default_rng(seed)
    unary = scale * rng.normal(size=(n_nodes, n_labels))
    unary[:, 1:][rng.random((n_nodes, n_labels - 1)) < forbidden] = np.inf
    edges = np.array([p for p in itertools.combinations(range(n_nodes), 2) if rng.random() < 0.3])
    built = [BUILDERS[group](rng, n_nodes, n_labels, scale) for group in groups]
    built.append(pc.Potts(edges.reshape(-1, 2), scale * rng.random(len(edges))))
    built.append(pc.BoxAgreement([range(n_nodes)], [1], 0.3 * scale))
    if quotas:
        built.append(pc.BoxSupport([range(n_nodes)], [2], 2 * scale, n_nodes // 2))
    return pc.CRF(unary, *built)


def allowed(crf):
    """Which labels neither a unary nor a label cost forbids."""
    mask = np.isfinite(crf.unary)
    for group in crf.groups(pc.LabelCost):
        costs = np.broadcast_to(group.costs, (len(group), crf.n_labels))
        for clique, row in zip(group, costs, strict=True):
            mask[clique] &= np.isfinite(row)
    return mask


MIXES = [("label_cost",), ("robust_potts",), ("pairwise",), tuple(BUILDERS)]


@pytest.mark.parametrize("groups", MIXES)
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_a_move_is_the_best_of_all_moves(groups, scale):
    checked = 0
    for seed in range(20):
        crf = metric_crf(seed, groups, scale=scale, n_labels=2 + seed % 3)
        refuse_what_no_cut_takes(crf, "test")
        rng, mask = np.random.default_rng(seed), allowed(crf)
        if not mask.any(axis=1).all():
            continue
        problem = move_problem(crf)
        state = move_state(problem, np.zeros(crf.n_nodes, np.int64))
        for alpha in [*range(crf.n_labels)] * 2:
            start = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
            if rng.random() < 0.5:  # most nodes agree
                start = np.where(
                    mask[:, start[0]] & (rng.random(len(start)) < 0.7), start[0], start
                )
            choices = [(y, alpha) if mask[i, alpha] else (y,) for i, y in enumerate(start)]
            lowest = min(reference_energy(crf, labels) for labels in itertools.product(*choices))
            # One state for all moves: what a move leaves in the network must not matter.
            state.labels[:] = start
            fresh = move_state(problem, start)
            state.matches[:] = fresh.matches
            gain = expand(problem, state, alpha)
            assert crf.energy(state.labels) == pytest.approx(lowest, abs=1e-9 * scale)
            assert crf.energy(start) - gain == pytest.approx(lowest, abs=1e-9 * scale)
            assert expand(problem, state, alpha) == 0.0
            checked += 1
    assert checked > 40


@pytest.mark.parametrize("groups", MIXES)
@pytest.mark.parametrize("quotas", [False, True])
def test_the_answer_against_the_minimum(groups, quotas):
    for seed in range(12):
        crf = metric_crf(seed, groups, n_nodes=6, forbidden=0.1, quotas=quotas)
        lowest = reference_minimum(crf)
        initial = np.array([np.flatnonzero(row)[-1] for row in np.isfinite(crf.unary)])
        solution = pc.solve(crf, "alpha_expansion", initial=initial)
        assert solution.energy == pytest.approx(reference_energy(crf, solution.labels), abs=1e-9)
        assert lowest - 1e-9 <= solution.energy <= crf.energy(initial)
        assert solution.lower_bound <= lowest + 1e-9
        assert solution.info["converged"]


@pytest.mark.parametrize("groups", MIXES)
def test_two_labels_are_solved_and_proven(groups):
    for seed in range(12):
        crf = metric_crf(seed, groups, n_nodes=8, n_labels=2, forbidden=0.1)
        solution = pc.solve(crf, "alpha_expansion")
        assert solution.energy == pytest.approx(reference_minimum(crf), abs=1e-9)
        assert solution.optimal


def test_cliques_of_one_node_are_unaries():
    rng = np.random.default_rng(0)
    crf = pc.CRF(
        rng.normal(size=(3, 3)),
        pc.LabelCost([[0], [1]], [3.0, np.inf, 1.0]),
        pc.RobustPotts([[1], [2]], 2.0, 5.0, rng.random(3)),
    )
    solution = pc.solve(crf, "alpha_expansion")
    assert solution.optimal
    assert solution.energy == pytest.approx(reference_minimum(crf))


def test_a_label_goes_only_where_all_its_members_can():
    # Node 2 must keep label 1, so that nothing is saved by moving the others.
    unary = np.array([[0.4, 0.0], [0.4, 0.0], [np.inf, 0.0]])
    crf = pc.CRF(unary, pc.LabelCost([range(3)], [0.0, 1.0]))
    assert pc.solve(crf, "alpha_expansion").labels.tolist() == [1, 1, 1]
    unary[2, 0] = 0.1
    crf = pc.CRF(unary, pc.LabelCost([range(3)], [0.0, 1.0]))
    assert pc.solve(crf, "alpha_expansion").labels.tolist() == [0, 0, 0]


def test_refusals_say_what_and_where():
    unary = np.zeros((4, 3))

    def refused(*groups):
        with pytest.raises(UnsupportedPotential) as refusal:
            pc.solve(pc.CRF(unary, *groups), "alpha_expansion")
        return str(refusal.value)

    assert "LabelCost with negative costs: costs[0, 1] is -1.0" in refused(
        pc.LabelCost([[0, 1]], [[0.0, -1.0, 2.0]])
    )
    assert "costs[0] is -2.0" in refused(pc.LabelCost([[0, 1]], -2.0))
    assert "truncations[1] is 3 of 4 nodes" in refused(
        pc.RobustPotts([[0, 1], [0, 1, 2, 3]], 1.0, [1, 3])
    )
    quadratic = pc.Pairwise.truncated_quadratic([[0, 1], [1, 2]], 3)
    assert "at edge 0 [0, 1] of weight 1 the table is non-metric" in refused(quadratic)
    linear = pc.Pairwise.truncated_linear([[0, 1], [1, 2]], 3, weights=[1.0, -2.0])
    assert "at edge 1 [1, 2] of weight -2" in refused(linear)
    prices = 1.0 - np.eye(3)
    for group in (
        pc.CountFunction.parity([[0, 1]], 1.0),
        pc.CoOccurrence([[0, 1]], prices),
        pc.Connectivity([[0, 1]], [[0, 1]], 1.0),
        pc.LabelOrder([[0, 1]], prices),
    ):
        assert f"cannot take {group.name}" in refused(group)
        with pytest.raises(UnsupportedPotential, match=f"{group.name}, which no cut represents"):
            refuse_what_no_cut_takes(pc.CRF(unary, group), "test")


def test_a_shared_table_need_only_be_metric_on_labels_its_nodes_may_have():
    table = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 1.0], [9.0, 1.0, np.inf]])
    assert not is_metric(table)
    assert is_metric(table[:2, :2])
    unary = np.random.default_rng(0).normal(size=(3, 3))
    unary[:, 2] = np.inf
    crf = pc.CRF(unary, pc.Pairwise([[0, 1], [1, 2]], table))
    solution = pc.solve(crf, "alpha_expansion")
    assert solution.optimal
    assert solution.energy == pytest.approx(reference_minimum(crf))


@pytest.mark.parametrize("seed", range(10))
def test_one_table_for_all_edges_is_a_table_an_edge(seed):
    crf = random_crf(seed, groups=("pairwise",), n_nodes=5)
    group = crf.groups(pc.Pairwise)[0]
    steps = np.abs(np.arange(3.0)[:, None] - np.arange(3.0))
    shared = pc.Pairwise(group.edges, steps, group.weights)
    single = pc.Tables(group.edges, [w * steps for w in group.weights])
    answers = [pc.solve(pc.CRF(crf.unary, g), "alpha_expansion") for g in (shared, single)]
    assert answers[0].energy == pytest.approx(answers[1].energy)
