"""toulbar2 on a `Network`, in a process of its own (see `toulbar2_worker`).

Strong on quotas and tables, where the linear relaxation is weak: soft arc consistency, virtual arc
consistency before the search, and a good labeling as the first upper bound.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from policrf.errors import MissingDependency
from policrf.solvers.proofs import toulbar2_worker
from policrf.solvers.proofs.exact_network import Network
from policrf.types import IntArray

POLL = 0.02  # seconds
GRACE = 1.0  # seconds after its own time limit, which counts processor time


class NetworkResult(NamedTuple):
    """What toulbar2 found."""

    labels: IntArray | None  # [nodes of the network]; None if nothing as good as the first labeling
    bound: float  # of the energy; −inf if unknown
    finished: bool


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
    network: Network, upper: float, *, seconds: float, seed: int, expired: Callable[[], bool]
) -> NetworkResult:
    """Minimise, given a labeling of energy `upper`; a bound of +inf says that none is allowed."""
    if np.isinf(network.constant):
        return NetworkResult(None, np.inf, True)
    unknown = np.isinf(upper)
    if unknown:
        upper = network.constant + network.span()
    network.cut_off(upper)
    scale = network.scale()
    # One above the most that the given labeling can cost, its terms being rounded down.
    top = math.floor((upper - network.constant) * scale * (1 + 1e-12)) + 2
    whole = math.isfinite(seconds)
    task = network.whole_numbers(top)
    task |= {"seed": seed % 2**31 + 1, "seconds": max(1, math.floor(seconds)) if whole else 0}
    answer = _run(task, time.perf_counter() + seconds + GRACE, expired)
    if answer is None:
        return NetworkResult(None, -np.inf, False)
    bound = network.constant + answer["bound"] / scale
    labels = None
    if answer["values"] is None and answer["finished"] and unknown:
        return NetworkResult(None, np.inf, True)
    if answer["values"] is not None:
        pairs = zip(network.values, answer["values"], strict=False)
        labels = np.array([values[at] for values, at in pairs], np.int64)
    return NetworkResult(labels, min(bound, upper), answer["finished"])


def _run(
    task: dict[str, Any], deadline: float, expired: Callable[[], bool]
) -> dict[str, Any] | None:
    """The worker's answer, or None if it had to be stopped."""
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as reply:
        question.write(json.dumps(task).encode())
        question.seek(0)
        process = subprocess.Popen(
            [sys.executable, toulbar2_worker.__file__],
            stdin=question,
            stdout=reply,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is ours to hear, and ends it below
        )
        try:
            while process.poll() is None:
                if time.perf_counter() > deadline or expired():
                    return None
                time.sleep(POLL)
        finally:
            process.kill()
            process.wait()
        reply.seek(0)
        text = reply.read()
        return json.loads(text) if process.returncode == 0 and text else None
