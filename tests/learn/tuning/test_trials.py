"""One trial: which instance and seed, the scale of energies, and interrupted solves."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.learn.tuning.trials import ATTEMPTS, Measured, Trials
from policrf.scenes import make_family
from policrf.solvers.numbers import Numbers

SMALL, LARGE = make_family("two_labels", 16, 3), make_family("two_labels", 48, 3)


def test_trials_take_turns_on_instances_and_energies_are_scaled_by_size():
    trials = Trials([SMALL, LARGE], 1.0)
    assert trials.measure("unary", 2).energy == pytest.approx(2 * pc.solve(SMALL, "unary").energy)
    assert trials.measure("unary", 1).energy == pytest.approx(
        2 / 3 * pc.solve(LARGE, "unary").energy
    )
    assert trials.tuning(Numbers(), won=True).nodes == (16, 48)


def test_seeds_follow_when_all_instances_have_had_their_turn():
    seeds = []

    def solver(run):
        seeds.append((run.crf.n_nodes, run.seed, run.seconds))

    trials = Trials([SMALL, LARGE], 2.0)
    for trial in range(4):
        trials.measure(solver, trial)
    assert seeds == [(16, 0, 32.0), (48, 0, 96.0), (16, 1, 32.0), (48, 1, 96.0)]


def test_a_solver_that_refuses_the_problem_is_infinitely_high():
    assert np.isinf(Trials([SMALL], 1.0).measure("alpha_expansion", 0).energy)


def test_an_interrupted_solve_is_made_again_and_all_its_time_counts(monkeypatch):
    solves = iter([(9.0, Measured(9.0, 0.001, 0.001)), (1.05, Measured(5.0, 0.001, 0.001))])
    monkeypatch.setattr(Trials, "_measure_once", lambda *_: next(solves))
    found = Trials([SMALL], 1e-4).measure("icm", 0)
    assert found == Measured(5.0, 0.001, pytest.approx(0.002))


def test_an_endlessly_interrupted_solve_counts_where_it_was_least(monkeypatch):
    made = []

    def once(*_):
        made.append(Measured(float(len(made)), 0.001, 0.001))
        return 9.0 - (len(made) == 3), made[-1]

    monkeypatch.setattr(Trials, "_measure_once", once)
    assert Trials([SMALL], 1e-4).measure("icm", 0).energy == 2.0
    assert len(made) == ATTEMPTS
    made.clear()
    Trials([SMALL], 1.0).measure("icm", 0)  # a long one is always interrupted
    assert len(made) == 1
