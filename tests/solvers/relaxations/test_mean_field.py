"""Mean field: closed-form expectations against enumeration, counts against convolution."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policrf as pc
from policrf.errors import InvalidOption
from policrf.solvers.messages.graph.explicit_tables import explicit_tables
from policrf.solvers.messages.graph.factor_graph import build_factor_graph
from policrf.solvers.relaxations.expectations import count_labels, expected_costs, new_counts
from policrf.solvers.relaxations.mean_field import boltzmann, typical_margin
from policrf.solvers.relaxations.poisson_binomial import insert_event, leave_one_out
from policrf.solvers.run import Run
from policrf.testing import random_crf, reference_minimum
from policrf.testing.strategies import crfs

PROBABILITIES = st.sampled_from([0.0, 1e-12, 0.1, 0.3, 0.5, 0.5 + 1e-9, 0.8, 1 - 1e-12, 1.0])


def convolved(probabilities):
    pmf = np.ones(1)
    for p in probabilities:
        pmf = np.convolve(pmf, [1 - p, p])
    return pmf


def built(probabilities):
    pmf, window = np.zeros(len(probabilities) + 1), np.zeros((1, 2), np.int64)
    pmf[0] = 1.0
    for p in probabilities:
        insert_event(pmf, 0, window, 0, p)
    return pmf, window


@settings(deadline=None)
@given(st.lists(PROBABILITIES, min_size=1, max_size=30))
def test_counts_with_and_without_each_event(probabilities):
    pmf, window = built(probabilities)
    kept = np.zeros_like(pmf)
    low, high = window[0]
    kept[low : high + 1] = pmf[low : high + 1]
    np.testing.assert_allclose(kept, convolved(probabilities), atol=1e-14)
    for i, p in enumerate(probabilities):
        out = np.zeros(high - low + 2)
        first = leave_one_out(pmf, 0, window, 0, p, out)
        expected = convolved(np.delete(probabilities, i))
        found = np.zeros(len(expected))
        for m, value in enumerate(out):
            if 0 <= first + m < len(found):
                found[first + m] = value
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_many_even_events_keep_their_digits():
    """p = ½ is where leaving out is worst conditioned; the window must not grow with n either."""
    n = 3000
    pmf, window = built([0.5] * n)
    low, high = window[0]
    assert high - low < 12 * np.sqrt(n)
    out = np.zeros(high - low + 2)
    first = leave_one_out(pmf, 0, window, 0, 0.5, out)
    reference, reference_window = built([0.5] * (n - 1))
    k = np.arange(reference_window[0, 0] + 1, reference_window[0, 1])
    np.testing.assert_allclose(out[k - first], reference[k], atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(crfs(max_nodes=5, max_labels=3, forbidden=0.0), st.integers(0, 1000))
def test_expected_costs_are_expectations(crf, seed):
    g = build_factor_graph(crf, explicit_tables(Run(crf, "test"), 10**6, dominant=False))
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(g.unary.shape[1]), len(g.unary)) * g.allowed
    q /= q.sum(axis=1, keepdims=True)
    counts = new_counts(g)
    count_labels(g, q, counts, 0, len(g.clique_kind))
    costs = np.empty(g.unary.shape[1])
    weights = {
        labels: np.prod([q[v, labels[g.origin[v]]] for v in range(len(q))])
        for labels in itertools.product(*(range(n) for n in crf.cardinalities))
    }
    for v in range(len(q)):
        expected_costs(g, q, counts, v, costs)
        node = g.origin[v]
        conditional = np.zeros(g.sizes[v])
        for labels, weight in weights.items():
            x = labels[node]
            conditional[x] += weight / q[v, x] * crf.energy(labels)
        scale = max(np.abs(conditional).max(), g.scale)
        np.testing.assert_allclose(
            costs[: g.sizes[v]] - costs[0], conditional - conditional[0], atol=1e-9 * scale
        )


def test_small_crfs_come_close():
    found = []
    for seed in range(40):
        crf = random_crf(seed, n_nodes=5, ragged=seed % 3 == 0, forbidden=0.1 * (seed % 2))
        solution = pc.solve(crf, "mean_field")
        lowest = reference_minimum(crf)
        assert solution.energy >= lowest - 1e-9
        found.append(solution.energy <= lowest + 1e-9)
    assert np.mean(found) > 0.8


@pytest.mark.parametrize("potentials", ["u+p", "u+p+hop1"])
def test_better_than_icm_on_scenes(potentials):
    ours, theirs = [], []
    for seed in range(4):
        crf = pc.make_scene(300, "B", seed=seed, potentials=potentials).crf
        ours.append(pc.solve(crf, "mean_field").energy)
        theirs.append(pc.solve(crf, "icm").energy)
    assert np.mean(ours) < 0.99 * np.mean(theirs)


def test_a_fixed_temperature_is_an_option():
    crf = pc.make_scene(100, "A", seed=0, potentials="u+p").crf
    fixed = pc.solve(crf, "mean_field", temperature=1.0, cooling=1.0, damping=0.3)
    assert fixed.info["converged"]
    assert fixed.info["temperature"] == 1.0


def test_probabilities_of_forbidden_labels_are_zero():
    q = boltzmann(np.array([[0.0, 1.0, 1e9], [1e9, 3.0, 3.0]]), 1.0)
    assert q[0, 2] == 0.0
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    np.testing.assert_allclose(q[1], [0.0, 0.5, 0.5])


def test_the_first_temperature_is_never_zero():
    for unary in (np.zeros((3, 2)), np.ones((2, 1))):
        crf = pc.CRF(unary)
        g = build_factor_graph(crf, explicit_tables(Run(crf, "test"), 1))
        assert typical_margin(g) > 0


@pytest.mark.parametrize(
    ("option", "value"), [("damping", -0.1), ("cooling", 0.0), ("temperature", 0.0)]
)
def test_options_out_of_range(option, value):
    with pytest.raises(InvalidOption, match=option):
        pc.solve(pc.CRF([[0.0, 1.0]]), "mean_field", **{option: value})
