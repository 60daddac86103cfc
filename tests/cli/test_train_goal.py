"""`policrf train energy` and `labels`: the last lines, resuming, and what is refused."""

from __future__ import annotations

import json

import pytest

import policrf as pc
from policrf.cli import main

DATA = ["--data", "family:two_labels:36", "--count", "16"]


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["train", *map(str, arguments)])
    return stopped.value.code


def test_energy_ends_with_a_table_and_a_verdict_and_goes_on(tmp_path, capsys):
    begin = ["energy", *DATA, "--budget", "30us", "--seconds", "0.2", "--out", tmp_path]
    assert run(*begin) == 0
    shown = capsys.readouterr().out
    assert "untrained + refine" in shown
    assert f"{tmp_path}: training " in " ".join(shown.splitlines()[-2:])
    assert run(*begin, "--resume", "--no-network") == 2
    assert "other values of network" in capsys.readouterr().err
    assert run(*begin, "--resume", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] in shown.replace("\n", "")
    policy = pc.load_policy(tmp_path / "best.safetensors")
    assert policy.tuning.won == said["won"]
    assert policy.training["data"] == "family:two_labels:36"


def test_labels_end_with_a_verdict(tmp_path, capsys):
    data = ["--data", "synthetic:A:20", "--count", "20", "--seconds", "0.1"]
    assert run("labels", *data, "--out", tmp_path) == 0
    assert "training " in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["energy", *DATA, "--budget", "soon"], "budget is 'soon'"),
        (["energy", *DATA, "--seconds", "-1"], "seconds is -1.0"),
        (["energy", *DATA, "--passes", "0"], "passes is 0; it must be from 1 to 4"),
        (["energy"], "give training data once"),
        (["energy", "--data", "family:luck:36"], "no family of potentials is called 'luck'"),
        (["energy", "--data", "family:parity"], "families are given as family:NAME:NODES"),
        (["energy", "--data", "family:parity:36", "--count", "5"], "tuning needs 14 or more"),
        (["labels", "--data", "synthetic:A:20", "--count", "5"], "needs 20 or more"),
    ],
)
def test_mistakes_are_one_sentence(arguments, message, tmp_path, capsys):
    assert run(*arguments, "--out", tmp_path / "run") == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_help_has_an_example(capsys):
    assert run("energy", "--help") == 0
    assert "policrf train energy --data family:parity:144" in capsys.readouterr().out
