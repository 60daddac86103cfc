"""Dual decomposition: forests and cliques that add up to the energy, bounds, rounding."""

import numpy as np
import pytest
from hypothesis import given, settings

import policrf as pc
from policrf.errors import InvalidOption
from policrf.solvers.messages.graph.explicit_tables import explicit_tables
from policrf.solvers.messages.graph.factor_graph import build_factor_graph
from policrf.solvers.relaxations.dual_decomposition import Parts
from policrf.solvers.run import Run
from policrf.testing import random_crf, reference_minimum
from policrf.testing.strategies import crfs


def parts_of(crf):
    run = Run(crf, "test")
    return Parts(run, build_factor_graph(crf, explicit_tables(run, 10**6)))


@settings(max_examples=60, deadline=None)
@given(crfs(max_nodes=6, max_labels=3, forbidden=0.2))
def test_the_bound_is_one(crf):
    solution = pc.solve(crf, "dual_decomposition", iterations=40)
    lowest = reference_minimum(crf)
    terms = np.append(crf.unary, crf.arrays.data)
    slack = 1e-9 * np.abs(np.append(terms, lowest)[np.isfinite(np.append(terms, lowest))]).max()
    assert solution.lower_bound <= lowest + slack
    assert solution.energy >= lowest - slack


@pytest.mark.parametrize("seed", range(8))
def test_exact_on_trees_at_once(seed):
    crf = random_crf(seed, n_nodes=7, groups=("potts",), tree=True, forbidden=0.1 * (seed % 2))
    solution = pc.solve(crf, "dual_decomposition")
    assert solution.info["iterations"] == 1
    assert solution.optimal
    assert solution.energy == pytest.approx(reference_minimum(crf))


def test_steps_keep_the_sum_of_the_copies():
    crf = random_crf(2, n_nodes=9, n_labels=4)
    parts = parts_of(crf)
    g = parts.graph
    moved = False
    for _ in range(20):
        parts.minimise()
        if parts.vote() > 0:
            parts.step(0.1)
            moved = True
        total = parts.tree_dual.sum(axis=0)
        np.add.at(total, g.clique_nodes, parts.clique_dual)
        np.testing.assert_allclose(total, g.unary, rtol=1e-12)
    assert moved


def test_every_edge_is_in_one_forest():
    crf = pc.make_scene(150, "A", seed=0, potentials="u+p").crf
    parts = parts_of(crf)
    forests = parts.forests
    arcs = forests.parent_arc[forests.parent_arc >= 0]
    assert len(arcs) == len(set(arcs.tolist())) == len(crf.arrays.edges)
    for t in range(len(forests.order)):
        position = np.argsort(forests.order[t])
        for node in np.flatnonzero(forests.parent_arc[t] >= 0):
            parent = parts.graph.arc_node[forests.parent_arc[t, node]]
            assert position[parent] < position[node]


@pytest.mark.parametrize("regime", ["A", "B"])
@pytest.mark.parametrize("quotas", [False, True])
def test_gaps_on_scenes_are_small(regime, quotas):
    energies = {"u+p+hop1+hop2": 0.05} if quotas else {"u+p": 0.005, "u+p+hop1": 0.005}
    for potentials, gap in energies.items():
        crf = pc.make_scene(300, regime, seed=3, potentials=potentials).crf
        assert pc.solve(crf, "dual_decomposition").gap <= gap


def test_rounding_without_polish_is_an_option():
    crf = pc.make_scene(200, "B", seed=1, potentials="u+p").crf
    plain = pc.solve(crf, "dual_decomposition", polish=False)
    assert plain.gap <= 0.02
    assert plain.lower_bound <= pc.solve(crf, "tree_reweighted").energy * (1 + 1e-9)


def test_round_every_must_be_positive():
    with pytest.raises(InvalidOption, match="round_every"):
        pc.solve(pc.CRF([[0.0, 1.0]]), "dual_decomposition", round_every=0)
