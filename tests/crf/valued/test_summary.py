"""Custom functions of a summary: the same energies as from labels, however they are asked."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import policrf as pc
from policrf.errors import CustomPotentialFailed, InvalidFile, InvalidPotential
from policrf.testing import check_potential
from policrf.testing.reference import reference_energy, reference_minimum

CLIQUES = [[0, 1, 2, 3], [3, 4, 5]]
AREAS = [[1.0, 2.0, 4.0, 1.5], [3.0, 0.5, 1.0]]


def add_area(summary, member, label, sign, parameters):
    """The summary: area of the members with label 0, and of all that are labeled."""
    summary[1] += sign * parameters[member]
    if label == 0:
        summary[0] += sign * parameters[member]


def a_third(summary, parameters):
    """Label 0 should have a third of the area."""
    return 3.0 * abs(summary[0] - summary[1] / 3)


def group_of(wrap=lambda f: f, update=add_area, function=a_third):
    return pc.Custom(CLIQUES, wrap(function), AREAS, of=pc.Summary(2, wrap(update)))


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["python", "compiled"])
def test_all_ways_to_ask_agree_with_plain_python(wrap):
    check_potential(group_of(wrap), n_nodes=6, n_labels=3, trials=10)


def test_relabeling_changes_the_energy_by_what_was_said():
    rng = np.random.default_rng(0)
    crf = pc.CRF(rng.normal(size=(6, 3)), group_of(numba.njit))
    labels = rng.integers(0, 3, 6)
    for node in range(6):
        for label in range(3):
            changed = labels.copy()
            changed[node] = label
            expected = reference_energy(crf, changed) - reference_energy(crf, labels)
            walk = crf.labeling(labels)
            assert walk.costs(node)[label] - walk.costs(node)[labels[node]] == pytest.approx(
                expected, abs=1e-9
            )


@pytest.mark.parametrize(
    "solver",
    [
        "icm",
        "highest_confidence_first",
        "annealing",
        "refine",
        "untrained",
        "lazy_flipper",
        "exact",
    ],
)
def test_solvers_report_true_energies(solver):
    crf = pc.CRF(np.random.default_rng(1).normal(size=(6, 3)), group_of(numba.njit))
    found = pc.solve(crf, solver)
    assert found.energy == pytest.approx(reference_energy(crf, found.labels), abs=1e-9)
    assert found.energy >= reference_minimum(crf) - 1e-9
    assert found.calls > 0


def test_the_cost_of_a_question_does_not_grow_with_the_clique():
    asked = []

    def counted(summary, member, label, sign, parameters):
        asked.append(member)
        add_area(summary, member, label, sign, parameters)

    for size in (10, 1000):
        group = pc.Custom([range(size)], a_third, [np.ones(size)], of=pc.Summary(2, counted))
        crf = pc.CRF(np.zeros((size, 3)), group)
        walk = crf.labeling(np.zeros(size, int))
        asked.clear()
        walk.costs(0)
        assert len(asked) == 4  # two labels, each without the own one and with the other


def test_files_keep_the_summary_and_ask_for_both_functions(tmp_path):
    crf = pc.CRF(np.random.default_rng(2).normal(size=(6, 3)), group_of())
    crf.save(tmp_path / "crf.npz")
    functions = {"a_third": a_third, "add_area": add_area}
    again = pc.read(tmp_path / "crf.npz", functions=functions)
    labels = [0, 1, 2, 0, 0, 1]
    assert again.energy(labels) == crf.energy(labels)
    with pytest.raises(InvalidFile, match="add_area"):
        pc.read(tmp_path / "crf.npz", functions={"a_third": a_third})


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["python", "compiled"])
def test_a_mistake_in_the_update_names_the_member(wrap):
    def fails(summary, member, label, sign, parameters):
        if label == 2:
            raise ValueError("no such label")

    crf = pc.CRF(np.zeros((6, 3)), group_of(wrap, update=fails))
    with pytest.raises(CustomPotentialFailed, match="fails failed for member 2 with label 2"):
        crf.energy([0, 0, 2, 0, 0, 0])


def test_wrong_summaries_are_refused():
    with pytest.raises(InvalidPotential, match="size must be a whole number from 1, not 0"):
        pc.Summary(0, add_area)
    with pytest.raises(InvalidPotential, match="update must be callable"):
        pc.Summary(1, 3)
    with pytest.raises(InvalidPotential, match="of must be 'labels', 'counts' or a Summary"):
        pc.Custom(CLIQUES, a_third, of="summary of mine")
    with pytest.raises(InvalidPotential, match="needs no function for a part"):
        pc.Custom(CLIQUES, a_third, AREAS, of=pc.Summary(2, add_area), partial=a_third)
    unable = numba.njit(lambda summary, member, label, sign, parameters: summary.no_such_thing)
    with pytest.raises(InvalidPotential, match="numba cannot compile"):
        pc.CRF(np.zeros((6, 3)), pc.Custom(CLIQUES, a_third, AREAS, of=pc.Summary(2, unable)))
