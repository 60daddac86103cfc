"""Custom functions called from compiled code: mistakes name their clique; one address each."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numba
import numpy as np
import pytest

import policrf as pc
from policrf.crf.energy import energy_terms
from policrf.crf.potentials import TERM_NAMES
from policrf.crf.valued import custom_call
from policrf.errors import CustomPotentialFailed, InvalidPotential
from policrf.solvers.spec import SOLVERS
from policrf.solvers.traits import traits_of

CLIQUES = [[0, 1], [2, 3], [4, 5]]
TAKING_CUSTOM = [
    name
    for name in pc.list_solvers()
    if (takes := traits_of(SOLVERS.get(name)).takes) is None or pc.Custom in takes
]


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


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("3", "it returned text"),
        (None, "it returned None, not a number"),
        (np.ones(2), r"an array of shape \[2\], not a number"),
    ],
)
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
        ask = partial(custom_call.callback_of, group)
        found = list(pool.map(ask, [group.function] * 64))
    assert len({callback.address for callback in found}) == 1
    assert len(made) == 1


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["python", "compiled"])
@pytest.mark.parametrize("of", ["labels", "counts"])
def test_minus_infinity_is_an_error_that_names_the_clique(wrap, of):
    crf = crf_of(wrap(lambda numbers, parameters: -np.inf if numbers[0] == 1 else 0.0), of=of)
    with pytest.raises(CustomPotentialFailed, match=r"clique [012] .*returned -inf; energies are"):
        crf.energy([1, 2, 1, 2, 1, 2] if of == "labels" else [0, 1, 0, 1, 0, 1])


# One bad labeling of 729, far from where a search starts: whoever meets it says so.
def rarely_fails(labels, parameters):
    if labels[0] == 2 and labels[1] == 2:
        return np.nan
    return float(labels[0] + labels[1])


@pytest.mark.parametrize("solver", TAKING_CUSTOM)
def test_compiled_and_python_functions_fail_alike(solver):
    outcomes = []
    for function in (rarely_fails, numba.njit(rarely_fails)):
        try:
            outcomes.append(pc.solve(crf_of(function), solver, seed=1).energy)
        except CustomPotentialFailed as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


def test_a_solver_that_asks_nobody_hears_of_a_failure_at_its_end():
    def careless(run):
        energy_terms(run.crf.arrays, np.full(6, 1), np.zeros(len(TERM_NAMES)))
        run.best, run.energy = np.zeros(6, np.int64), 0.0

    with pytest.raises(CustomPotentialFailed, match="gives_nan failed on clique 0"):
        pc.solve(crf_of(gives_nan), careless)
    assert pc.solve(crf_of(lambda labels, parameters: 0.0), careless).energy == 0.0


def test_a_run_inside_a_function_keeps_its_errors_to_itself():
    def outer(labels, parameters):
        with pytest.raises(CustomPotentialFailed, match="gives_nan"):
            crf_of(gives_nan).energy([1] * 6)
        return 1.0

    assert pc.solve(crf_of(outer), "icm").energy == 3.0


@pytest.mark.parametrize("compiled", [False, True], ids=["python", "compiled"])
def test_functions_go_with_their_crfs(compiled):
    left = []
    for k in range(100 if not compiled else 3):
        data = np.full(1_000_000, float(k))
        function = (
            numba.njit(lambda labels, parameters: float(labels.sum()))
            if compiled
            else lambda labels, parameters, data=data: float(data[labels.sum()])
        )
        crf = crf_of(function, partial="subset")
        pc.solve(crf, "icm")
        left += [weakref.ref(function), weakref.ref(data)]
    del function, data, crf
    gc.collect()
    assert not [one for one in left if one() is not None]


def test_arrays_outlive_the_crf_they_came_from():
    arrays = crf_of(lambda labels, parameters: float(labels.sum()), partial="subset").arrays
    gc.collect()
    out = np.zeros(len(TERM_NAMES))
    energy_terms(arrays, np.array([0, 1, 0, 0, 2, 0]), out)
    assert out.sum() == 3.0 + 1.0  # the custom cliques, and one member of three that disagrees
