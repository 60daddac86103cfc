"""First passes in training for the energy: pass, else tuned numbers, else the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import policrf as pc
from policrf.learn.first_pass import learn_pass as learning
from policrf.learn.first_pass.evolve_pass import Evolved
from policrf.learn.tuning.judge import LEARNED, TUNED, judge
from policrf.learn.tuning.trials import Measured, Trials
from policrf.policy.first_pass.model import FirstPass
from policrf.policy.policy import Policy
from policrf.scenes import make_family
from policrf.solvers.numbers import DEFAULT, Numbers

CRFS = [make_family("two_labels", 36, 3, seed=seed) for seed in range(30)]
QUICK: dict[str, Any] = {"goal": "energy", "budget": "30us", "seconds": 6.0, "table": False}
HELD_OUT = 10  # of 30


def pretend(
    monkeypatch: pytest.MonkeyPatch, training: dict[str, float], held_out: dict[str, float]
) -> list[float]:
    """Solves take 5 ms of a made-up clock, and starts are better by these; evolution is quick.

    Returns the seconds that evolution was given.
    """
    given: list[float] = []

    def measure(self: Trials, solver: Any, trial: int, **options: Any) -> Measured:
        better = held_out if len(self.problems) == HELD_OUT else training
        start = solver.tuning.numbers.start if isinstance(solver, Policy) else "none"
        noise = 0.01 * ((7 * trial + len(start)) % 5)
        return Measured(100.0 + trial + noise - better.get(start, 0.0), 0.004, 0.005)

    def evolve(*_: Any, seconds: float, **__: Any) -> Evolved:
        given.append(seconds)
        return Evolved(FirstPass.untrained(0, 2), 7, 2.0, 1.0)

    monkeypatch.setattr(Trials, "measure", measure)
    monkeypatch.setattr(Trials, "warm_up", lambda self, solvers=(): None)
    monkeypatch.setattr(learning, "evolve_pass", evolve)
    return given


@pytest.mark.parametrize(
    ("held_out", "start", "won"),
    [
        ({"unary": 1.0, "first_pass": 2.0}, "first_pass", True),
        ({"unary": 0.0, "first_pass": 2.0}, "first_pass", True),
        ({"unary": 1.0, "first_pass": 1.0}, "unary", True),
        ({"unary": 1.0, "first_pass": -3.0}, "unary", True),
        ({"unary": -1.0, "first_pass": -1.0}, "rule", False),
    ],
)
def test_what_held_out_instances_do_not_confirm_falls_back(
    monkeypatch: pytest.MonkeyPatch, held_out: dict[str, float], start: str, won: bool
) -> None:
    given = pretend(monkeypatch, {"unary": 1.0, "first_pass": 2.0}, held_out)
    told: list[dict[str, Any]] = []
    policy = pc.train(CRFS, **QUICK, report=told.append)
    assert policy.tuning is not None
    assert (policy.tuning.numbers.start, policy.tuning.won) == (start, won)
    assert (policy.first_pass is not None) == (start == "first_pass")
    assert told[-1]["verdict"] == policy.training["reached"]["verdict"]
    assert told[-1]["won"] == won
    assert given == [pytest.approx(1.2)]


def test_a_pass_that_does_not_win_on_training_instances_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend(monkeypatch, {"unary": 1.0}, {"unary": 1.0, "first_pass": 9.0})
    policy = pc.train(CRFS, **QUICK)
    assert policy.tuning is not None
    assert policy.tuning.numbers.start == "unary"
    assert "what was learned" not in policy.training["reached"]["verdict"]


@pytest.mark.parametrize("count", [14, 30])
def test_the_numbers_are_found_in_the_same_way_with_and_without_a_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int
) -> None:
    pretend(monkeypatch, {"unary": 1.0}, {"unary": 1.0})
    alone = pc.train(CRFS[:count], **QUICK, network=False, out=tmp_path / "alone")
    learned = pc.train(CRFS[:count], **QUICK, out=tmp_path / "learned")
    assert alone.tuning == learned.tuning
    assert learned.training["reached"]["unlearned"] == alone.training["reached"]["numbers"]
    lines = [
        [line for line in (tmp_path / name / "journal.jsonl").read_text().splitlines()
         if "held out" not in line]
        for name in ("alone", "learned")
    ]  # fmt: skip
    assert lines[1][: len(lines[0])] == lines[0]
    assert any("challenge" in line for line in lines[1])


def test_a_pass_is_never_published_above_tuned_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where these have not won themselves: by one instance in ten, say."""
    trials = Trials(CRFS[:HELD_OUT], 1e-5, FirstPass.untrained())
    found = {TUNED: Numbers(start="unary"), LEARNED: Numbers(start="first_pass")}

    def measure(self: Trials, solver: Any, trial: int, **_: Any) -> Measured:
        start = solver.tuning.numbers.start
        lower = {"first_pass": 1.0 + 0.1 * (trial % 2), "unary": 40.0 * (trial % 10 == 3)}
        return Measured(100.0 - lower.get(start, 0.0), 0.1, 0.1)

    monkeypatch.setattr(Trials, "measure", measure)
    judged = judge(trials, found, lambda key, find: find())
    assert judged.numbers == DEFAULT
    assert not judged.won


def test_no_network_is_learned_where_none_is_asked_for_or_of_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = pretend(monkeypatch, {}, {})
    pc.train(CRFS, **QUICK, network=False)
    pc.train([pc.make_scene(20, "A", seed=seed) for seed in range(30)], **QUICK)
    assert not given


def test_a_run_that_goes_on_does_not_learn_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    better = {"unary": 1.0, "first_pass": 2.0}
    given = pretend(monkeypatch, better, better)
    first = pc.train(CRFS, **QUICK, out=tmp_path)

    def never(self: Trials, *_: Any, **__: Any) -> Measured:
        raise AssertionError("it was measured before")

    monkeypatch.setattr(Trials, "measure", never)
    again = pc.train(CRFS, **QUICK, out=tmp_path, resume=True)
    assert len(given) == 1
    assert again.tuning == first.tuning
    assert again.training == first.training
    read = pc.load_policy(tmp_path / "best.safetensors")
    assert read.first_pass is not None
    assert read.tuning == first.tuning


def test_real_solves_and_real_learning_end_in_a_policy() -> None:
    policy = pc.train(CRFS, goal="energy", budget="5us", seconds=1.0, passes=1, table=False)
    assert policy.tuning is not None
    assert (policy.first_pass is not None) == (policy.tuning.numbers.start == "first_pass")
    solved = pc.solve(CRFS[0], policy, seconds=36 * 5e-6)
    assert solved.energy == CRFS[0].energy(solved.labels)
