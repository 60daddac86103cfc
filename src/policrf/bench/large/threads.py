"""How many more sweeps two threads do than one, by the clock and by CPU time.

On a machine that others use too, two threads seldom have two cores. So trials of one and of two
threads take turns, and each says how many cores it had (CPU time / wall time): the wall ratio means
something where one thread had one core and two had two. Sweeps a CPU second do not depend on that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from policrf.crf.model import CRF
from policrf.evaluation.tables import Table
from policrf.scenes import make_frustrated
from policrf.solvers import solve

FIELDS = (("glass", 1_000), ("glass", 10_000), ("random", 10_000), ("ising", 10_000))
TRIAL = 5.0  # seconds of a trial
WARM = 0.3  # seconds, to load kernels


def measure_threads(
    trials: int, seconds: float, progress: Callable[[str], None], threads: int = 2
) -> Table:
    """Sweeps of annealing on one thread and on several, in turns.

    Parameters
    ----------
    trials
        Of each; the one that had most of the machine is shown.
    seconds
        By the clock, of a trial.
    progress
        Called after each field.
    threads
        How many.
    """
    rows = []
    for family, n_nodes in FIELDS:
        crf = make_frustrated(family, n_nodes, degree=8)
        _trial(crf, threads, WARM)
        pairs = [(_trial(crf, 1, seconds), _trial(crf, threads, seconds)) for _ in range(trials)]
        one, many = max(pairs, key=lambda pair: pair[0][1] + pair[1][1])
        by_cpu = np.median([b[0] / b[1] / (a[0] / a[1]) for a, b in pairs])
        rows.append(
            (f"{family}:{n_nodes}:8", one[0], many[0], one[1], many[1], many[0] / one[0],
             float(by_cpu))
        )  # fmt: skip
        progress(f"{family} {n_nodes}")
    columns = (
        "field", "sweeps_a_second_one", "sweeps_a_second_many", "cores_one", "cores_many",
        "wall_ratio", "ratio_a_cpu_second",
    )  # fmt: skip
    note = (
        f"{threads} threads against one, {trials} trials of {seconds:g} s in turns: the pair that "
        "had most of the machine (cores: CPU seconds a second), and the median of what a CPU "
        "second of several threads does, in units of one thread's. With cores of its own, a run "
        f"does {threads} × ratio_a_cpu_second as much."
    )
    return Table(f"Threads: {threads} against one", columns, tuple(rows), note)


def _trial(crf: CRF, threads: int, seconds: float) -> tuple[float, float]:
    """Sweeps a second, and CPU seconds a second."""
    wall, cpu = time.perf_counter(), time.process_time()
    solution = solve(crf, "annealing", threads=threads, seconds=seconds)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return solution.info["sweeps"] / wall, cpu / wall
