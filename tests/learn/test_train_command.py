"""`policrf train METHOD`: every method runs, goes on to the bit, and says what is wrong."""

import json
import signal
from dataclasses import replace

import numpy as np
import pytest

import policrf as pc
from policrf.cli import main
from policrf.errors import InvalidOption
from policrf.learn.signals import patient_signals
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
    "imitate": [*SMALL, "--truth", "0.5"],
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
    asked = ["dqn", "--out", tmp_path, *QUICK, *METHODS["dqn"], "--overwrite", "--data"]
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
        (["dqn", "--out", tmp_path / "cut", "--resume"], "not a readable JSON file"),
        (["dqn", "--out", tmp_path / "list", "--resume"], "not a JSON object"),
        (["dqn", "--out", tmp_path / "other", "--resume"], "there is no method 'sarsa'"),
        (["dqn", "--data", "synthetic:A:20", "--kind", "large"], "kind is 'large'"),
        (["dqn", "--data", "synthetic:A:20", "--epsilom", "1"], "--epsilon"),
        (["dqn", "--data", "synthetic:A:20", "--target", "advantage"], "target is 'advantage'"),
    ):
        assert run(*arguments) == 2
        assert message in capsys.readouterr().err


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_run_is_erased_only_if_asked(tmp_path, capsys):
    asked = ["dqn", "--data", "synthetic:A:20", "--out", tmp_path, *QUICK, *METHODS["dqn"]]
    assert run(*asked) == 0
    before = files_of(tmp_path)
    assert run(*asked, "--seed", "1") == 2
    error = capsys.readouterr().err
    assert "holds a run already" in error
    assert "--resume" in error
    assert "--overwrite" in error
    scenes = [pc.make_scene(20, "A", seed=seed) for seed in range(4)]
    with pytest.raises(InvalidOption, match="holds a run already"):
        train(scenes, rounds=1, out=tmp_path)
    assert run("dqn", "--out", tmp_path, "--resume", "--overwrite") == 2
    assert files_of(tmp_path) == before
    assert run(*asked, "--seed", "1", "--overwrite") == 0
    assert json.loads((tmp_path / "config.json").read_text())["seed"] == 1
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2


def test_a_run_without_a_checkpoint_goes_on_from_its_beginning(tmp_path):
    asked = ["dqn", "--data", "synthetic:A:20", *QUICK, *METHODS["dqn"], "--out"]
    for name in ("whole", "parts"):
        assert run(*asked, tmp_path / name) == 0
    (tmp_path / "parts" / "checkpoint.safetensors").unlink()
    assert run("dqn", "--out", tmp_path / "parts", "--resume", "--rounds", "2") == 0
    same(*(pc.load_policy(tmp_path / name / "best.safetensors") for name in ("whole", "parts")))


def test_the_best_value_belongs_to_the_best_file(tmp_path):
    """A checkpoint that is older than the best policy: going on does not replace it by a worse."""
    asked = ["dqn", "--data", "synthetic:A:20", *METHODS["dqn"], "--validate-rounds", "1"]
    begin = [*asked, "--count", "8", "--out", tmp_path]
    assert run(*begin, "--rounds", "1") == 0
    older = (tmp_path / "checkpoint.safetensors").read_bytes()
    best = pc.load_policy(tmp_path / "best.safetensors")
    reached = {**best.training["reached"], "energy": -1e6}
    replace(best, training={**best.training, "reached": reached}).save(
        tmp_path / "best.safetensors"
    )
    kept = (tmp_path / "best.safetensors").read_bytes()
    assert run("dqn", "--out", tmp_path, "--resume", "--rounds", "3") == 0
    (tmp_path / "checkpoint.safetensors").write_bytes(older)
    assert run("dqn", "--out", tmp_path, "--resume", "--rounds", "3") == 0
    assert (tmp_path / "best.safetensors").read_bytes() == kept
    rounds = [json.loads(line)["round"] for line in (tmp_path / "log.jsonl").open()]
    assert rounds == sorted(set(rounds)) == [0, 1, 2, 3]


def test_signals_wait_for_the_round_and_are_passed_on():
    passed = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: passed.append(number))
    try:
        with patient_signals(terminating=True) as heard:
            signal.raise_signal(signal.SIGTERM)
            assert (heard, passed) == ([signal.SIGTERM], [])
            signal.raise_signal(signal.SIGTERM)
            assert passed == [signal.SIGTERM]
        assert passed == [signal.SIGTERM] * 2
        with patient_signals(terminating=False) as heard:
            signal.raise_signal(signal.SIGINT)
        assert heard == [signal.SIGINT]  # Ctrl-C in Python: the policy so far is the answer
    finally:
        signal.signal(signal.SIGTERM, before)
