"""First answers where cliques are asked half-way, or too expensive for that."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.timing import best_of_several

import policrf as pc
from policrf.bench.potentials.measure import cpu_budgets
from policrf.crf.state import new_state
from policrf.scenes import make_family
from policrf.solvers import solve
from policrf.solvers.first_answer import (
    descend_from,
    label_in_time,
    label_when_complete,
    labels_quickly,
)
from policrf.solvers.question_cost import QuestionCost
from policrf.solvers.run import Run

COUNTING = ("two_labels", "label_cost", "co_occurrence")


def test_functions_of_counts_that_seldom_change_are_quick_and_leave_the_state_empty():
    for family in (*COUNTING, "parity", "order"):
        crf = make_family(family, 49, 4, seed=1)
        state = new_state(crf.arrays)
        assert labels_quickly(crf.arrays, state) == (family in COUNTING)
        assert (state.labels == -1).all()
        assert state.total[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("partial", ["subset", "complete"])
def test_when_complete_is_highest_confidence_first_with_as_few_calls(partial):
    asked = make_family("black_box", 49, 4, seed=3)
    (group,) = (g for g in asked.potentials if isinstance(g, pc.Custom))
    parameters = np.split(group.parameters, group.parameter_ptr[1:-1])
    custom = pc.Custom(list(group), group.function, parameters, partial=partial)
    others = [g for g in asked.potentials if g is not group]
    crf = asked.with_potentials(*others, custom)
    complete = asked.with_potentials(
        *others, pc.Custom(list(group), group.function, parameters, partial="complete")
    )
    expected = solve(complete, "highest_confidence_first")
    run = Run(crf, "when complete")
    label_when_complete(run)
    np.testing.assert_array_equal(run.best, expected.labels)
    # It offers its labels once, after single relabels; the solver before them too.
    assert run.solution().calls == expected.calls - len(list(group))


def test_without_time_for_the_policy_the_answer_is_no_worse_than_icm():
    for seed in range(4):
        crf = make_family("connectivity", 49, 4, seed=seed)
        for left, one_pass in ((None, 1e-5), (100.0, 1e3)):
            run = Run(crf, "in time", seconds=left)
            cost = QuestionCost(1e-6, 1e-4, 1.0, 1.0, one_pass)
            labels = label_in_time(run, cost, run.start_labels())
            assert crf.energy(labels) == run.energy
            if left:  # time for relabels alone
                assert run.energy <= solve(crf, "icm").energy


def test_one_pass_hears_of_a_clique_half_way_and_lowers_what_order_asks_for():
    below = 0
    for seed in range(6):
        crf = make_family("order", 225, 6, seed=seed)
        run = Run(crf, "in time")
        label_in_time(run, QuestionCost(1e-6, 1e-4, 1.0, 1.0, 1e-5), run.start_labels())
        below += run.energy < 0.95 * solve(crf, "icm").energy
    assert below >= 5


def test_a_descent_is_icm_from_the_labels():
    crf = make_family("order", 49, 4, seed=1)
    start = np.zeros(49, np.int64)
    run = Run(crf, "descent")
    descend_from(run, start)
    assert run.energy == solve(crf, "icm", initial=start).energy


def slow_crf(seconds: float, n_nodes: int = 100) -> pc.CRF:
    """One clique of all nodes, whose function takes so long that few questions can be asked."""

    def slow(labels, parameters):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass
        return 3.0 * len(set(labels.tolist()))

    unary = np.random.default_rng(0).exponential(size=(n_nodes, 4))
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], 1)
    group = pc.Custom([np.arange(n_nodes)], slow, partial="subset")
    return pc.CRF(unary, pc.Potts(edges, 0.5), group)


@pytest.mark.parametrize(
    "solver", ["auto", "untrained", "untrained:refine=true", "icm", "refine:start=unary"]
)
@best_of_several
def test_an_expensive_function_is_no_excuse_to_overrun(solver):
    question, given = 0.001, 0.1
    crf = slow_crf(question)
    solve(crf, solver, seconds=given)  # kernels may have to be loaded
    with cpu_budgets():  # other processes do not count
        began = time.perf_counter()
        found = solve(crf, solver, seconds=given)
        taken = time.perf_counter() - began
    # A visit asks about every label; a slice in hand, a few of those, and a last energy add some.
    assert taken < given + 20 * question
    assert found.energy <= solve(crf, "unary").energy
