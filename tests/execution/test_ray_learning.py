"""Actors on a two-node cluster learn what threads learn, bit for bit, whoever dies meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tests.execution.conftest import MARK
from tests.execution.processes_of import kill_one, processes_with

import policrf as pc
from policrf.errors import CustomPotentialFailed, InvalidOption

pytestmark = pytest.mark.slow
QUICK = {"rounds": 6, "updates": 4, "batch": 8, "width": 16, "episodes": 3, "validate_rounds": 3}
DEADLINE = 120  # seconds of a command


@pytest.fixture(scope="module")
def scenes():
    return [pc.make_scene(30, "A", seed=seed) for seed in range(12)]


def assert_same(one, other):
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, other.weights[name])


@pytest.mark.parametrize(
    ("method", "actors", "staleness"),
    [("dqn", 1, 0), ("dqn", 3, 2), ("mcts", 1, 0), ("mcts", 2, 1), ("supervised", 1, 0)],
)
def test_actors_learn_what_threads_learn(scenes, executor, method, actors, staleness):
    options = dict(QUICK)
    if method == "supervised":
        del options["episodes"]
    else:
        options |= {"actors": actors, "staleness": staleness}
    lines = []
    here = pc.train(scenes, method, **options)
    there = pc.train(scenes, method, executor=executor, report=lines.append, **options)
    assert_same(here, there)
    assert here.training["reached"]["energy"] == there.training["reached"]["energy"]
    seen = {line["staleness"] for line in lines if "staleness" in line}
    assert seen == (set() if method == "supervised" else {float(staleness)})


def learned(scenes, executor, then, **options):
    """Train on the cluster, and do something after the second round."""
    threads = []

    def report(line):
        if line["round"] == 2 and not threads:
            threads.append(threading.Thread(target=then))
            threads[-1].start()

    policy = pc.train(scenes, "dqn", executor=executor, report=report, **QUICK | options)
    for thread in threads:
        thread.join()
    return policy


def test_an_actor_that_is_killed(scenes, executor, loopback):
    killed = []

    def kill():
        killed.append(kill_one(MARK, loopback, "ray::Actor"))

    options = {"actors": 2, "staleness": 1, "rounds": 12}
    there = learned(scenes, executor, kill, **options)
    assert killed
    assert_same(pc.train(scenes, "dqn", **QUICK | options), there)


def test_a_node_with_an_actor_that_is_removed(scenes, executor, cluster):
    node = next(iter(cluster.worker_nodes))
    options = {"actors": 2, "rounds": 12}
    there = learned(
        scenes, executor, lambda: cluster.remove_node(node, allow_graceful=False), **options
    )
    assert node not in cluster.worker_nodes
    assert_same(pc.train(scenes, "dqn", **QUICK | options), there)


def test_an_actor_that_raises_says_so_in_one_sentence(executor):
    def wrong(labels, parameters):
        raise ValueError("three is no number of wheels")

    unary = np.zeros((6, 2))
    crf = pc.CRF(unary, pc.Custom([[0, 1, 2]], wrong, [[1.0]], partial="subset"))
    instances = [pc.Instance.from_crf(crf)] * 3
    with pytest.raises(CustomPotentialFailed, match="three is no number of wheels") as failed:
        pc.train(instances, "dqn", executor=executor, select="last", **QUICK)
    assert "\n" not in str(failed.value)


def test_methods_that_have_no_actors_say_so(scenes, executor):
    with pytest.raises(InvalidOption, match="imitate does not learn on a cluster"):
        pc.train(scenes, "imitate", executor=executor)


def train_command(cluster, out, *more):
    flags = {"data": "synthetic:A:30", "count": 10, "rounds": 40, "updates": 4, "batch": 8,
             "width": 16, "episodes": 3, "validate-rounds": 10, "staleness": 2, "actors": 2,
             "checkpoint-seconds": 0}  # fmt: skip
    if "--resume" in more:
        flags = {"rounds": flags["rounds"]}
    said = [text for name, value in flags.items() for text in (f"--{name}", str(value))]
    command = ["-m", "policrf", "train", "dqn", *said, "--out", str(out), *more]
    if cluster is not None:
        command += ["--ray", cluster.address]
    return [sys.executable, *command]


def test_a_driver_that_is_killed_goes_on_with_resume(cluster, loopback, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    subprocess.run(train_command(None, here), check=True, timeout=DEADLINE)
    driver = subprocess.Popen(train_command(cluster, there))
    until = time.monotonic() + DEADLINE
    while not _rounds(there) >= 10 and time.monotonic() < until:
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait(timeout=DEADLINE)
    assert 10 <= _rounds(there) < 40, "it was killed too late, or never began"
    # Ray ends the actors of a driver that is gone.
    assert not processes_with(MARK, loopback, patience=30, title="ray::Actor")
    again = train_command(cluster, there, "--resume", "--json")
    done = subprocess.run(again, check=True, timeout=DEADLINE, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1])["staleness"] == 2
    assert_same(*(pc.load_policy(out / "last.safetensors") for out in (here, there)))
    rounds = [json.loads(line)["round"] for line in (there / "log.jsonl").read_text().splitlines()]
    assert rounds == [0, 10, 20, 30, 40]


def _rounds(out):
    try:
        lines = (out / "log.jsonl").read_text().splitlines()
        return json.loads(lines[-1])["round"]
    except (OSError, ValueError, IndexError):
        return -1


def test_the_driver_of_a_local_cluster_takes_it_along_when_it_is_killed(loopback, tmp_path):
    environment = os.environ | {MARK: loopback + "-local"}
    command = train_command(None, tmp_path / "run", "--ray", "local")
    driver = subprocess.Popen(command, env=environment)
    until = time.monotonic() + DEADLINE
    while not _rounds(tmp_path / "run") >= 0 and time.monotonic() < until:
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait(timeout=DEADLINE)
    # Ray's agents look for their raylet now and then, and end when it is gone.
    assert not processes_with(MARK, loopback + "-local", patience=180)
