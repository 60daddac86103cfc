"""The compiled core against plain Python, brute force and itself."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policrf as pc
from policrf.errors import CustomPotentialFailed
from policrf.testing import random_crf, reference_energy
from policrf.testing.random_crf import spread
from policrf.testing.reference import all_labelings, group_terms
from policrf.testing.strategies import crfs, labelings


def close(found: float, expected: float, scale: float) -> bool:
    return found == expected or abs(found - expected) <= 1e-9 * max(scale, abs(expected))


def size_of(crf: pc.CRF) -> float:
    """Largest finite number in the energy: what rounding errors are relative to."""
    finite = crf.unary[np.isfinite(crf.unary)]
    return 10 * (1 + float(np.abs(finite).max())) * crf.n_nodes


@settings(max_examples=200, deadline=None)
@given(st.data(), crfs())
def test_energy_and_partial_energy_equal_plain_python(data, crf):
    labels = data.draw(labelings(crf))
    assert close(crf.energy(labels), reference_energy(crf, labels), size_of(crf))
    partial = data.draw(labelings(crf, partial=True))
    assert close(crf.partial_energy(partial), reference_energy(crf, partial), size_of(crf))


@settings(max_examples=150, deadline=None)
@given(st.data(), crfs())
def test_partial_energies_sum_to_the_energy_along_any_order(data, crf):
    labels = data.draw(labelings(crf))
    order = data.draw(st.permutations(range(crf.n_nodes)))
    walk = crf.labeling()
    added = [walk.assign(node, labels[node]) for node in order]
    assert close(
        math.fsum(added) if np.isfinite(added).all() else math.inf, crf.energy(labels), size_of(crf)
    )
    assert close(walk.energy, crf.energy(labels), size_of(crf))
    for node in data.draw(st.permutations(range(crf.n_nodes))):
        walk.unassign(node)
    assert abs(walk.energy) <= 1e-9 * size_of(crf)
    assert (walk.state.labeled == 0).all()
    assert (walk.state.matches == 0).all()


@settings(max_examples=150, deadline=None)
@given(st.data(), crfs())
def test_label_costs_equal_energy_differences(data, crf):
    """On partial labelings: with the node unlabeled, and with any label on it, the same costs.

    They are the same up to a constant, which cliques asked half-way leave open.
    """
    labels = list(data.draw(labelings(crf, partial=True)))
    node = data.draw(st.integers(0, crf.n_nodes - 1))
    labels[node] = -1
    without = crf.partial_energy(labels)
    costs = crf.label_costs(labels, node)
    for label in range(crf.n_labels):
        if label >= crf.cardinalities[node]:
            assert costs[label] == np.inf
            continue
        labels[node] = label
        found = crf.label_costs(labels, node)
        if np.isfinite(costs[label]):
            found, wanted = found - found[label], costs - costs[label]
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * size_of(crf))
        if np.isfinite(without):
            assert close(crf.partial_energy(labels) - without, costs[label], size_of(crf))


@settings(max_examples=60, deadline=None)
@given(st.data(), crfs())
def test_relabeling_keeps_the_books(data, crf):
    walk = crf.labeling(data.draw(labelings(crf)))
    for _ in range(10):
        node = data.draw(st.integers(0, crf.n_nodes - 1))
        walk.assign(node, data.draw(st.integers(0, int(crf.cardinalities[node]) - 1)))
    fresh = crf.labeling(walk.labels)
    np.testing.assert_array_equal(walk.state.matches, fresh.state.matches)
    np.testing.assert_array_equal(walk.state.forbidden, fresh.state.forbidden)
    assert close(walk.energy, crf.energy(walk.labels), size_of(crf))


def test_the_papers_table_1():
    """Three fully connected nodes: what each step adds to E_t, in the paper's order 1, 2, 3."""
    rng = np.random.default_rng(1)
    f1, f2, f3 = rng.random(3)
    f12, f23, f13, f123 = rng.random(4)
    unary = np.full((3, 2), 5.0)
    unary[:, 0] = f1, f2, f3
    pairs = np.full((3, 2, 2), 7.0)
    pairs[:, 0, 0] = f12, f23, f13
    triple = np.full((1, 2, 2, 2), 9.0)
    triple[0, 0, 0, 0] = f123
    crf = pc.CRF(unary, pc.Tables([[0, 1], [1, 2], [0, 2]], pairs), pc.Tables([[0, 1, 2]], triple))
    walk = crf.labeling()
    assert walk.energy == 0
    assert walk.assign(0, 0) == f1
    assert walk.assign(1, 0) == pytest.approx(f2 + f12)
    assert walk.energy == pytest.approx(f1 + f2 + f12)
    assert walk.assign(2, 0) == pytest.approx(f3 + f23 + f13 + f123)
    assert walk.energy == pytest.approx(crf.energy([0, 0, 0]))


def test_box_agreement_is_the_paper_s_form_with_z_minimised_out():
    box = pc.BoxAgreement([[0, 1, 2, 3]], [1], [0.5])
    crf = pc.CRF(np.zeros((4, 2)), box)
    for labels in all_labelings(crf):
        z_valid = 0.5 * sum(y != 1 for y in labels)
        z_false = 0.5 * sum(y == 1 for y in labels)
        assert crf.energy(labels) == min(z_valid, z_false)


def test_box_support_counts_strictly_below():
    crf = pc.CRF(np.zeros((5, 2)), pc.BoxSupport([[0, 1, 2, 3, 4]], [1], [3.0], [5 / 2]))
    for labels in all_labelings(crf):
        assert crf.energy(labels) == (3.0 if sum(labels) < 2.5 else 0.0)


def test_compiled_and_plain_custom_functions_agree():
    crf = random_crf(11, n_nodes=8, groups=("custom",))
    (group,) = crf.potentials
    rows = [
        group.parameters[a:b]
        for a, b in zip(group.parameter_ptr, group.parameter_ptr[1:], strict=False)
    ]
    fast = crf.with_potentials(pc.Custom(group.cliques, numba.njit(spread), rows))
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels = rng.integers(0, 3, 8)
        assert fast.energy(labels) == crf.energy(labels)
        np.testing.assert_array_equal(fast.label_costs(labels, 3), crf.label_costs(labels, 3))


def boom(labels, parameters):
    if labels[0] == 1:
        raise RuntimeError("boom")
    return 0.0


@pytest.mark.parametrize("function", [boom, numba.njit(boom)])
def test_a_failing_custom_function_is_an_error_not_an_energy(function):
    crf = pc.CRF(np.zeros((2, 2)), pc.Custom([[0, 1]], function))
    assert crf.energy([0, 0]) == 0.0
    with pytest.raises(CustomPotentialFailed):
        crf.energy([1, 0])
    assert crf.energy([0, 0]) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_every_term_is_that_of_its_own_groups(seed):
    crf = random_crf(seed)
    labels = np.random.default_rng(seed).integers(0, 3, 6)
    expected = dict.fromkeys(("unary", "pairwise", "hop1", "hop2", "tables", "custom"), 0.0)
    expected["unary"] = sum(crf.unary[i, y] for i, y in enumerate(labels))
    for group in crf.potentials:
        expected[group.term] += sum(group_terms(group, labels.tolist(), crf.n_labels))
    assert list(crf.terms(labels)) == list(expected)
    assert crf.terms(labels) == pytest.approx(expected)
