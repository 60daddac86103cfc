"""`check_solver` and `check_potential` find what they are there to find."""

import itertools
import time

import numpy as np
import pytest

import policrf as pc
from policrf.errors import UnsupportedPotential
from policrf.testing import check_potential, check_solver


def says_less(run):
    run.offer(run.start_labels())
    run.energy -= 1.0


def claims_optimality(run):
    run.offer(run.start_labels())
    run.optimal = True


def claims_a_bound(run):
    run.offer(run.start_labels())
    run.bound(run.energy - 1e-3)


def forgets_its_seed(run):
    chance = np.random.default_rng(next(COUNTER))
    run.offer(chance.integers(0, run.crf.cardinalities))


def returns_late(run):
    run.offer(run.start_labels())
    time.sleep(0.05)


def never_stops(run):
    run.offer(run.start_labels())
    while run.seconds is None:
        run.expired()


COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("solver", "says"),
    [
        (says_less, "says energy"),
        (claims_optimality, "calls .* optimal"),
        (claims_a_bound, "lower bound .* above the minimum"),
        (forgets_its_seed, "same seed, other energy"),
        (returns_late, "a budget of 0 s took"),
        (never_stops, "goes on after its callback asked it to stop"),
    ],
)
def test_a_solver_that_misbehaves_is_found(solver, says):
    with pytest.raises(AssertionError, match=says):
        check_solver(solver, seconds=60.0, patience=0.01 if solver is returns_late else 3.0)


def test_the_outcome_tells_what_was_refused():
    def only_unaries(run):
        run.refuse_all_but()
        run.offer(run.start_labels())

    outcome = check_solver(only_unaries)
    assert outcome["no edges"] == "ok"
    assert "cannot take Potts" in outcome["two labels"]
    taken = {name for name, what in outcome.items() if what == "ok"}
    assert taken == {"one node", "no edges"}


def test_a_refusal_without_a_reason_is_found():
    def silent(run):
        raise UnsupportedPotential("")

    with pytest.raises(AssertionError, match="refused without a reason"):
        check_solver(silent)


def test_a_potential_that_depends_on_more_than_its_labels_is_found():
    calls = itertools.count()
    moody = pc.Custom([[0, 1, 2]], lambda labels, _: float(next(calls)))
    with pytest.raises(AssertionError, match="energy is"):
        check_potential(moody, n_nodes=4, n_labels=3)
