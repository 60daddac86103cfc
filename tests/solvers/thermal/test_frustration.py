"""What counts as frustrated, and what auto does then."""

from __future__ import annotations

import numpy as np
import pytest
from tests.timing import best_of_several

import policrf as pc
from policrf.scenes import FRUSTRATED, make_frustrated
from policrf.scenes.frustrated import grid_edges
from policrf.solvers.thermal.frustration import (
    frustration,
    is_frustrated,
    is_like_a_tree,
    may_be_frustrated,
    table_ranges,
)


@pytest.mark.parametrize("family", FRUSTRATED)
def test_frustrated_families_are(family):
    crf = make_frustrated(family, 400, seed=1)
    assert may_be_frustrated(crf)
    assert is_frustrated(crf, pc.solve(crf, "annealing", sweeps=10).labels)


def test_easy_fields_are_not():
    rng = np.random.default_rng(0)
    edges = grid_edges(20, 20)
    metric = np.tile(1.0 - np.eye(3), (len(edges), 1, 1))
    unary = rng.random((400, 3))
    assert not may_be_frustrated(pc.CRF(unary, pc.Tables(edges, metric)))
    assert not may_be_frustrated(make_frustrated("random", 400, degree=2, seed=1))  # few cycles
    hard = make_frustrated("random", 400, seed=1)
    assert not may_be_frustrated(pc.CRF(20 * hard.unary, *hard.potentials))  # unaries decide
    assert not may_be_frustrated(pc.make_scene(200, "A").crf)


def test_fields_whose_labels_agree_are_left_to_messages():
    rng = np.random.default_rng(0)
    edges = grid_edges(25, 25)
    distance = np.minimum(np.subtract.outer(np.arange(6), np.arange(6)) ** 2, 9.0)  # no metric
    truth = np.arange(625) // 105
    unary = np.abs(np.arange(6) - truth[:, None] - rng.normal(size=(625, 1)))
    crf = pc.CRF(unary, pc.Tables(edges, np.tile(distance, (len(edges), 1, 1))))
    assert may_be_frustrated(crf)
    assert not is_frustrated(crf, pc.solve(crf, "annealing", sweeps=10).labels)
    steps = [step[0] for step in pc.solve(crf).info["steps"]]
    assert steps == ["annealing", "belief_propagation", "refine:start=unary"]


def test_annealing_starts_from_beliefs_where_the_graph_is_like_a_tree():
    tree_like = make_frustrated("random", 600, 2, degree=4, seed=1)
    assert is_like_a_tree(tree_like)
    for other in ("grid", "ising", "third_order"):
        assert not is_like_a_tree(make_frustrated(other, 400, 2, degree=4, seed=1))
    assert not is_like_a_tree(make_frustrated("glass", 400, 2, degree=8, seed=1))
    solution = pc.solve(tree_like)
    assert [step[0] for step in solution.info["steps"]] == ["belief_propagation", "annealing"]
    assert solution.energy <= pc.solve(tree_like, "belief_propagation").energy


def test_frustration_is_0_at_the_best_of_every_term():
    tables = np.array([[[0.0, 1.0], [1.0, 3.0]]])
    crf = pc.CRF([[0.0, 1.0], [0.0, 2.0]], pc.Tables([[0, 1]], tables))
    assert table_ranges(crf.arrays, np.arange(1)).tolist() == [[0.0, 1.25, 3.0]]
    assert frustration(crf, np.array([0, 0])) == 0
    assert frustration(crf, np.array([1, 1])) == pytest.approx(6.0 / 2.75)


@best_of_several
def test_auto_anneals_frustrated_fields():
    crf = make_frustrated("random", 600, seed=2)
    solution = pc.solve(crf, seconds=0.3)
    assert [step[0] for step in solution.info["steps"]] == ["annealing"]
    assert solution.seconds >= 0.29  # a reserve for the last labels may be left
    assert pc.solve(crf).energy < pc.solve(crf, "annealing").energy  # messages help
    start = np.zeros(600, np.int64)
    assert pc.solve(crf, initial=start).energy < crf.energy(start)


@best_of_several
def test_few_frustrated_nodes_are_proven_in_a_part_of_a_second():
    crf = make_frustrated("glass", 60, 4, degree=4, seed=5)
    pc.solve(crf, seconds=0.3)
    solution = pc.solve(crf, seconds=5.0)
    assert solution.optimal
    assert solution.seconds < 2.0
    assert pc.solve(crf, seconds=1.0).optimal
