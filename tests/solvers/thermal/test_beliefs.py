"""Sum-product messages are exact on trees; reinforced ones find low labels, or know they can't."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.random_numbers import new_generator
from policrf.scenes import make_frustrated
from policrf.solvers.run import Run
from policrf.solvers.thermal.beliefs import likeliest, new_beliefs, visit, weigh
from policrf.solvers.thermal.reinforced import (
    LEAST_SWEEPS,
    Messages,
    can_reinforce,
    labels_in_time,
    reinforced_labels,
)


def tree(rng: np.random.Generator) -> pc.CRF:
    """Seven nodes of two and three labels: Potts edges of either sign, a pair and a triple."""
    sizes = [3, 2, 3, 3, 2, 3, 3]
    unary = rng.normal(size=(7, 3))
    unary[0, 1] = np.inf
    for i, size in enumerate(sizes):
        unary[i, size:] = np.inf
    edges = pc.Potts([[0, 2], [2, 3]], [1.5, -2.0])
    pair = pc.Tables([[3, 4]], [rng.normal(size=(3, 2))])
    triple = pc.Tables([[1, 5, 0]], [rng.normal(size=(2, 3, 3))])
    single = pc.Tables([[6]], [rng.normal(size=3)])
    return pc.CRF(unary, edges, pair, triple, single, cardinalities=sizes)


@pytest.mark.parametrize("temperature", [0.3, 1.0])
def test_beliefs_of_a_tree_are_its_marginals(temperature):
    crf = tree(np.random.default_rng(3))
    a, marginals = crf.arrays, np.zeros((7, 3))
    labelings = list(itertools.product(*(range(size) for size in crf.cardinalities)))
    energies = np.array([crf.energy(np.array(labels)) for labels in labelings])
    weights = np.exp(-(energies - energies.min()) / temperature)
    for labels, weight in zip(labelings, weights, strict=True):
        marginals[np.arange(7), list(labels)] += weight / weights.sum()
    beliefs = new_beliefs(a)
    weigh(a, beliefs, temperature, 0, 1)  # in two slices
    weigh(a, beliefs, temperature, 1, 5)
    generator = new_generator(0)
    for number in range(12):
        visit(a, beliefs, generator, temperature, 1e-12 * number, number % 2 == 1, 0, 4)
        visit(a, beliefs, generator, temperature, 1e-12 * number, number % 2 == 1, 4, 7)
    for i, size in enumerate(crf.cardinalities):
        assert np.exp(beliefs.logs[i, :size]) == pytest.approx(marginals[i, :size], abs=1e-5)
    labels = np.empty(7, np.int64)
    likeliest(a, beliefs, labels)
    assert labels.tolist() == marginals.argmax(axis=1).tolist()


def at_once(work, count, most=np.inf):
    work(0, count)
    return True


def messages_of(crf: pc.CRF, temperature: float, in_slices=at_once, seed: int = 1) -> Messages:
    return Messages(crf.arrays, new_generator(seed), temperature, in_slices)


@pytest.mark.parametrize("family", ["glass", "random", "third_order", "ising"])
def test_reinforced_labels_are_lower_than_beliefs(family):
    crf = make_frustrated(family, 900, 4, degree=6, seed=3)
    found = list(reinforced_labels(messages_of(crf, 0.3), 1))
    few = crf.energy(found[-1])
    passed = reinforced_labels(messages_of(crf, 0.3), 40)
    energies = [crf.energy(labels) for labels in passed]
    assert len(energies) == 3
    assert energies[-1] < 0.8 * few < 0
    assert energies[-1] < energies[0] < few


def test_huge_costs_and_many_terms_stay_finite():
    rng = np.random.default_rng(0)
    star = np.stack([np.zeros(400, np.int64), np.arange(1, 401)], axis=1)
    weights = rng.choice([-1e6, 1e6], 400)
    unary = 1e5 * rng.normal(size=(401, 3))
    tables = pc.Tables(star, 1e6 * rng.normal(size=(400, 3, 3)))
    crf = pc.CRF(unary, pc.Potts(star, weights), tables)
    beliefs = new_beliefs(crf.arrays)
    for temperature in (1e4, 1e-3):
        weigh(crf.arrays, beliefs, temperature, 0, 800)
        for pull in (0.0, 0.3, 0.6):
            visit(crf.arrays, beliefs, new_generator(0), temperature, pull, False, 0, 401)
            assert np.isfinite(beliefs.logs).all()
    *_, labels = reinforced_labels(messages_of(crf, 1e4), 6)
    assert crf.energy(labels) < 0 < crf.energy(np.argmin(unary, axis=1))


def test_time_may_run_out():
    crf = make_frustrated("glass", 100, seed=1)
    left = [5]

    def until_it_is_over(work, count, most):
        left[0] -= 1
        work(0, count)
        return left[0] > 0

    passed = reinforced_labels(messages_of(crf, 0.3, until_it_is_over), 20)
    assert list(passed) == [None]
    assert left == [0]


@pytest.mark.parametrize(("seconds", "sweeps"), [(None, 12), (100, 12), (10, 8), (6, None)])
def test_as_many_sweeps_as_there_is_time_for(seconds, sweeps):
    """By a clock that each sweep takes a second of; what would take too long is not begun."""
    crf, done = make_frustrated("glass", 100, seed=1), []

    class Clocked(Run):
        def elapsed(self):
            return float(len(done))

    def second_by_second(work, count, most):
        if most < 1:
            return False
        work(0, count)
        done.append(count)
        return True

    found = labels_in_time(
        messages_of(crf, 0.3, second_by_second), 12, Clocked(crf, "auto", seconds=seconds)
    )
    assert (found is None) == (sweeps is None)
    assert len(done) == (0 if sweeps is None else 1 + sweeps)
    assert sweeps is None or sweeps >= LEAST_SWEEPS


def test_larger_tables_are_refused():
    assert can_reinforce(make_frustrated("third_order", 50, 2, degree=3).arrays)
    four = pc.Tables([[0, 1, 2, 3]], np.zeros((1, 2, 2, 2, 2)))
    assert not can_reinforce(pc.CRF(np.zeros((4, 2)), four).arrays)
