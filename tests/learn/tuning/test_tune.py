"""`train(goal="energy")` from end to end: it wins or says that it did not."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import policrf as pc
from policrf.crf.io.outputs import claimed
from policrf.errors import InUse, InvalidFile, InvalidInstance, InvalidOption
from policrf.learn.tuning.trials import Measured, Trials
from policrf.policy.policy import Policy
from policrf.scenes import make_family
from policrf.solvers.numbers import DEFAULT

CRFS = [make_family("two_labels", 36, 3, seed=seed) for seed in range(30)]
QUICK = {"goal": "energy", "budget": "30us", "seconds": 3.0, "network": False}


def pretend(monkeypatch, gain):
    """Solves take 5 ms of a made-up clock; a start from the unaries is better by `gain`."""

    def measure(self, solver, trial, **options):
        unary = isinstance(solver, Policy) and solver.tuning.numbers.start == "unary"
        return Measured(100.0 + trial - gain * unary, 0.004, 0.005)

    monkeypatch.setattr(Trials, "measure", measure)
    monkeypatch.setattr(Trials, "warm_up", lambda self, solvers=(): None)


def test_what_wins_is_published_with_what_it_was_tuned_at(monkeypatch, tmp_path):
    pretend(monkeypatch, gain=1.0)
    lines = []
    policy = pc.train(CRFS, **QUICK, out=tmp_path, name="mine", report=lines.append)
    assert policy.tuning.won
    assert policy.tuning.numbers.start == "unary"
    assert policy.tuning.nodes == (36, 36)
    assert policy.tuning.labels == (3, 3)
    assert policy.tuning.budget == pytest.approx(3e-5)
    assert policy.training["reached"]["difference"] == pytest.approx(-1.0)
    assert "training won" in lines[-1]["verdict"]
    rows = [row[0] for row in lines[-1]["table"].rows]
    assert rows[:3] == ["untrained", "hand rule", "tuned numbers"]
    assert {"tuned numbers + refine", "icm", "lazy_flipper", "annealing", "auto"} <= set(rows)
    stored = pc.load_policy(tmp_path / "best.safetensors")
    assert stored.tuning == policy.tuning
    assert stored.name == "mine"
    assert json.loads((tmp_path / "config.json").read_text())["budget"] == "30us"
    assert "tuned numbers + refine" in (tmp_path / "report.md").read_text()


def test_what_does_not_win_is_the_default_and_says_so(monkeypatch):
    pretend(monkeypatch, gain=0.0)
    lines = []
    policy = pc.train(CRFS, **QUICK, report=lines.append)
    assert not policy.tuning.won
    assert policy.tuning.numbers == DEFAULT
    assert "did not win" in lines[-1]["verdict"]
    assert "default numbers" in repr(policy)


def test_too_little_time_for_a_race_is_said(monkeypatch):
    pretend(monkeypatch, gain=1.0)
    lines = []
    policy = pc.train(CRFS, **(QUICK | {"seconds": 0.1}), table=False, report=lines.append)
    assert policy.tuning.numbers == DEFAULT
    assert "no time for a race" in lines[-1]["verdict"]


def test_what_wins_in_training_only_is_not_published(monkeypatch):
    pretend(monkeypatch, gain=1.0)
    held_out = []
    plain = Trials.measure

    def measure(self, solver, trial, **options):
        found = plain(self, solver, trial, **options)
        if len(self.problems) == 10:  # a third of 30
            held_out.append(trial)
            return found._replace(energy=100.0 + trial)
        return found

    monkeypatch.setattr(Trials, "measure", measure)
    lines = []
    policy = pc.train(CRFS, **QUICK, table=False, report=lines.append)
    assert held_out
    assert policy.training["reached"]["training_difference"] < -0.5
    assert policy.tuning.numbers == DEFAULT
    assert not policy.tuning.won
    assert "within noise; the default is returned" in lines[-1]["verdict"]


def test_a_finished_run_is_resumed_without_a_solve(monkeypatch, tmp_path):
    pretend(monkeypatch, gain=1.0)
    first = pc.train(CRFS, **QUICK, out=tmp_path)

    def never(self, *arguments, **options):
        raise AssertionError("it was measured before")

    monkeypatch.setattr(Trials, "measure", never)
    again = pc.train(CRFS, **QUICK, out=tmp_path, resume=True)
    assert again.tuning == first.tuning
    assert again.training["reached"] == first.training["reached"]
    with pytest.raises(InvalidFile, match="other values of budget"):
        pc.train(CRFS, **(QUICK | {"budget": "1us"}), out=tmp_path, resume=True)


def test_real_solves_end_in_a_policy_for_any_number_of_labels():
    policy = pc.train(CRFS[:16], goal="energy", budget="30us", seconds=0.3, table=False)
    other = make_family("two_labels", 36, 5, seed=99)
    solved = pc.solve(other, policy, seconds=0.002)
    assert solved.energy == other.energy(solved.labels)
    assert solved.info["numbers"] in ("tuned", "default")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": "speed"}, "goal is 'speed'; it must be one of energy, labels"),
        ({"goal": "energy"}, "needs a budget"),
        ({"goal": "energy", "budget": "soon"}, "budget is 'soon'"),
        ({"goal": "energy", "budget": "1us", "seconds": -1.0}, "seconds is -1.0"),
        ({"goal": "energy", "budget": "1us", "seconds": "long"}, "seconds is 'long'"),
        ({"goal": "energy", "budget": "1us", "rounds": 3}, "no option 'rounds'"),
        ({"goal": "energy", "budget": "1us", "passes": 9}, "passes is 9; it must be from 1 to 4"),
        ({"goal": "energy", "budget": "1us", "network": 2}, "network"),
        ({"goal": "energy", "budget": "1us", "start": "icm"}, "start is not a policy with tuned"),
        ({"goal": "energy", "budget": "1us", "method": "dqn"}, "takes no method"),
        ({"goal": "energy", "budget": "1us", "resume": True}, "give it as out"),
        ({"budget": "1us"}, "budget belongs to a goal"),
        ({"goal": "labels", "truth": 2.0}, "CRF has none"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises((InvalidOption, InvalidInstance), match=message):
        pc.train(CRFS, **options)


def test_too_few_instances_are_refused():
    with pytest.raises(InvalidInstance, match="there are 13 instances; tuning needs 14 or more"):
        pc.train(CRFS[:13], goal="energy", budget="1us")


def test_a_run_is_not_erased_unless_told(monkeypatch, tmp_path):
    pretend(monkeypatch, gain=1.0)
    pc.train(CRFS, **QUICK, table=False, out=tmp_path)
    before = (tmp_path / "journal.jsonl").read_bytes()
    with pytest.raises(InvalidOption, match="holds a run already"):
        pc.train(CRFS, **QUICK, table=False, out=tmp_path)
    with pytest.raises(InvalidOption, match="give one of them"):
        pc.train(CRFS, **QUICK, table=False, out=tmp_path, resume=True, overwrite=True)
    assert (tmp_path / "journal.jsonl").read_bytes() == before
    pc.train(CRFS, **QUICK, table=False, out=tmp_path, overwrite=True)
    assert (tmp_path / "journal.jsonl").read_bytes() == before
    with claimed(tmp_path), ThreadPoolExecutor(1) as pool:
        other = pool.submit(pc.train, CRFS, **QUICK, table=False, out=tmp_path, resume=True)
        assert isinstance(other.exception(), InUse)


def test_a_journal_cut_in_a_line_goes_on_and_a_damaged_one_is_named(monkeypatch, tmp_path):
    pretend(monkeypatch, gain=1.0)
    first = pc.train(CRFS, **QUICK, table=False, out=tmp_path)
    journal = tmp_path / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[: len(whole) // 2])
    again = pc.train(CRFS, **QUICK, table=False, out=tmp_path, resume=True)
    assert again.tuning == first.tuning
    assert journal.read_bytes() == whole
    for old, new in ((b"100.0", b"900.0"), (b'"value"', b'"valve"'), (b'{"key"', b"\xff")):
        journal.write_bytes(whole.replace(old, new, 1))
        with pytest.raises(InvalidFile, match=r"line 1.*delete this line"):
            pc.train(CRFS, **QUICK, table=False, out=tmp_path, resume=True)
