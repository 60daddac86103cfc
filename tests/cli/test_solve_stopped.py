"""`policrf solve` and `pc.solve` that are interrupted: the best labels so far are not lost."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from tests.vision.builders import call

import policrf as pc
from policrf.interrupts import interrupt_in
from policrf.solvers.run import Run

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    crf = pc.grid(rng.normal(size=(12, 12, 3)), weights=0.7)
    crf.save(tmp_path / "model.npz")
    return crf


@pytest.fixture
def stopped_after_an_offer(monkeypatch):
    """A signal comes once a labeling better than the unaries' is known."""
    plain = Run.offer

    def arm(number):
        def offer(self, labels):
            found = plain(self, labels)
            if self.energy < self.crf.energy(np.argmin(self.crf.unary, axis=1)):
                monkeypatch.setattr(Run, "offer", plain)
                signal.raise_signal(number)
            return found

        monkeypatch.setattr(Run, "offer", offer)

    return arm


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("solver", ["annealing", "auto", "lazy_flipper"])
def test_the_best_labels_so_far_are_written(
    model, tmp_path, capsys, stopped_after_an_offer, number, solver
):
    stopped_after_an_offer(number)
    labels, mpe = tmp_path / "labels.npy", tmp_path / "model.MPE"
    command = ["solve", str(tmp_path / "model.npz"), "--solver", solver, "--seconds", "60"]
    command += ["--out", str(labels), "--mpe", str(mpe), "--json"]
    assert call(command) == CODES[number]
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if line.startswith("policrf: stopped")]
    assert lines == [f"policrf: stopped; the best labels so far are written to {labels} and {mpe}"]
    report = json.loads(said.out)
    assert report["energy"] == model.energy(np.load(labels))
    assert report["energy"] < model.energy(np.argmin(model.unary, axis=1))
    assert pc.read_mpe(model, mpe).tolist() == np.load(labels).tolist()


def test_without_a_file_the_energy_is_said(model, tmp_path, capsys, stopped_after_an_offer):
    stopped_after_an_offer(signal.SIGINT)
    assert call(["solve", str(tmp_path / "model.npz"), "--solver", "annealing"]) == 130
    said = capsys.readouterr()
    assert "annealing: energy" in said.out
    assert "lost without --out" in said.err


def test_in_python_the_interrupt_has_the_solution(model):
    def stops(run):
        run.offer(np.zeros(run.crf.n_nodes, np.int64))
        raise SystemError("a result with an exception set") from KeyboardInterrupt()

    def calls_another(run):
        run.offer(np.ones(run.crf.n_nodes, np.int64))
        run.best = None if run.energy < model.energy([0] * 144) else run.best
        pc.solve(run.crf, stops)

    for solver in (stops, calls_another):
        with pytest.raises(KeyboardInterrupt) as stop:
            pc.solve(model, solver)
        assert stop.value.solution.labels.tolist() == [0] * 144
        assert stop.value.solution.energy == model.energy([0] * 144)


def test_an_error_that_is_no_interrupt_is_passed_on(model):
    def fails(run):
        raise SystemError("something else")

    with pytest.raises(SystemError, match="something else"):
        pc.solve(model, fails)


def test_a_signal_that_ends_in_another_error_is_a_signal(model, tmp_path, capsys, monkeypatch):
    """As where C code had called Python: numba says SystemError, a reader 'damaged'."""

    def read(*_, **__):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt as error:
            raise pc.errors.InvalidFile("damaged") from error

    monkeypatch.setattr("policrf.crf.io.read", read)
    assert call(["solve", str(tmp_path / "model.npz")]) == 143
    assert capsys.readouterr().err == "policrf: stopped\n"


def test_chains_of_causes_may_be_circles():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert interrupt_in(first) is None


def test_places_for_results_are_looked_at_first(model, tmp_path, capsys):
    for option in ("--mpe", "--plot"):
        command = ["solve", str(tmp_path / "model.npz"), option, str(tmp_path / "no" / "x.png")]
        assert call(command) == 2
        assert "does not exist; create it first" in capsys.readouterr().err
