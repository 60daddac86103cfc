"""The worker hands over what it has when it is stopped, and never outlives its parent."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.solvers.proofs.test_exact import needs_toulbar2
from tests.timing import best_of_several

from policrf.solvers.proofs import exact_toulbar2
from policrf.solvers.proofs.exact_toulbar2 import run_worker

pytestmark = [needs_toulbar2, pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")]


def hard_task(n_nodes=60, n_labels=6):
    """A dense random network that takes hours to prove."""
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(n_nodes) for j in range(i + 1, n_nodes) if rng.random() < 0.3]
    functions = [[list(pair), rng.integers(0, 1000, n_labels**2).tolist()] for pair in pairs]
    domains = [n_labels] * n_nodes
    return {"domains": domains, "functions": functions, "quotas": [], "top": 10**9, "seed": 1}


def cost_of(task, values):
    sizes = task["domains"]
    return sum(costs[values[i] * sizes[j] + values[j]] for (i, j), costs in task["functions"])


@best_of_several
def test_it_hands_over_labels_and_a_bound_when_the_clock_stops_it():
    task = hard_task()
    begun = time.perf_counter()
    answer = run_worker(task, 2.0, lambda: 60.0)
    assert time.perf_counter() - begun < 2.6
    assert answer is not None
    assert not answer["finished"]
    assert 0 < answer["bound"] < answer["cost"]
    assert cost_of(task, answer["values"]) == answer["cost"]


def test_it_is_the_wall_clock_that_counts_on_a_loaded_machine(monkeypatch):
    """A worker that gets a third of a core has used a third of its seconds when they are over."""
    real = subprocess.Popen

    def starved(*arguments, **options):
        process = real(*arguments, **options)
        beat = f"""
import os, signal, time
from tests.timing import best_of_several
for _ in range(40):
    os.kill({process.pid}, signal.SIGSTOP); time.sleep(0.1)
    os.kill({process.pid}, signal.SIGCONT); time.sleep(0.05)
"""
        real([sys.executable, "-c", beat], stderr=subprocess.DEVNULL)
        return process

    monkeypatch.setattr(exact_toulbar2.subprocess, "Popen", starved)
    answer = run_worker(hard_task(n_nodes=30), 3.0, lambda: 60.0)
    assert answer is not None
    assert answer["values"] is not None


PARENT = """
import sys
from tests.solvers.proofs.test_toulbar2_worker import hard_task
from policrf.solvers.proofs import exact_toulbar2, toulbar2_worker
import subprocess
real = subprocess.Popen
def announced(*arguments, **options):
    process = real(*arguments, **options)
    print(process.pid, flush=True)
    return process
exact_toulbar2.subprocess.Popen = announced
exact_toulbar2.run_worker(hard_task(), 60.0, lambda: 60.0)
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("watcher", ["prctl", "fork"])
def test_it_ends_with_its_parent(how, watcher):
    path = os.pathsep.join(entry for entry in [os.getcwd(), *sys.path] if entry)
    environment = os.environ | {"PYTHONPATH": path}
    code = PARENT
    if watcher == "fork":
        # What other systems do: the worker's file with another `platform`.
        code = FORKING + PARENT
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    )
    worker = int(parent.stdout.readline())
    time.sleep(1.5)
    assert is_running(worker)
    parent.send_signal(how)
    parent.wait()
    parent.stdout.close()
    for _ in range(60):
        if not is_running(worker):
            break
        time.sleep(0.05)
    alive = is_running(worker)
    if alive:
        os.kill(worker, signal.SIGKILL)
    assert not alive


FORKING = """
import tempfile
from pathlib import Path
from policrf.solvers.proofs import toulbar2_worker
text = Path(toulbar2_worker.__file__).read_text().replace('sys.platform == "linux"', "False")
folder = tempfile.mkdtemp()
other = Path(folder) / "toulbar2_worker.py"
other.write_text(text)
toulbar2_worker.__file__ = str(other)
"""
