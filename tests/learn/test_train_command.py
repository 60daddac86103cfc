"""`policrf train METHOD`: every method runs, goes on to the bit, and says what is wrong."""

import json

import numpy as np
import pytest

import policrf as pc
from policrf.cli import main
from policrf.learn.train import train

QUICK = ["--count", "8", "--rounds", "2", "--validate-rounds", "2"]
SMALL = ["--updates", "3", "--batch", "8"]
METHODS = {
    "dqn": [*SMALL, "--capacity", "500", "--episodes", "2"],
    "mcts": [
        *SMALL, "--capacity", "500", "--episodes", "2", "--simulations", "4", "--depth", "2",
        "--actors", "2",
    ],
    "evolve": [
        "--pairs", "2", "--trials", "4", "--lower", "greedy", "--sigma", "0.5",
        "--tensors", "head_out",
    ],
    "supervised": SMALL,
}  # fmt: skip


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["train", *map(str, arguments)])
    return stopped.value.code


def same(one, other):
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, other.weights[name])


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_command_ends_where_an_unbroken_one_does(tmp_path, capsys, method):
    data = [method, "--data", "synthetic:A:20", *QUICK, *METHODS[method]]
    assert run(*data, "--out", tmp_path / "whole", "--rounds", "4") == 0
    assert run(*data, "--out", tmp_path / "parts") == 0
    assert run(method, "--out", tmp_path / "parts", "--resume", "--rounds", "4", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["round"] == 4
    whole, parts = (
        pc.load_policy(tmp_path / run / "last.safetensors") for run in ("whole", "parts")
    )
    same(whole, parts)
    start = whole.spec.initial_weights(0)
    assert any((array != start[name]).any() for name, array in whole.weights.items())


def test_the_folder_holds_what_was_asked_and_what_was_reached(tmp_path, capsys):
    out = tmp_path / "run"
    begin = ["dqn", "--data", "synthetic:A:20", "--out", out, *QUICK, *METHODS["dqn"]]
    assert run(*begin, "--val", "synthetic:A:20", "--val-count", "2", "--json") == 0
    line = json.loads(capsys.readouterr().out)
    assert line["round"] == 2
    assert {"energy", "iou", "val_energy", "val_iou", "updates_per_second"} <= set(line)
    names = {path.name for path in out.iterdir()}
    wanted = {"config.json", "log.jsonl"}
    wanted |= {f"{kept}.safetensors" for kept in ("checkpoint", "best", "last")}
    assert wanted <= names
    config = json.loads((out / "config.json").read_text())
    assert (config["command"], config["batch"], config["kind"]) == ("dqn", 8, "paper")
    policy = pc.load_policy(out / "last.safetensors")
    assert policy.name == "run"
    assert policy.training["config"]["batch"] == 8
    assert run("evolve", "--out", out, "--resume") == 2
    assert "was trained by dqn" in capsys.readouterr().err


def test_the_command_and_python_learn_the_same(tmp_path):
    options = {"updates": 3, "batch": 8, "capacity": 500, "episodes": 2, "width": 8, "epsilon": 0.9}
    flags = [f for name, value in options.items() for f in (f"--{name}", value)]
    flags += ["--kind", "residual", "--seed", 3]
    assert run("dqn", "--data", "synthetic:A:20", "--out", tmp_path, *QUICK, *flags) == 0
    scenes = [pc.make_scene(20, "A", seed=3_000_000 + k) for k in range(8)]
    policy = train(scenes, rounds=2, validate_rounds=2, kind="residual", seed=3, **options)
    same(policy, pc.load_policy(tmp_path / "best.safetensors"))
    assert policy.spec.width == 8


def test_every_method_starts_from_a_policy(tmp_path):
    first = tmp_path / "first"
    begin = ["--data", "synthetic:A:20", *QUICK]
    assert run("dqn", *begin, *METHODS["dqn"], "--kind", "residual", "--out", first) == 0
    given = pc.load_policy(first / "last.safetensors")
    for method in ("dqn", "mcts", "evolve"):
        out = tmp_path / method
        options = ["--rounds", "0", "--start", first / "last.safetensors", "--out", out]
        assert run(method, *begin, *METHODS[method], *options) == 0
        policy = pc.load_policy(out / "last.safetensors")
        assert policy.spec == given.spec
        same(policy, given)


OLD = {"data": "synthetic:A:20", "rounds": 2, "network": "paper", "width": 32}


@pytest.mark.parametrize(
    ("method", "stored", "told"),
    [
        ("dqn", OLD, "network (now kind)"),
        ("dqn", OLD | {"depth": 3}, "depth (now layers)"),
        ("mcts", OLD | {"depth": 3, "search_depth": 4}, "search_depth (now depth)"),
        ("dqn", OLD | {"rollouts": 8, "tried": 3}, "rollouts (no longer there)"),
    ],
)
def test_a_run_of_an_older_version_is_refused_by_name(tmp_path, capsys, method, stored, told):
    (tmp_path / "config.json").write_text(json.dumps({"command": method, **stored}))
    assert run(method, "--out", tmp_path, "--resume") == 2
    error = capsys.readouterr().err
    assert told in error
    assert "train again without --resume" in error


def test_a_mistake_leaves_an_earlier_run_alone(tmp_path, capsys):
    asked = ["dqn", "--out", tmp_path, *QUICK, *METHODS["dqn"], "--data"]
    assert run(*asked, "synthetic:A:20") == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert "log.jsonl" in before
    assert run(*asked, "synthetic:Q:20") == 2
    assert run(*asked, "synthetic:A:20", "--start", "nobody") == 2
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


def test_mistakes_are_one_sentence(tmp_path, capsys):
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "config.json").write_text('{"command": ')
    for name, text in (("list", "[1]"), ("other", '{"command": "sarsa"}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text)
    for arguments, message in (
        (["dqn", "--out", tmp_path], "give training data once"),
        (["dqn", "--data", "synthetic:A", "--out", tmp_path], "synthetic:REGIME:NODES"),
        (["dqn", tmp_path / "none", "--out", tmp_path], "no such folder"),
        (["supervised", "--out", tmp_path / "new", "--resume"], "no run to go on with"),
        (["dqn", "--out", tmp_path / "cut", "--resume"], "is damaged"),
        (["dqn", "--out", tmp_path / "list", "--resume"], "is damaged"),
        (["dqn", "--out", tmp_path / "other", "--resume"], "there is no method 'sarsa'"),
        (["dqn", "--data", "synthetic:A:20", "--kind", "large"], "kind is 'large'"),
        (["dqn", "--data", "synthetic:A:20", "--epsilom", "1"], "--epsilon"),
        (["dqn", "--data", "synthetic:A:20", "--target", "advantage"], "target is 'advantage'"),
    ):
        assert run(*arguments) == 2
        assert message in capsys.readouterr().err
