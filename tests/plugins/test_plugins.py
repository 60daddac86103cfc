"""Rewards, solvers and data sets from another distribution, by name, in Python and by command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.plugins.builders import run_command, run_python, write_plugin

import policrf as pc
from policrf.testing import random_crf


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return write_plugin(tmp_path_factory.mktemp("plugin"))


def log_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_a_reward_in_python(plugin):
    code = """
import gymnasium
import policrf as pc
from policrf.mdp.state import Episode
from policrf.search.search import SearchOptions, TreeSearch

scene = pc.make_scene(25, "A", seed=1)
earned = Episode(scene.crf, rewards=("mine", "plain", "sign", "difference")).step(3, 20)
assert earned["mine"] == -0.5
assert earned["plain"] == 2.0 * earned["difference"]
assert earned["sign"] in (-1.0, 1.0)  # a name of the package's own cannot be taken
env = gymnasium.make("policrf.mdp.env:policrf/Label-v0", instance=scene, reward="mine")
env.reset(seed=0)
assert env.step(3 * 21 + 20)[1] == -0.5
assert env.step(4 * 21 + 19)[1] == -0.75
policy = pc.Policy.untrained(n_labels=21, n_features=85, kind="paper", width=4)
for name in ("mine", "sign"):
    options = SearchOptions(reward=name, candidates=0, simulations=700, depth=1)
    search = TreeSearch(policy, scene, options)
    while search.remaining:
        search.decide(25)
    print((search.labels == 20).sum())
pc.solve(scene, policy, search=4, reward="mine")
"""
    done = run_python(plugin, "-c", code)
    assert done.returncode == 0, done.stderr
    chosen, otherwise = map(int, done.stdout.split())
    assert chosen > 20 > 5 > otherwise


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("dqn", ("--count", 4, "--updates", 2)),
        ("mcts", ("--count", 4, "--updates", 2, "--episodes", 2)),
    ],
)
def test_a_reward_by_command(plugin, tmp_path, method, options):
    arguments = ("--data", "synthetic:A:20", "--reward", "mine", "--rounds", 2, *options)
    done = run_command(plugin, "train", method, *arguments, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    earned = [line["reward"] for line in log_of(tmp_path / "run") if "reward" in line]
    assert earned
    assert all(-0.75 <= reward <= -0.5 for reward in earned)
    pc.load_policy(tmp_path / "run" / "last.safetensors")


def test_an_unknown_or_broken_reward_by_command(plugin, tmp_path):
    for name, says in (("yours", "mine, plain, shaped, sign"), ("broken", "'broken'")):
        done = run_command(
            plugin,
            "train",
            "dqn",
            "--data",
            "synthetic:A:20",
            "--count",
            4,
            "--reward",
            name,
            "--out",
            tmp_path,
        )
        assert done.returncode == 2, done.stderr
        assert says in done.stderr
        assert "Traceback" not in done.stderr


def test_a_solver_in_python(plugin):
    code = """
import policrf as pc
crf = pc.CRF([[0.0, 1.0], [1.0, 0.0]])
print(pc.solve(crf, "mine", label=1).labels.tolist(), "mine" in pc.list_solvers())
"""
    done = run_python(plugin, "-c", code)
    assert done.stdout.split() == ["[1,", "1]", "True"], done.stderr


def test_a_solver_by_command(plugin, tmp_path):
    model, out = tmp_path / "model.npz", tmp_path / "labels.npy"
    pc.Instance.from_crf(random_crf(2, n_nodes=5, n_labels=3, groups=("potts",))).save(model)
    done = run_command(plugin, "solve", model, "--solver", "mine", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["solver"] == "mine"
    assert np.load(out).tolist() == [0] * 5


def test_a_dataset_in_python(plugin, tmp_path):
    from tests.vision.builders import write_scene_folder

    write_scene_folder(tmp_path / "scenes", 2)
    code = """
import pathlib, sys
from policrf.datasets import DATASETS
dataset = DATASETS.get("mine")(pathlib.Path(sys.argv[1]), labels=tuple("abcdefghijklmnopqrstu"))
print(*(sample.name for sample in dataset.samples()), dataset.truth(dataset.samples()[0]).shape)
"""
    done = run_python(plugin, "-c", code, tmp_path / "scenes")
    assert done.stdout.split() == ["scene000", "scene001", "(48,", "64)"], done.stderr


def test_a_dataset_by_command(plugin, tmp_path):
    from tests.vision.builders import write_scene_folder

    root, out = tmp_path / "scenes", tmp_path / "prepared"
    write_scene_folder(root, 2)
    done = run_command(
        plugin, "prepare", "mine", "--root", root, "--labels", root / "labels.names",
        "--scores", root / "scores", "--score-kind", "probabilities", "--superpixels", 40,
        "--components", 0, "--out", out, "--jobs", 1, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["prepared"] == 2


def test_broken_solvers_are_named_and_the_others_listed(plugin):
    done = run_command(plugin, "solve", "--list")
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
    assert "icm" in done.stdout
    told = [line for line in done.stderr.splitlines() if line.startswith("policrf: warning:")]
    assert ["gone" in told[0], "number" in told[1], len(told)] == [True, True, 2]
    assert "Traceback" not in done.stderr
    for name in ("gone", "number"):
        done = run_command(plugin, "evaluate", "synthetic:A:20", "--limit", 1, "--solvers", name)
        assert done.returncode == 2
        assert f"solver {name!r}" in done.stderr
        assert "Traceback" not in done.stderr
