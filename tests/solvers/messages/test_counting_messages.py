"""Counting messages against explicit tables: any cost of the count, ties, forbidden labels."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policrf as pc
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.crf.tabulate import tabulate_clique
from policrf.solvers.messages.clique_messages import clique_minimum, send_from_clique
from policrf.solvers.messages.counting_messages import (
    count_cost,
    counting_messages,
    counting_minimum,
)
from policrf.solvers.messages.graph.explicit_tables import explicit_tables
from policrf.solvers.messages.graph.factor_graph import build_factor_graph
from policrf.solvers.run import Run

# Few values, so that ties are common; 1e6 stands for what is forbidden.
VALUES = st.sampled_from([-1e6, -2.5, -1.0, 0.0, 0.5, 1.0, 2.5, 7.0, 1e6])


@st.composite
def counting_problems(draw):
    differences = draw(st.lists(VALUES, min_size=1, max_size=7))
    n = len(differences)
    costs = draw(st.lists(st.integers(-6, 6), min_size=n + 1, max_size=n + 1))
    return np.array(costs, float), np.array(differences)


def enumerated(costs, difference):
    """with − without for every member, and the minimum, over all 2^n choices."""
    n = len(difference)
    with_label, without, lowest = np.full(n, np.inf), np.full(n, np.inf), np.inf
    for choice in itertools.product((0, 1), repeat=n):
        value = costs[sum(choice)] + float(np.dot(choice, difference))
        lowest = min(lowest, value)
        for i in range(n):
            rest = costs[sum(choice)] + sum(
                d for j, d in enumerate(difference) if choice[j] and j != i
            )
            if choice[i]:
                with_label[i] = min(with_label[i], rest)
            else:
                without[i] = min(without[i], rest)
    return with_label - without, lowest


@settings(deadline=None)
@given(counting_problems())
def test_messages_are_those_of_the_table(problem):
    costs, difference = problem
    with_label, without = np.empty((2, len(difference)))
    counting_messages(costs, difference, with_label, without)
    expected, _ = enumerated(costs, difference)
    np.testing.assert_allclose(with_label - without, expected, atol=1e-9)


@settings(deadline=None)
@given(counting_problems())
def test_the_minimiser_attains_the_minimum(problem):
    costs, difference = problem
    matched = np.empty(len(difference), np.int64)
    value = counting_minimum(costs, difference, matched)
    _, expected = enumerated(costs, difference)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-9)
    attained = costs[matched.sum()] + float(np.dot(matched, difference))
    assert attained == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "expected"), [(AGREE, [0, 1.5, 3, 1.5, 0]), (SUPPORT, [1.5, 1.5, 1.5, 0, 0])]
)
def test_cost_of_a_count(kind, expected):
    assert [count_cost(kind, 1.5, 3, 4, k) for k in range(5)] == expected


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("group", ["hop1", "hop2"])
def test_box_messages_equal_those_of_its_table(group, seed):
    """The same clique once as a box and once as its table with L^n entries."""
    rng = np.random.default_rng(seed)
    n, n_labels = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    unary = rng.normal(size=(n, n_labels)).round(int(rng.integers(0, 3)))
    unary[0, -1] = np.inf
    label = int(rng.integers(n_labels))
    clique = [rng.permutation(n)]
    if group == "hop1":
        box = pc.BoxAgreement(clique, [label], [0.7])
    else:
        box = pc.BoxSupport(clique, [label], [1.9], [int(rng.integers(1, n + 2))])
    crf = pc.CRF(unary, box)
    as_table = pc.CRF(unary, pc.Tables(clique, [tabulate_clique(crf, 0)]))
    answers = []
    for problem in (crf, as_table):
        g = build_factor_graph(problem, explicit_tables(Run(problem, "test"), 10**6))
        if not len(g.clique_kind):  # a table of two nodes is a pairwise term
            return
        h = g.unary[g.clique_nodes]
        out, labels = np.empty_like(h), np.empty(n, np.int64)
        send_from_clique(g, 0, h, out)
        value = clique_minimum(g, 0, h, labels)
        cost = problem.energy(labels[np.argsort(g.clique_nodes)])
        assert value == pytest.approx(cost)
        answers.append((np.where(g.allowed[g.clique_nodes], out, 0.0), value))
    np.testing.assert_allclose(answers[0][0], answers[1][0], atol=1e-9)
    assert answers[0][1] == pytest.approx(answers[1][1])


def test_a_large_box_needs_no_table():
    rng = np.random.default_rng(0)
    difference = rng.normal(size=5000)
    costs = np.where(np.arange(5001) < 2500, 50.0, 0.0)
    with_label, without = np.empty((2, 5000))
    counting_messages(costs, difference, with_label, without)
    # About half of the members want the label by themselves: the quota asks for no more than the
    # next cheapest, and no message is beyond what that costs.
    order = np.sort(difference)
    price = max(order[2499], order[2500], 0.0)
    assert np.abs(with_label - without).max() <= max(50.0, price) + 1e-9
    assert np.isfinite(with_label).all()
    assert np.isfinite(without).all()
