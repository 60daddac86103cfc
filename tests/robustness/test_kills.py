"""Runs that are stopped at random moments end, when they go on, where unbroken ones do."""

from __future__ import annotations

import pytest
from tests.robustness.builders import commands, group_members, start, wait_until
from tests.robustness.stops import RUNS, SIGNALS, VOC, Stopped, Stopping
from tests.shared_data import DATA
from tests.vision.builders import prepared_scenes

TIMES = 20


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return prepared_scenes(tmp_path_factory.mktemp("scenes"), 12)


@pytest.fixture(scope="module")
def stopping(scenes):
    return Stopping(scenes)


@pytest.mark.parametrize(("name", "number"), [("dqn", "TERM"), ("prepare", "INT")])
def test_a_stopped_run_goes_on(stopping, tmp_path, name, number):
    found = Stopped(name, number)
    stopping.check(found, tmp_path, seed=0, stops=1)
    assert found.stops + found.finished == found.runs == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("number", SIGNALS)
def test_twenty_stops(stopping, name, number):
    assert stopping.stopped(name, number, TIMES).stops == TIMES


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "voc").is_dir(), reason="the real images and nets are not here")
@pytest.mark.parametrize("number", SIGNALS)
def test_twenty_stops_of_real_images(stopping, number):
    assert stopping.stopped(VOC, number, TIMES).stops == TIMES


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
