import json

import pytest

import policrf as pc
from policrf.cli import main

QUICK = ["--count", "8", "--updates", "3", "--batch", "8", "--capacity", "500"]


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["train", *map(str, arguments)])
    return stopped.value.code


def test_train_writes_its_folder_and_goes_on_from_it(tmp_path, capsys):
    out = tmp_path / "run"
    begin = ["dqn", "--data", "synthetic:A:20", "--out", out, "--rounds", "2", *QUICK]
    assert run(*begin, "--val", "synthetic:A:20", "--val-count", "2", "--json") == 0
    line = json.loads(capsys.readouterr().out)
    assert line["round"] == 2
    assert {"energy", "iou", "val_energy", "val_iou", "updates_per_second"} <= set(line)
    names = {path.name for path in out.iterdir()}
    wanted = {"config.json", "log.jsonl", "checkpoint.pt", "best.safetensors", "last.safetensors"}
    assert wanted <= names
    assert run("dqn", "--out", out, "--resume", "--rounds", "4", "--json") == 0
    assert json.loads(capsys.readouterr().out)["round"] == 4
    policy = pc.load_policy(out / "last.safetensors")
    assert policy.name == "run"
    assert policy.training["config"]["batch"] == 8
    assert run("evolve", "--out", out, "--resume") == 2
    assert "another way" in capsys.readouterr().err


def test_mistakes_are_one_sentence(tmp_path, capsys):
    for arguments, message in (
        (["dqn", "--out", tmp_path], "give training data once"),
        (["dqn", "--data", "synthetic:A", "--out", tmp_path], "synthetic:REGIME:NODES"),
        (["dqn", tmp_path / "none", "--out", tmp_path], "no such folder"),
        (["supervised", "--out", tmp_path / "new", "--resume"], "no run to go on with"),
    ):
        assert run(*arguments) == 2
        assert message in capsys.readouterr().err
