"""Cheap methods first, the backend that suits the model, and the clock kept."""

import time
from itertools import pairwise

import numpy as np
import pytest
from tests.solvers.proofs.test_exact import needs_toulbar2
from tests.timing import best_of_several, lateness

import policrf as pc
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.scenes import make_frustrated
from policrf.solvers.proofs.dead_end_elimination import allowed_labels
from policrf.solvers.proofs.exact_start import first_labels, search_first
from policrf.solvers.proofs.program.exact_model import build_model
from policrf.solvers.run import Run


def grid(rows, columns):
    index = np.arange(rows * columns).reshape(rows, columns)
    right = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)
    down = np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1)
    return np.concatenate([right, down])


def grid_of_tables(side, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    edges = grid(side, side)
    tables = pc.Tables(edges, rng.normal(size=(len(edges), n_labels, n_labels)))
    return pc.CRF(rng.normal(size=(side * side, n_labels)), tables)


@best_of_several
def test_a_large_grid_of_tables_keeps_to_its_seconds():
    crf = grid_of_tables(80)
    pc.solve(grid_of_tables(5), "exact", seconds=1)  # kernels are loaded
    solution = pc.solve(crf, "exact", seconds=2)
    assert solution.seconds <= 2 * 1.05 + 0.5
    assert solution.energy < pc.solve(crf, "icm").energy
    assert np.isfinite(solution.lower_bound)
    assert solution.gap < 0.05


@best_of_several
def test_a_program_is_written_in_time_linear_in_its_cliques():
    def seconds(side):
        crf = grid_of_tables(side, n_labels=2)
        alive, labels = allowed_labels(crf.unary), np.zeros(crf.n_nodes, np.int64)
        begun = time.process_time()
        build_model(crf.arrays, alive, labels)
        return time.process_time() - begun

    seconds(4)
    # Four times the cliques; sixteen times the work if every clique looked at all columns.
    assert seconds(64) < 8 * seconds(32)


def test_a_program_that_gets_late_is_given_up():
    crf = grid_of_tables(20, n_labels=2)
    alive, labels = allowed_labels(crf.unary), np.zeros(crf.n_nodes, np.int64)
    assert build_model(crf.arrays, alive, labels, lambda: True) is None


@needs_toulbar2
def test_edges_that_reward_differences_go_to_toulbar2_first():
    rng = np.random.default_rng(0)
    edges = grid(10, 10)
    crf = pc.CRF(0.3 * rng.normal(size=(100, 3)), pc.Potts(edges, rng.normal(size=len(edges))))
    solution = pc.solve(crf, "exact", seconds=60)
    assert solution.optimal
    assert solution.info["backend"].startswith("toulbar2")


def test_messages_prove_a_large_grid_before_any_backend_is_asked():
    rng = np.random.default_rng(0)
    edges = grid(120, 120)
    crf = pc.CRF(rng.normal(size=(14_400, 4)), pc.Potts(edges, 0.6 * rng.random(len(edges))))
    solution = pc.solve(crf, "exact", seconds=30)
    assert solution.optimal
    assert "backend" not in solution.info


@pytest.mark.parametrize("seed", range(2))
def test_the_start_is_what_suits_the_model(seed):
    """Where alpha-expansion refuses, messages start; single relabels alone are far off."""
    crf = grid_of_tables(20, seed=seed)
    run = Run(crf, "exact", seconds=20)
    labels = search_first(run, crf, first_labels(run, crf), 0.0)
    assert crf.energy(labels) <= pc.solve(crf, "belief_propagation").energy + 1e-9
    assert np.isfinite(run.lower_bound)


@pytest.mark.parametrize("seed", range(3))
def test_tree_reweighted_ends_at_a_local_minimum(seed):
    rng = np.random.default_rng(seed)
    edges = grid(15, 15)
    crf = pc.CRF(0.1 * rng.normal(size=(225, 2)), pc.Potts(edges, rng.normal(size=len(edges))))
    solution = pc.solve(crf, "tree_reweighted", iterations=10)
    assert pc.solve(crf, "icm", initial=solution.labels).energy >= solution.energy - 1e-9
    assert solution.energy <= pc.solve(crf, "icm").energy


@pytest.mark.parametrize("family", ["glass", "third_order"])
@best_of_several
def test_a_longer_time_is_not_higher_and_labels_come_before_bounds(family):
    crf = make_frustrated(family, 1000, degree=8, seed=1)
    for seconds in (0.05, 0.3):
        pc.solve(crf, "exact", seconds=seconds)
    with cpu_budgets():
        found = [pc.solve(crf, "exact", seconds=seconds).energy for seconds in (0.02, 0.06, 0.15)]
        quick = pc.solve(crf, "icm", seconds=0.01).energy
    assert found[0] < 0.85 * quick < 0
    for shorter, longer in pairwise(found):
        assert longer <= shorter + 0.002 * abs(shorter)


@best_of_several
def test_backends_are_not_waited_for_when_time_is_out():
    crf = grid_of_tables(12)
    pc.solve(crf, "exact", seconds=1.0)
    assert lateness(crf, "exact", 0.2) < 0.015
    assert lateness(crf, "exact:backend=highs", 0.2) < 0.015
