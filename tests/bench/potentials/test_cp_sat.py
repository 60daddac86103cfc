"""CP-SAT on the families: its models have the CRF's own energies."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from policrf.bench.potentials import cp_sat
from policrf.bench.potentials.cp_sat import CpSat
from policrf.bench.potentials.cp_sat_models import MODELS
from policrf.scenes import make_family
from policrf.solvers import solve


@pytest.fixture(scope="module")
def peer():
    if find_spec("ortools") is None:
        pytest.skip("needs ortools")
    with CpSat() as process:
        yield process


@pytest.mark.parametrize("family", MODELS)
def test_proven_minima_are_those_of_brute_force(peer, family):
    crf = make_family(family, 8, 3, seed=1)
    found = peer.result(crf, family, [20.0], 0)
    assert found["proven"]
    assert found["energy"] == pytest.approx(solve(crf, "brute_force").energy)


def test_a_budget_gets_what_was_found_by_then(monkeypatch):
    crf = make_family("parity", 4, 2, seed=0)
    minimum = solve(crf, "brute_force")
    start = crf.energy(crf.unary.argmin(axis=1))
    assert minimum.energy < start
    answer = {
        "labelings": [{"labels": minimum.labels.tolist(), "cpu_seconds": 0.5}],
        "optimal": True, "wall_seconds": 4.0, "cpu_seconds": 3.0,
    }  # fmt: skip
    process = CpSat()
    monkeypatch.setattr(process, "_solve", lambda task: answer)
    found = [process.result(crf, "parity", [0.1, 1.0, 10.0], place) for place in range(3)]
    assert [result["energy"] for result in found] == [start, minimum.energy, minimum.energy]
    assert [result["proven"] for result in found] == [False, False, True]
    assert [result["cpu_seconds"] for result in found] == [0.1, 1.0, 3.0]


def test_families_without_a_model_and_a_process_that_dies(monkeypatch):
    crf = make_family("black_box", 8, 3)
    with CpSat() as process:
        assert "no CP-SAT model" in process.result(crf, "black_box", [1.0], 0)["refused"]
        # A module that ends at once, without an answer.
        monkeypatch.setattr(cp_sat.cp_sat_worker, "__name__", "keyword")
        parity = make_family("parity", 8, 3)
        assert "ended" in process.result(parity, "parity", [1.0], 0)["refused"]
