"""Tree-reweighted messages: bounds that are bounds, exact on trees, tight on the scenes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from tests.shared_data import DATA

import policrf as pc
from policrf.errors import InvalidOption
from policrf.solvers.messages.clique_ascent import ascend
from policrf.solvers.messages.graph.explicit_tables import explicit_tables
from policrf.solvers.messages.graph.factor_graph import build_factor_graph
from policrf.solvers.messages.message_passing import BACKWARD, FORWARD
from policrf.solvers.messages.message_state import MessageState
from policrf.solvers.messages.tree_reweighted import chain_shares, tree_shares
from policrf.solvers.run import Run
from policrf.testing import random_crf, reference_minimum
from policrf.testing.strategies import crfs

SCHEDULES = ["sequential", "parallel"]
UAI = DATA / "uai"


@pytest.mark.parametrize("schedule", SCHEDULES)
@settings(max_examples=60, deadline=None)
@given(crf=crfs(max_nodes=6, max_labels=3, forbidden=0.2))
def test_the_bound_is_one(schedule, crf):
    solution = pc.solve(crf, "tree_reweighted", schedule=schedule, iterations=40)
    lowest = reference_minimum(crf)
    terms = np.append(crf.unary, crf.arrays.data)
    slack = 1e-9 * np.abs(np.append(terms, lowest)[np.isfinite(np.append(terms, lowest))]).max()
    assert solution.lower_bound <= lowest + slack
    assert solution.energy >= lowest - slack


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("seed", range(8))
def test_exact_on_trees(schedule, seed):
    crf = random_crf(seed, n_nodes=7, groups=("potts",), tree=True, ragged=seed % 2 == 0)
    solution = pc.solve(crf, "tree_reweighted", schedule=schedule)
    assert solution.optimal
    assert solution.energy == pytest.approx(reference_minimum(crf))


@pytest.mark.parametrize("groups", [("potts", "hop1"), ("potts", "hop2"), ("tables", "custom")])
def test_the_sequential_bound_never_falls(groups):
    for seed in range(10):
        crf = random_crf(seed, n_nodes=8, n_labels=4, groups=groups)
        run = Run(crf, "test")
        g = build_factor_graph(crf, explicit_tables(run, 10**6), split_agreement=True)
        state = MessageState(run, g, *chain_shares(g))
        bounds = []
        for _ in range(30):
            state.sweep(FORWARD)
            state.restart()
            state.sweep(BACKWARD)
            ascend(g, state.messages, 0, len(g.clique_kind))
            bounds.append(state.messages.totals[0])
        assert (np.diff(bounds) >= -1e-9 * g.scale).all()


def test_a_node_never_gives_more_than_its_belief_away():
    """What makes every bound valid: shares along earlier arcs and to cliques sum to at most 1."""
    crf = pc.make_scene(200, "B", seed=0, potentials="u+p+hop1+hop2").crf
    g = build_factor_graph(crf, explicit_tables(Run(crf, "test"), 1), split_agreement=True)
    share, clique_share = chain_shares(g)
    own = np.repeat(np.arange(len(g.unary)), np.diff(g.arc_ptr))
    for ahead in (g.arc_node < own, g.arc_node > own):
        given_away = np.bincount(own[ahead], share[ahead], minlength=len(g.unary))
        given_away += np.bincount(g.clique_nodes, clique_share, minlength=len(g.unary))
        assert given_away.max() <= 1 + 1e-12
    rho, clique_rho = tree_shares(g)
    assert rho.min() > 0
    assert clique_rho.min() > 0
    assert max(rho.max(), clique_rho.max()) <= 1


@pytest.mark.parametrize("regime", ["A", "B"])
@pytest.mark.parametrize("potentials", ["u+p", "u+p+hop1"])
def test_scenes_are_solved(regime, potentials):
    crf = pc.make_scene(500, regime, seed=2, potentials=potentials).crf
    solution = pc.solve(crf, "tree_reweighted")
    assert solution.gap <= 0.002
    parallel = pc.solve(crf, "tree_reweighted", schedule="parallel")
    assert parallel.energy <= solution.lower_bound * 1.002
    assert parallel.lower_bound <= solution.energy + 1e-9 * solution.energy


def test_quotas_are_in_the_bound():
    crf = pc.make_scene(300, "B", seed=0, potentials="u+p+hop1+hop2").crf
    without = pc.CRF(crf.unary, *crf.groups(pc.Potts, pc.BoxAgreement))
    assert crf.groups(pc.BoxSupport)
    solution = pc.solve(crf, "tree_reweighted")
    ignoring = pc.solve(without, "tree_reweighted")
    assert solution.lower_bound > ignoring.lower_bound + 1.0
    assert solution.gap < 0.05
    assert solution.energy < crf.energy(ignoring.labels)


def test_the_order_of_the_nodes_hardly_matters():
    crf = pc.make_scene(300, "B", seed=5, potentials="u+p").crf
    potts = crf.groups(pc.Potts)[0]
    place = np.random.default_rng(0).permutation(crf.n_nodes)
    unary = np.empty_like(crf.unary)
    unary[place] = crf.unary
    shuffled = pc.CRF(unary, pc.Potts(place[potts.edges], potts.weights))
    here, there = pc.solve(crf, "tree_reweighted"), pc.solve(shuffled, "tree_reweighted")
    assert there.energy == pytest.approx(here.energy, rel=1e-3)
    assert there.info["iterations"] <= 3 * here.info["iterations"] + 10


def test_unknown_schedule():
    with pytest.raises(InvalidOption, match="sequential"):
        pc.solve(pc.CRF([[0.0, 1.0]]), "tree_reweighted", schedule="random")


@pytest.mark.data
@pytest.mark.skipif(not UAI.exists(), reason="the UAI models are not beside the checkout")
def test_uai_segmentation_models():
    for name, optimum in json.loads((UAI / "optima.json").read_text()).items():
        solution = pc.solve(pc.read_uai(UAI / name), "tree_reweighted")
        assert solution.energy <= optimum + 0.005 * abs(optimum)
        assert solution.lower_bound <= optimum + 1e-9 * abs(optimum)
