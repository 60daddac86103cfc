"""Which start suits a CRF is told from a few cliques, and the trial itself is plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from policrf.crf.energy import N_TERMS, energy_terms
from policrf.crf.state import new_state
from policrf.scenes import make_family
from policrf.solvers.start_trial import (
    BY_EDGES,
    BY_QUESTIONS,
    BY_UNARIES,
    MOST_MEMBERS,
    VISITS,
    Tried,
    _some_members,
    settled_energy,
    try_starts,
)

MANY = MOST_MEMBERS * VISITS


def test_half_way_questions_help_with_an_order_and_not_with_a_parity():
    ordered = [try_starts(make_family("order", 400, 6, seed=s).arrays, MANY) for s in range(5)]
    assert sum(tried.halfway_helps for tried in ordered) >= 4
    even = [try_starts(make_family("parity", 400, 6, seed=s).arrays, MANY) for s in range(5)]
    assert not any(tried.halfway_helps for tried in even)
    assert sum(tried.edges < tried.unaries for tried in even) >= 4


@pytest.mark.parametrize("way", [BY_UNARIES, BY_EDGES, BY_QUESTIONS])
@pytest.mark.parametrize("family", ["order", "parity", "connectivity"])
def test_the_energy_of_a_trial_is_that_of_its_partial_labeling(family, way):
    crf = make_family(family, 49, 4, seed=2)
    arrays, state = crf.arrays, new_state(crf.arrays)
    nodes = _some_members(arrays, 24)
    labels = np.full(49, -1, np.int64)
    if way != BY_QUESTIONS:
        labels[nodes] = crf.unary[nodes].argmin(axis=1)
    for _ in range(2):  # the state may hold anything before
        energy = settled_energy(arrays, state, nodes, labels.copy(), np.empty(4), way)
        assert (np.flatnonzero(state.labels >= 0) == np.sort(nodes)).all()
        terms = np.empty(N_TERMS)
        energy_terms(arrays, state.labels, terms)
        assert energy == pytest.approx(terms.sum())


def test_members_come_from_all_over_and_are_as_many_as_asked_for():
    arrays = make_family("order", 400, 4, seed=1).arrays
    for members in (24, 60, 256):
        nodes = _some_members(arrays, members)
        assert len(np.unique(nodes)) == len(nodes)
        assert members / 2 <= len(nodes) <= members
        assert np.ptp(nodes % 20) > 10  # columns far from each other


def test_a_trial_that_ends_forbidden_promises_nothing():
    assert Tried(np.inf, np.inf, 1.0).halfway_helps
    assert not Tried(1.0, 1.0, np.inf).halfway_helps
    assert Tried(1.0, np.inf, np.inf).edges_hurt
    assert not Tried(np.inf, np.inf, np.inf).halfway_helps
