"""Cycles as tables: the same energy, bounds that hold, and gaps that they close."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.solvers.messages.cycle_tables import with_cycle_tables


def frustrated_cycle(n_nodes, *, unary=0.0):
    """Neighbours want to differ, and one pair to agree: no labeling has all it wants."""
    edges = [[i, (i + 1) % n_nodes] for i in range(n_nodes)]
    weights = np.full(n_nodes, -1.0 if n_nodes % 2 else 1.0)
    weights[0] = -1.0
    rng = np.random.default_rng(0)
    return pc.CRF(unary * rng.normal(size=(n_nodes, 2)), pc.Potts(edges, weights))


def mixed_model(seed, n_nodes=6, n_labels=3):
    rng = np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(n_nodes, 1), axis=1)
    pairs = pairs[rng.random(len(pairs)) < 0.7]
    third = len(pairs) // 3
    reversed_pairs = pairs[third : 2 * third, ::-1]
    tables = rng.normal(size=(third, n_labels, n_labels))
    if seed % 2:
        tables[rng.random(tables.shape) < 0.15] = np.inf
    return pc.CRF(
        rng.normal(size=(n_nodes, n_labels)),
        pc.Potts(pairs[:third], rng.normal(size=third)),
        pc.Tables(reversed_pairs, tables),
        pc.Pairwise(pairs[2 * third :], rng.normal(size=(n_labels, n_labels)), 0.7),
        pc.BoxSupport([[0, 1, 2]], [1], [0.4], [2]),
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_energy_is_the_same(seed):
    crf = mixed_model(seed)
    tighter = with_cycle_tables(crf)
    assert tighter.arrays.clique_ptr[-1] > 0
    for labels in itertools.islice(itertools.product(range(3), repeat=6), 0, None, 7):
        assert tighter.energy(labels) == pytest.approx(crf.energy(labels), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_and_are_no_lower(seed):
    crf = mixed_model(seed)
    least = pc.solve(crf, "brute_force").energy
    plain = pc.solve(crf, "tree_reweighted")
    tightened = pc.solve(crf, "tree_reweighted:tighten=true")
    assert plain.lower_bound <= tightened.lower_bound <= least
    if tightened.optimal:
        assert tightened.energy == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("n_nodes", [3, 4])
def test_a_frustrated_cycle_is_proven(n_nodes):
    crf = frustrated_cycle(n_nodes, unary=0.01)
    plain = pc.solve(crf, "tree_reweighted")
    assert not plain.optimal
    tightened = pc.solve(crf, "tree_reweighted", tighten=True)
    assert tightened.optimal
    assert tightened.energy == pytest.approx(pc.solve(crf, "brute_force").energy)
    assert tightened.info["tightened"] > plain.lower_bound


def test_models_without_short_cycles_are_left_alone():
    assert with_cycle_tables(pc.CRF(np.zeros((3, 2)))) is None
    chain = pc.CRF(np.zeros((3, 2)), pc.Potts([[0, 1], [1, 2]], 1.0))
    assert with_cycle_tables(chain) is None
    assert with_cycle_tables(frustrated_cycle(5)) is None
