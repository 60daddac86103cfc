"""What questions cost is measured, and planned with."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.crf.state import new_state
from policrf.scenes import make_family
from policrf.solvers.question_cost import (
    CALL,
    PROBES,
    SLICES,
    measure_visits,
    policy_visits,
    question_cost,
)
from policrf.solvers.run import Run


def test_a_visit_is_what_the_clock_says(monkeypatch):
    crf = make_family("order", 49, 4, seed=1)
    run = Run(crf, "probe")
    now = iter(np.arange(100) * 0.01)
    monkeypatch.setattr(run, "elapsed", lambda: float(next(now)))
    state = new_state(crf.arrays)
    measure_visits(run, state)
    assert run.visit_seconds == pytest.approx((0.01 - CALL) / SLICES[-1])
    assert crf.energy(state.labels) <= pc.solve(crf, "unary").energy


def test_visits_that_take_all_the_time_are_known_without_one():
    def count(labels, parameters):
        return float(len(set(labels.tolist())))

    crf = pc.CRF(np.random.default_rng(0).random((30, 3)), pc.Custom([np.arange(30)], count))
    for seconds, visits in ((1e-9, 0), (None, min(30, PROBES))):
        run = Run(crf, "probe", seconds=seconds)
        before = int(crf.arrays.calls[0])
        measure_visits(run, new_state(crf.arrays))
        asked = int(crf.arrays.calls[0]) - before - 1  # the start's own value
        assert 2 * visits <= asked <= 4 * visits
        assert run.visit_seconds is not None
        assert run.visit_seconds > 0


def test_the_cost_is_measured_once_in_a_run_and_grows_with_cliques():
    crf = make_family("connectivity", 100, 4, seed=1)
    run = Run(crf, "probe", seconds=1.0)
    run.visit_seconds = 0.5
    cost = question_cost(run)
    assert cost.visit == 0.5
    assert cost.policy > cost.descent > 100 * cost.visit
    counting = make_family("label_cost", 100, 4, seed=1)
    assert policy_visits(counting.arrays) < policy_visits(crf.arrays)
