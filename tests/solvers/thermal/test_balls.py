"""Cycles of balls: what is in them, that nothing outside changes, and that none ends higher."""

from __future__ import annotations

import numpy as np
import pytest

from policrf.random_numbers import new_generator
from policrf.scenes import make_frustrated
from policrf.solvers.thermal.balls import anneal_ball, close_ball, grow_ball
from policrf.solvers.thermal.kept_costs import load_costs, new_kept
from policrf.solvers.thermal.sweeps import LOGS, Cooling, settle


def test_a_ball_grows_breadth_first():
    crf = make_frustrated("grid", 49, seed=0)
    left, ball = np.zeros(49, bool), np.empty(49, np.int64)
    assert grow_ball(crf.arrays, 24, 5, left, ball) == 5
    assert sorted(ball[:5].tolist()) == [17, 23, 24, 25, 31]
    assert not left.any()
    assert grow_ball(crf.arrays, 0, 49, left, ball) == 49
    assert sorted(ball.tolist()) == list(range(49))


@pytest.mark.parametrize("family", ["glass", "third_order"])
def test_a_ball_ends_no_higher_and_leaves_the_rest_alone(family):
    crf = make_frustrated(family, 120, 3, degree=4, seed=1)
    a, generator = crf.arrays, new_generator(2)
    kept = new_kept(a, np.argmin(crf.unary, axis=1))
    while not settle(a, kept, np.zeros(2, np.int64), 10_000):
        pass
    best, region = kept.labels.copy(), np.empty(120, np.int64)
    left, ball = np.zeros(120, bool), np.empty(40, np.int64)
    gains = []
    for start in range(0, 120, 8):
        before, energy = best.copy(), crf.energy(best)
        nodes = ball[: grow_ball(a, start, 40, left, ball)]
        anneal_ball(a, kept, generator, LOGS, Cooling(1.0, 0.05, 20), nodes, 0, 20 * len(nodes))
        gains.append(close_ball(a, kept, best, region, left, nodes))
        assert crf.energy(best) == pytest.approx(energy - gains[-1])
        assert set(np.flatnonzero(best != before)) <= set(nodes.tolist())
        assert not left.any()
    assert min(gains) >= 0
    assert max(gains) > 0.1
    assert kept.labels.tolist() == best.tolist()
    again = new_kept(a, best)
    load_costs(a, again)
    assert kept.costs == pytest.approx(again.costs, abs=1e-9)


def test_slices_change_nothing():
    crf = make_frustrated("random", 60, 3, degree=4, seed=3)
    ball = np.arange(5, 30)
    labels = []
    for size in (7, 250):
        kept, generator = new_kept(crf.arrays, np.zeros(60, np.int64)), new_generator(1)
        for done in range(0, 250, size):
            count = min(size, 250 - done)
            anneal_ball(crf.arrays, kept, generator, LOGS, Cooling(2.0, 0.1, 10), ball, done, count)
        labels.append(kept.labels.tolist())
    assert labels[0] == labels[1]
