"""toulbar2 on a `Network`, in a process of its own (see `toulbar2_worker`), stopped by our clock.

Strong on quotas and tables, where the linear relaxation is weak: soft arc consistency, virtual arc
consistency before the search, and a good labeling as the first upper bound.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from policrf.errors import MissingDependency
from policrf.solvers import helper_processes
from policrf.solvers.claims import UNIT
from policrf.solvers.proofs import toulbar2_worker
from policrf.solvers.proofs.exact_network import Network, Units
from policrf.types import IntArray

POLL = (0.001, 0.02)  # seconds between two looks at the clock, at least and at most
LAST_WORDS = 0.35  # seconds to hand over what it has, once it is told to stop


class NetworkResult(NamedTuple):
    """What toulbar2 found."""

    labels: IntArray | None  # [nodes of the network]; None if nothing as good as the first labeling
    bound: float  # of the energy; −inf if unknown
    margin: float


def has_toulbar2() -> bool:
    """Whether the optional library is installed."""
    return find_spec("pytoulbar2") is not None


def require_toulbar2() -> None:
    """Refuse to go on without it."""
    if not has_toulbar2():
        raise MissingDependency(
            "backend='toulbar2' needs pytoulbar2: pip install 'policrf[toulbar2]'"
        )


def solve_network(
    network: Network, upper: float, *, margin: float, seconds: float, seed: int,
    remaining: Callable[[], float],
) -> NetworkResult:  # fmt: skip
    """Minimise, given a labeling of energy `upper`, which may be off by `margin`.

    A bound of +inf says that no labeling is allowed.
    """
    if np.isinf(network.constant):
        return NetworkResult(None, np.inf, 0.0)
    unknown = np.isinf(upper)
    if unknown:
        upper = network.constant + network.span()
    task, units = whole_number_task(network, upper, margin, seed)
    top = task["top"]
    answer = run_worker(task, seconds, remaining)
    if answer is None:
        return NetworkResult(None, -np.inf, 0.0)
    labels = None
    if answer["values"] is None and answer["finished"]:
        # Nothing costs less than `top`, which is more than what is allowed can cost.
        if unknown:
            return NetworkResult(None, np.inf, 0.0)
        answer["bound"] = top
    if answer["values"] is not None:
        labels = network.labels(answer["values"])
    bound = network.constant + min(answer["bound"], top) / units.scale
    return NetworkResult(labels, min(bound, upper) + units.lost, units.margin)


def whole_number_task(
    network: Network, upper: float, margin: float, seed: int
) -> tuple[dict[str, Any], Units]:
    """The network for a worker, and the units of its costs.

    A labeling of energy `upper`, off by `margin` at most, is just allowed.
    """
    # What a labeling of that energy costs here, and never less: it must not be forbidden.
    room = max(upper - network.constant, 0.0) + 2 * margin
    network.cut_off(room)
    units = network.units(room)
    # `room` may be a sum over all functions, and is never to be below what they add up to.
    slack = 1e-12 + 4 * UNIT * len(network.functions)
    top = math.floor((room + units.margin) * units.scale * (1 + slack)) + 1
    return network.whole_numbers(units, top) | {"seed": seed % 2**31 + 1}, units


def run_worker(
    task: dict[str, Any], seconds: float, remaining: Callable[[], float]
) -> dict[str, Any] | None:
    """The worker's answer, with `finished`: whether it was not stopped; None if it has none.

    It is told to stop after `seconds`, and not waited for when none are `remaining`.
    """
    deadline, stopped = time.perf_counter() + seconds, False
    read_end, life = os.pipe()
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as reply:
        question.write(json.dumps(task).encode())
        question.seek(0)
        process = subprocess.Popen(
            [sys.executable, toulbar2_worker.__file__, str(os.getpid()), str(read_end)],
            stdin=question,
            stdout=reply,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is ours to hear, and ends it below
            pass_fds=(read_end,) if os.name == "posix" else (),
        )
        helper_processes.begin(process.pid)
        try:
            while process.poll() is None:
                late = time.perf_counter() > deadline
                if remaining() == 0.0 or (stopped and late):
                    return None
                if late:
                    stopped, deadline = True, time.perf_counter() + LAST_WORDS
                    process.send_signal(getattr(signal, "SIGVTALRM", signal.SIGTERM))
                time.sleep(max(POLL[0], min(POLL[1], deadline - time.perf_counter())))
        finally:
            process.kill()
            process.wait()
            helper_processes.end(process.pid)
            os.close(read_end)
            os.close(life)
        reply.seek(0)
        text = reply.read()
    if process.returncode != 0 or not text:
        return None
    answer: dict[str, Any] = json.loads(text)
    return answer | {"finished": not stopped or answer["bound"] >= answer["cost"]}
