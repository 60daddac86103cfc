"""Where auto starts when cliques are asked half-way."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.learn.tuning.paired import difference
from policrf.learn.tuning.trials import Trials
from policrf.scenes import FAMILIES, make_family
from policrf.solvers.ask_halfway import ask_halfway
from policrf.solvers.numbers import Numbers
from policrf.solvers.run import Run


def steps_of(family: str, seconds: float | None, visit: float, monkeypatch) -> list[str]:
    """The parts of a run on a clock that stands still, with visits that take so long."""
    crf = make_family(family, 144, 4, seed=1)
    run = Run(crf, "auto", seconds=seconds)
    run.offer(run.start_labels())
    monkeypatch.setattr(run, "elapsed", lambda: 0.0)
    monkeypatch.setattr("policrf.solvers.ask_halfway.measure_visits", _measured(visit))
    monkeypatch.setattr("policrf.solvers.ask_halfway.refine_on", lambda *_, **__: None)
    ask_halfway(run, Numbers())
    assert run.energy <= crf.energy(run.start_labels())
    return [name for name, *_ in run.info["steps"]]


def _measured(visit: float):
    def measure(run: Run, state) -> None:
        run.visit_seconds = visit
        state.labels[:] = run.start_labels()

    return measure


def test_the_start_follows_from_what_questions_cost_and_what_is_tried(monkeypatch):
    # What is asked seldom is labeled by the rule; so is what half-way questions help.
    assert steps_of("two_labels", 1.0, 1e-7, monkeypatch) == ["icm", "untrained", "refine"]
    assert steps_of("order", 1.0, 1e-7, monkeypatch) == ["icm", "untrained", "refine"]
    # A parity is not: cuts know more.
    assert steps_of("parity", 1.0, 1e-7, monkeypatch) == ["icm", "known part", "refine"]
    # Too little time for the rule: one question a node; for a descent: few questions.
    assert steps_of("order", 0.004, 2e-6, monkeypatch) == ["one pass", "refine"]
    assert steps_of("order", 0.01, 1e-3, monkeypatch) == ["few questions", "refine"]
    # Too little time for cuts and for a trial: relabels, and nothing else where refine takes longer
    # to begin; the rule where moves of a clique take as long.
    assert steps_of("parity", 0.002, 1e-6, monkeypatch) == ["refine"]
    assert steps_of("order", 0.0006, 1e-6, monkeypatch) == ["refine"]
    assert steps_of("two_labels", 0.001, 4e-7, monkeypatch) == ["refine"]
    assert steps_of("label_cost", 0.001, 4e-7, monkeypatch) == ["untrained", "refine"]
    assert steps_of("two_labels", 0.0003, 4e-7, monkeypatch) == ["icm", "refine"]


@pytest.mark.slow
@pytest.mark.parametrize("n_nodes", [144, 576])
@pytest.mark.parametrize("milliseconds", [0.3, 1.0, 3.0])
def test_auto_is_no_worse_than_refine_and_icm_at_tiny_budgets(n_nodes, milliseconds):
    """On all families together: beyond noise, and by more than a twentieth."""
    ways = ("auto", "refine", "icm")
    less: list[float] = []
    for family in list(FAMILIES)[:8]:
        crfs = [make_family(family, n_nodes, 6, seed=910_000 + k) for k in range(8)]
        trials = Trials(crfs, milliseconds / 1000 / n_nodes)
        trials.warm_up(ways)
        found = {way: [trials.measure(way, k).energy for k in range(16)] for way in ways}
        best = min(ways[1:], key=lambda way: np.mean(found[way]))
        less += list((np.array(found["auto"]) - found[best]) / np.mean(found[best]))
    assert difference(less, [0.0] * len(less), clipped=True).mean < 0.05


def test_initial_labels_are_where_it_starts():
    crf = make_family("parity", 100, 4, seed=1)
    best = pc.solve(crf, seconds=0.2)
    found = pc.solve(crf, initial=best.labels, seconds=0.01)
    assert found.energy <= best.energy
    assert "known part" not in [name for name, *_ in found.info.get("steps", [])]
    assert np.isfinite(found.energy)
