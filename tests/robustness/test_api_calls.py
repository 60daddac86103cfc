"""Wrong types, shapes and ranges at every public name: typed errors only, and nothing hangs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.robustness.api_calls import right_calls, untyped, wrong_calls

import policrf as pc
from policrf.errors import (
    InvalidFile,
    InvalidInstance,
    InvalidLabeling,
    InvalidOption,
    InvalidPotential,
    TooLarge,
)

# Results, and what takes no arguments.
NOT_CALLED = {"Solution", "errors", "list_policies", "list_solvers", "__version__"}


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    return right_calls(tmp_path_factory.mktemp("calls"))


def test_every_public_name_is_called(calls):
    called = {call.name.split()[0].split(".")[0] for call in calls}
    assert set(pc.__all__) - NOT_CALLED == called


def test_the_right_calls_are_right(calls):
    with pytest.raises(InvalidFile):
        pc.calibrate(**next(call for call in calls if call.name == "calibrate").arguments)
    for call in calls:
        assert untyped(call, call.arguments) is None, call.name


def faults(calls, count, seed):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about numbers that are too large
        for call, arguments, changed in wrong_calls(calls, count, seed):
            error = untyped(call, arguments)
            if error is not None:
                given = {name: repr(arguments[name])[:80] for name in changed}
                found.append(f"{call.name} {given}: {type(error).__name__}: {error}")
    return found


def test_wrong_calls(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert faults(calls, 600, seed=0) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_many_wrong_calls(calls, tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    assert faults(calls, 1000, seed) == []


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda crf: pc.solve(np.zeros((4, 3))), InvalidInstance, "give a CRF, an Instance"),
        (lambda crf: pc.solve(crf, "icm", seed=-1), InvalidOption, "seed must be a whole number ≥"),
        (
            lambda crf: pc.solve(crf, "icm", seconds="ten"),
            InvalidOption,
            "seconds must be a number",
        ),
        (
            lambda crf: pc.solve(crf, "belief_propagation", iterations="many"),
            InvalidOption,
            "iterations must be a whole number, not 'many'",
        ),
        (
            lambda crf: pc.solve(crf, "icm", callback=3),
            InvalidOption,
            "callback must be a function",
        ),
        (lambda crf: pc.CRF("x"), InvalidPotential, "array of real numbers"),
        (lambda crf: crf.save(3), InvalidFile, "path must be text or a path, not 3"),
        (lambda crf: pc.read("a\0b"), InvalidFile, "no null character"),
        (lambda crf: pc.load_policy("x" * 300), InvalidFile, "too long for a file"),
        (lambda crf: pc.make_scene("many"), InvalidOption, "n_nodes must be a whole number"),
        (lambda crf: pc.evaluate(crf, ["icm"]), InvalidOption, "instances must be a list"),
        (lambda crf: pc.Instance.from_crf(3), InvalidInstance, "crf must be a CRF, not 3"),
        (lambda crf: pc.train([3], rounds=1), InvalidInstance, "instances holds a int"),
        (lambda crf: pc.prepare(3, out="x"), InvalidOption, "dataset"),
        (lambda crf: pc.solve(crf, "annealing", cold=10**400), InvalidOption, "cold must be"),
        (lambda crf: pc.solve(crf, "annealing", replicas=10**6), InvalidOption, "at most 1000"),
        (lambda crf: pc.CRF(np.ma.masked_array([[1.0]], [[1]])), InvalidPotential, "masked"),
        (lambda crf: crf.energy(np.ma.masked_array([0] * 4, [1] * 4)), InvalidLabeling, "masked"),
        (lambda crf: pc.train([], rounds=1, validation=1j), InvalidOption, "validation is 1j"),
        (lambda crf: pc.train([], rounds=1, validation=np.zeros(0)), InvalidOption, "validation"),
        (lambda crf: pc.train([], rounds=1, about=-1.0), InvalidOption, "about is -1.0"),
        (lambda crf: pc.train([], rounds=1, start=np.zeros(2)), InvalidOption, "start is"),
        (lambda crf: pc.plot_trace([3], "x.png"), InvalidOption, "what solve returns"),
    ],
)
def test_what_was_expected_is_said(call, error, says):
    crf = pc.CRF(np.zeros((4, 3)), pc.Potts([[0, 1]], 1.0))
    with pytest.raises(error, match=says):
        call(crf)


def test_memory_that_is_not_there_is_too_large():
    def greedy(run):
        np.zeros((10**9, 10**9))

    with pytest.raises(TooLarge, match=r"solve: .*Unable to allocate .*1000000000, 1000000000"):
        pc.solve(pc.CRF(np.zeros((4, 3))), greedy)


def test_whole_numbers_compile_nothing_new():
    """A kernel for each type that numbers come in would be compiled while the user waits."""
    crf = pc.CRF(np.zeros((4, 3)), pc.Potts([[0, 1]], 1.0))
    kept = {}

    def look(run, *, share: float = 0.5) -> None:
        kept["type"] = type(share)

    for value in (1, np.int64(1), np.float32(1), 1.0):
        pc.solve(crf, look, share=value)
        assert kept["type"] is float
