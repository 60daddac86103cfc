"""The CPU time of processes that work for a solver, while they work."""

import os
import subprocess
import sys
import time

import pytest

from policrf.evaluation.cpu_time import cpu_budgets
from policrf.solvers import helper_processes

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")


@linux
def test_a_process_counts_from_its_beginning_to_its_end():
    assert helper_processes.cpu_seconds() == 0.0
    helper_processes.begin(os.getpid())
    used = helper_processes.cpu_seconds()
    helper_processes.end(os.getpid())
    assert used == pytest.approx(time.process_time(), abs=0.5)
    assert helper_processes.cpu_seconds() == 0.0


def test_a_process_that_is_gone_counts_nothing():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    helper_processes.begin(process.pid)
    assert helper_processes.cpu_seconds() == 0.0
    helper_processes.end(process.pid)


@linux
def test_budgets_hear_of_a_helper_before_it_has_ended():
    """While it works, not only when it is over: a budget would not hold for it."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    helper_processes.begin(busy.pid)
    try:
        with cpu_budgets(patience=1e9):
            begun = time.perf_counter()
            while time.perf_counter() - begun < 0.05:
                time.sleep(0.01)
        assert busy.poll() is None
    finally:
        busy.kill()
        busy.wait()
        helper_processes.end(busy.pid)
