"""First labelings: each is offered whole, and time that is out leaves the starting labels."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.scenes import make_family
from policrf.solvers.numbers import UNTRAINED_STARTS
from policrf.solvers.run import Run
from policrf.solvers.starts import first_labels, relabel_first

CRF = make_family("two_labels", 36, 4, seed=5)
UNARY = CRF.unary.argmin(axis=1)


@pytest.mark.parametrize("start", UNTRAINED_STARTS[1:])
def test_a_start_returns_what_it_offered(start):
    run = Run(CRF, start)
    labels = first_labels(run, start)
    if start == "unary":
        assert run.best is None
        np.testing.assert_array_equal(labels, UNARY)
    else:
        np.testing.assert_array_equal(labels, run.best)
        assert run.energy == CRF.energy(labels)


def test_starts_are_those_of_the_solvers():
    confident = first_labels(Run(CRF, "x"), "highest_confidence_first")
    plain = pc.solve(CRF, "highest_confidence_first", descend=False)
    np.testing.assert_array_equal(confident, plain.labels)
    known = pc.CRF(CRF.unary, CRF.potentials[0])
    labels = first_labels(Run(CRF, "x"), "known_part")
    np.testing.assert_array_equal(labels, pc.solve(known, "alpha_expansion").labels)


def test_auto_begins_with_its_own_rules_and_with_cuts_where_nothing_is_asked_half_way():
    run = Run(CRF, "x")
    labels = first_labels(run, "auto")
    assert run.info["steps"][0][0] == "icm"
    assert run.energy == CRF.energy(labels) <= pc.solve(CRF, "icm").energy
    known = pc.CRF(CRF.unary, CRF.potentials[0])
    np.testing.assert_array_equal(
        first_labels(Run(known, "x"), "auto"), first_labels(Run(known, "x"), "known_part")
    )


def test_without_time_the_starting_labels_are_returned():
    for start in UNTRAINED_STARTS[1:]:
        np.testing.assert_array_equal(first_labels(Run(CRF, "x", seconds=0.0), start), UNARY)
    np.testing.assert_array_equal(relabel_first(Run(CRF, "x", seconds=0.0), UNARY), UNARY)


def test_single_relabels_end_where_icm_does():
    run = Run(CRF, "x")
    labels = relabel_first(run, UNARY.copy())
    np.testing.assert_array_equal(labels, pc.solve(CRF, "icm").labels)


def test_the_rule_is_a_policys_own():
    with pytest.raises(InvalidOption, match="without a policy"):
        first_labels(Run(CRF, "x"), "rule")
