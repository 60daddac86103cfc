"""Kept costs are those of the labels after any relabels; sweeps draw from exp(−E / T)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.random_numbers import new_generator
from policrf.scenes import make_frustrated
from policrf.solvers.thermal.kept_costs import new_kept, takes
from policrf.solvers.thermal.sweeps import LOGS, STEPS, Cooling, anneal, settle


def mixed_crf(seed: int = 0) -> pc.CRF:
    """Edges, tables of two and three nodes, two to four labels a node, a forbidden one."""
    rng = np.random.default_rng(seed)
    cardinalities = np.array([2, 3, 4, 3, 2, 4, 3])
    unary = rng.uniform(-1, 1, (7, 4))
    unary[np.arange(4) >= cardinalities[:, None]] = np.inf
    unary[5, 1] = np.inf
    scopes = [[0, 1], [4, 2], [1, 3, 5], [6, 2, 0]]
    tables = [rng.uniform(-1, 1, tuple(cardinalities[scope])) for scope in scopes]
    edges = [[0, 6], [3, 4], [2, 5]]
    potts = pc.Potts(edges, [0.7, -0.9, 0.4])
    return pc.CRF(unary, potts, pc.Tables(scopes, tables), cardinalities=cardinalities)


@pytest.mark.parametrize("temperature", [3.0, 0.3])
def test_costs_follow_every_relabel(temperature):
    crf = mixed_crf()
    kept = new_kept(crf.arrays, np.argmin(crf.unary, axis=1))
    anneal(
        crf.arrays, kept, new_generator(1), LOGS, Cooling(temperature, temperature, 1), 0, 7 * 50
    )
    for i in range(7):
        costs = crf.label_costs(kept.labels, i)
        allowed = np.isfinite(costs)
        assert (np.isfinite(kept.costs[i]) == allowed).all()
        ours, theirs = kept.costs[i][allowed], costs[allowed]
        assert ours - ours[0] == pytest.approx(theirs - theirs[0], abs=1e-9)


def test_settled_labels_are_a_local_minimum():
    crf = make_frustrated("third_order", 60, degree=4, seed=3)
    kept = new_kept(crf.arrays, np.argmin(crf.unary, axis=1))
    cursor = np.zeros(2, np.int64)
    looks = 0
    while not settle(crf.arrays, kept, cursor, 7):
        looks += 7
    assert looks > 60
    for i in range(60):
        costs = crf.label_costs(kept.labels, i)
        assert costs[kept.labels[i]] <= costs.min() + 1e-9


def test_sweeps_draw_labelings_by_their_energy():
    crf = pc.CRF(
        np.array([[0.0, 0.4, -0.3], [0.2, 0.0, 0.1]]),
        pc.Tables([[0, 1]], np.random.default_rng(0).uniform(-1, 1, (1, 3, 3))),
    )
    labelings = list(itertools.product(range(3), repeat=2))
    weights = np.exp(-np.array([crf.energy(np.array(y)) for y in labelings]) / 0.7)
    kept, generator = new_kept(crf.arrays, np.zeros(2, np.int64)), new_generator(5)
    counts = dict.fromkeys(labelings, 0)
    for _ in range(20_000):
        anneal(crf.arrays, kept, generator, LOGS, Cooling(0.7, 0.7, 1), 0, 2)
        counts[tuple(kept.labels.tolist())] += 1
    shares = np.array([counts[y] for y in labelings]) / 20_000
    assert shares == pytest.approx(weights / weights.sum(), abs=0.02)


def test_the_table_of_logarithms_is_never_below_them():
    u = np.random.default_rng(0).random(10_000)
    assert (LOGS[(u * STEPS).astype(int)] >= -np.log(u)).all()


def test_it_takes_edges_and_finite_tables_only():
    assert takes(mixed_crf().arrays)
    unary = np.zeros((3, 2))
    forbidding = pc.Tables([[0, 1]], [[[0.0, np.inf], [0.0, 0.0]]])
    assert not takes(pc.CRF(unary, forbidding).arrays)
    assert not takes(pc.CRF(unary, pc.LabelCost([[0, 1, 2]], [1.0, 1.0])).arrays)
