"""How much sooner two threads have done the same sweeps as one, by the clock and by CPU time.

The labels are the same, so the work is. On a machine that others use too, two threads seldom have
two cores. So trials of one and of two take turns, and each says how many cores it had (CPU time /
wall time): the ratio by the clock means something where one had one core and two had two. That of
CPU time says what threads cost each other, whatever they had.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from policrf.crf.model import CRF
from policrf.evaluation.tables import Table
from policrf.scenes import make_frustrated
from policrf.solvers import solve

FIELDS = (("glass", 1_000), ("random", 1_000), ("ising", 2_500))
TRIAL = 40_000  # sweeps of a trial; the first 1,200 are one replica's
WARM = 6_000  # sweeps that load kernels


def measure_threads(
    trials: int, sweeps: int, progress: Callable[[str], None], threads: int = 2
) -> Table:
    """Seconds of annealing on one thread and on several, in turns.

    Parameters
    ----------
    trials
        Of each; the pair that had most of the machine is shown.
    sweeps
        Of a trial.
    progress
        Called after each field.
    threads
        How many.
    """
    rows = []
    for family, n_nodes in FIELDS:
        crf = make_frustrated(family, n_nodes, degree=8)
        _trial(crf, threads, WARM)
        pairs = [(_trial(crf, 1, sweeps), _trial(crf, threads, sweeps)) for _ in range(trials)]
        one, many = max(pairs, key=lambda pair: pair[0].cores + pair[1].cores)
        by_cpu = float(np.median([a.cpu / b.cpu for a, b in pairs]))
        rows.append((f"{family}:{n_nodes}:8", sweeps, one.wall, many.wall, one.cores, many.cores,
                     one.wall / many.wall, by_cpu))  # fmt: skip
        progress(f"{family} {n_nodes}")
    columns = (
        "field", "sweeps", "seconds_one", "seconds_many", "cores_one", "cores_many", "wall_ratio",
        "cpu_ratio",
    )  # fmt: skip
    note = (
        f"The same sweeps on one thread and on {threads}; {trials} trials of each, in turns. "
        "Seconds by the clock and cores (CPU seconds a second) are of the pair that had most of "
        "the machine; cpu_ratio is the median of one's CPU seconds in units of the other's: 1 "
        "where threads cost each other nothing."
    )
    return Table(f"Threads: {threads} against one", columns, tuple(rows), note)


class Trial(NamedTuple):
    """Seconds of a solve."""

    wall: float
    cpu: float

    @property
    def cores(self) -> float:
        """That it had, on average."""
        return self.cpu / self.wall


def _trial(crf: CRF, threads: int, sweeps: int) -> Trial:
    wall, cpu = time.perf_counter(), time.process_time()
    solve(crf, "annealing", threads=threads, sweeps=sweeps, runs=1)
    return Trial(time.perf_counter() - wall, time.process_time() - cpu)
