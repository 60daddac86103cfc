"""One solve of the benchmark: rows of several steps, retries, and the two ways of asking."""

from __future__ import annotations

import numpy as np
import pytest

from policrf.bench.potentials import measure as module
from policrf.bench.potentials.measure import measure
from policrf.bench.potentials.problem import Problem, small_problem
from policrf.bench.potentials.rows import Row
from policrf.crf.potentials import Custom
from policrf.errors import InvalidOption
from policrf.scenes import make_family
from policrf.solvers import solve


def test_the_second_step_starts_where_the_first_ends():
    problem = Problem(make_family("two_labels", 36, 4, seed=1))
    first = solve(problem.crf, "highest_confidence_first", descend=False)
    second = solve(problem.crf, "icm", initial=first.labels)
    found = measure(problem, "highest_confidence_first:descend=false + icm", None)
    assert found["energy"] == second.energy
    assert found["calls"] > max(first.calls, second.calls)
    assert measure(problem, "icm", None)["energy"] != second.energy


@pytest.mark.parametrize("family", ["two_labels", "order", "connectivity", "superpixels"])
def test_asked_when_complete_the_energy_is_the_same(family):
    problem = small_problem(family, 4)
    labels = np.random.default_rng(0).integers(0, 4, 64)
    assert problem.complete.energy(labels) == pytest.approx(problem.crf.energy(labels))
    forms = [group.partial_form for group in problem.complete.groups(Custom)]
    assert set(forms) == {"complete"}
    partial = np.where(np.arange(64) < 63, labels, -1)
    assert Row.parse("complete: highest_confidence_first").complete
    halfway = problem.crf.labeling(partial).energy
    assert problem.complete.labeling(partial).energy <= halfway


def test_the_known_part_is_solved_first_and_the_whole_after_it():
    problem = Problem(make_family("two_labels", 64))
    first = solve(problem.known, "alpha_expansion")
    whole = solve(problem.crf, "icm", initial=first.labels)
    found = measure(problem, "known: alpha_expansion + icm", None)
    assert found["energy"] == whole.energy != solve(problem.crf, "icm").energy
    with pytest.raises(InvalidOption, match="A \\+ B"):
        measure(problem, "known: alpha_expansion", None)


def test_the_median_of_short_solves_counts(monkeypatch):
    energies = iter([5.0, 1.0, 3.0, 9.0, 2.0])
    once = lambda *_: {"energy": next(energies)}  # noqa: E731
    monkeypatch.setattr(module, "_measure_once", once)
    assert measure(Problem(make_family("parity", 64)), "icm", 1.0) == {"energy": 3.0}


def test_a_refusal_says_why():
    problem = Problem(make_family("label_cost", 36, 4))
    assert "table_limit" in measure(problem, "belief_propagation", 10.0)["refused"]
