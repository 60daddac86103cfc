"""Custom functions called from compiled code: mistakes name their clique; one address each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

import policrf as pc
from policrf.crf.valued import custom_call
from policrf.errors import CustomPotentialFailed, InvalidPotential

CLIQUES = [[0, 1], [2, 3], [4, 5]]


def raises(labels, parameters):
    if labels[0] == 1:
        raise ValueError("no such region")
    return 0.0


def gives_nan(labels, parameters):
    return np.nan if labels[0] == 1 else 0.0


def crf_of(function, **options):
    # The group before it shifts the cliques' places: messages count within the group.
    first = pc.BoxAgreement([[0, 1, 2]], [0], [1.0])
    return pc.CRF(np.zeros((6, 3)), first, pc.Custom(CLIQUES, function, **options))


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["python", "compiled"])
@pytest.mark.parametrize(
    ("function", "reason"),
    [(raises, "ValueError: no such region"), (gives_nan, "ValueError: it returned NaN")],
)
def test_a_failure_names_function_clique_and_labels(wrap, function, reason):
    crf = crf_of(wrap(function))
    expected = rf"{function.__name__} failed on clique 2 with the labels \[1, 2\]: {reason}"
    with pytest.raises(CustomPotentialFailed, match=expected):
        crf.energy([0, 0, 0, 0, 1, 2])
    assert crf.energy([0, 0, 0, 0, 0, 0]) == 0.0


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["python", "compiled"])
def test_a_failure_on_counts_names_the_counts(wrap):
    crf = crf_of(wrap(lambda counts, parameters: np.nan if counts[2] == 2 else 0.0), of="counts")
    with pytest.raises(CustomPotentialFailed, match=r"clique 1 with the label counts \[0, 0, 2\]"):
        crf.energy([0, 0, 2, 2, 0, 0])


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["python", "compiled"])
def test_a_failure_on_a_part_names_the_function_for_parts(wrap):
    def whole(labels, parameters):
        return 0.0

    def part(labels, parameters):
        if labels[1] < 0:
            raise IndexError("not yet")
        return 0.0

    labeling = crf_of(wrap(whole), partial=wrap(part)).labeling()
    with pytest.raises(CustomPotentialFailed, match=r"part failed on clique 1 .* \[2, -1\]: Index"):
        labeling.assign(2, 2)


@pytest.mark.parametrize(("value", "reason"), [("3", "it returned text"), (None, "TypeError")])
def test_a_python_function_of_another_type(value, reason):
    with pytest.raises(CustomPotentialFailed, match=reason):
        crf_of(lambda labels, parameters: value).energy([0] * 6)


def test_a_compiled_function_of_another_type():
    @numba.njit
    def no_number(labels, parameters):
        return labels

    with pytest.raises(InvalidPotential, match="numba cannot compile no_number"):
        crf_of(no_number)


@pytest.mark.parametrize("solver", ["icm", "highest_confidence_first", "annealing", "untrained"])
def test_solvers_stop_at_a_failing_compiled_function(solver):
    @numba.njit
    def never_equal(labels, parameters):
        if labels[0] == labels[1]:
            raise ValueError("equal")
        return 0.0

    with pytest.raises(CustomPotentialFailed, match="never_equal failed on clique"):
        pc.solve(crf_of(never_equal), solver)


def test_threads_get_one_address(monkeypatch):
    made = []
    build = custom_call._python
    monkeypatch.setattr(custom_call, "_python", lambda *args: made.append(1) or build(*args))
    group = pc.Custom(CLIQUES, lambda labels, parameters: 0.0)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: custom_call.address_of(group, group.function), range(64)))
    assert len(set(found)) == 1
    assert len(made) == 1
