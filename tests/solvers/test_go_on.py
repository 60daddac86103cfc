"""Seconds are used: what a solver leaves of its time goes to a search from its labels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.timing import best_of_several

import policrf as pc
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.scenes import make_frustrated

SOLVERS = (
    "icm", "lazy_flipper", "highest_confidence_first", "belief_propagation", "mean_field",
    "tree_reweighted:iterations=5", "dual_decomposition:iterations=5", "refine", "untrained",
)  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
@best_of_several
def test_time_that_is_left_is_used(solver):
    crf = make_frustrated("glass", 80, degree=6, seed=3)
    pc.solve(crf, solver, seconds=0.05)
    natural = pc.solve(crf, solver, seconds=20, go_on=False)
    longer = pc.solve(crf, solver, seconds=natural.seconds + 0.4)
    assert longer.energy <= natural.energy
    assert longer.seconds >= natural.seconds + 0.39  # a reserve for the last labels may be left
    assert natural.seconds < 20
    assert "went_on" not in natural.info


@pytest.mark.parametrize("solver", [*SOLVERS, "annealing"])
@best_of_several
def test_a_longer_time_is_never_higher_and_never_overrun(solver):
    crf = make_frustrated("random", 300, degree=6, seed=11)
    pc.solve(crf, solver, seconds=0.1)
    with cpu_budgets(patience=100):
        found = [pc.solve(crf, solver, seconds=seconds, seed=1) for seconds in (0.05, 0.15, 0.3)]
    energies = [solution.energy for solution in found]
    assert energies == sorted(energies, reverse=True)
    assert 0.29 <= found[-1].seconds < 0.36


@best_of_several
def test_the_descent_is_seen():
    crf = make_frustrated("random", 500, seed=3)
    pc.solve(crf, "icm", seconds=0.05)
    natural, longer = pc.solve(crf, "icm"), pc.solve(crf, "icm", seconds=0.5)
    assert longer.energy < natural.energy
    assert longer.info["went_on"] > 0.2
    assert longer.trace[-1].energy == longer.energy


@best_of_several
def test_cuts_go_on_where_their_answer_is_not_proven():
    rng = np.random.default_rng(0)
    edges = np.array([[i, j] for i in range(30) for j in range(i) if rng.random() < 0.3])
    crf = pc.CRF(rng.random((30, 4)) * 3, pc.Potts(edges, rng.random(len(edges))))
    pc.solve(crf, "alpha_expansion", seconds=0.05)
    natural = pc.solve(crf, "alpha_expansion")
    longer = pc.solve(crf, "alpha_expansion", seconds=0.3)
    assert longer.energy <= natural.energy
    assert longer.optimal or longer.seconds >= 0.29


@best_of_several
def test_other_potentials_go_on_by_the_moves_of_refine():
    scene = pc.make_scene(150, "B", seed=1)
    pc.solve(scene, "icm", seconds=0.05)
    natural, longer = pc.solve(scene, "icm"), pc.solve(scene, "icm", seconds=0.5)
    assert longer.energy < natural.energy
    assert longer.seconds >= 0.49


def test_a_proof_ends_it():
    chain = np.stack([np.arange(29), np.arange(1, 30)], axis=1)
    rng = np.random.default_rng(2)
    crf = pc.CRF(rng.random((30, 3)), pc.Tables(chain, rng.random((29, 3, 3))))
    solution = pc.solve(crf, "belief_propagation", seconds=20)
    assert solution.optimal
    assert solution.seconds < 10


def test_functions_of_others_are_left_alone():
    def first_labels(run):
        run.offer(np.zeros(run.crf.n_nodes, np.int64))

    crf = make_frustrated("random", 50, degree=4)
    solution = pc.solve(crf, first_labels, seconds=20)
    assert solution.energy == crf.energy(np.zeros(50, np.int64))
    assert solution.seconds < 10
