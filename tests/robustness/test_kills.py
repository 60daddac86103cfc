"""Runs that are stopped at random moments end, when they go on, where unbroken ones do."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time

import pytest
from tests.robustness.builders import commands, group_members, handles_signals, start, wait_until
from tests.vision.builders import prepared_scenes

import policrf as pc

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
RUNS = ("prepare", "evaluate", "calibrate", "dqn", "mcts")
STOPS = 4  # of one run, before it is left alone


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return prepared_scenes(tmp_path_factory.mktemp("scenes"), 12)


@pytest.fixture(scope="module")
def unbroken(scenes, tmp_path_factory):
    """What a command ends with, and the seconds it takes."""
    found = {}

    def run(name):
        if name not in found:
            out = tmp_path_factory.mktemp("unbroken")
            began = time.monotonic()
            process = start(commands(scenes, out)[name])
            _, error = process.communicate(timeout=300)
            assert process.returncode == 0, error
            found[name] = time.monotonic() - began, outcome(name, out)
        return found[name]

    return run


def outcome(name, out):
    """The files of a finished run, without what depends on the clock."""
    hidden = [path for path in out.rglob(".*") if path.is_file()]
    assert not hidden
    if name == "prepare":
        return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    if name == "calibrate":
        assert not list(out.glob("*.journal.jsonl"))
        return {p.name: p.read_bytes() for p in out.iterdir() if p.suffix in (".yaml", ".csv")}
    if name == "evaluate":
        lines = (out / "evaluated" / "results.jsonl").read_text().splitlines()
        keep = ("solver", "name", "nodes", "energy", "terms", "pixels", "superpixels")
        return [[json.loads(line)[key] for key in keep] for line in lines]
    lines = (out / name / "log.jsonl").read_text().splitlines()
    energies = [(line["round"], line["energy"]) for line in map(json.loads, lines)]
    weights = {
        (file, tensor): array.tobytes()
        for file in ("best", "last")
        for tensor, array in pc.load_policy(out / name / f"{file}.safetensors").weights.items()
    }
    return energies, weights


def stop_at_random(arguments, number, draw, seconds):
    """Start the command and stop it somewhere; whether it had ended before."""
    process = start(arguments)
    wait_until(lambda: handles_signals(process))
    time.sleep(draw.uniform(0, seconds))
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    wait_until(lambda: not group_members(process.pid), 10)
    if process.returncode == 0:
        return True
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number, error
        told = [line for line in error.splitlines() if line.startswith("policrf: stopped")]
        assert len(told) == 1
        assert "goes on" in told[0]
        assert "Traceback" not in error
    return False


def check(scenes, unbroken, out, name, number, seed, stops=STOPS):
    seconds, expected = unbroken(name)
    arguments = commands(scenes, out)[name]
    draw = random.Random(f"{name} {number} {seed}")
    going_on = ["--resume"] if arguments[0] == "train" else []
    for _ in range(stops):
        again = going_on if (out / name / "config.json").exists() else []
        if stop_at_random([*arguments, *again], number, draw, seconds * 0.7):
            break
    else:
        again = going_on if (out / name / "config.json").exists() else []
        process = start([*arguments, *again])
        _, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
    assert outcome(name, out) == expected


@pytest.mark.parametrize(("name", "number"), [("dqn", "TERM"), ("prepare", "INT")])
def test_a_stopped_run_goes_on(scenes, unbroken, tmp_path, name, number):
    check(scenes, unbroken, tmp_path, name, SIGNALS[number], seed=0, stops=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("number", SIGNALS)
def test_twenty_stops(scenes, unbroken, tmp_path, name, number):
    for seed in range(20 // STOPS):
        (tmp_path / str(seed)).mkdir()
        check(scenes, unbroken, tmp_path / str(seed), name, SIGNALS[number], seed)
        shutil.rmtree(tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_processes_of_a_stopped_run_end_with_it(scenes, tmp_path, number):
    arguments = commands(scenes, tmp_path)["prepare"]
    arguments[arguments.index("--jobs") + 1] = "2"
    process = start(arguments)
    wait_until(lambda: len(group_members(process.pid)) >= 3)
    process.send_signal(SIGNALS[number])
    process.communicate(timeout=60)
    wait_until(lambda: not group_members(process.pid), 10)
