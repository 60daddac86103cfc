"""Search where terms contradict each other: cycles, reinforced messages, and beliefs crossed in."""

from __future__ import annotations

import math
from collections.abc import Callable

from policrf.solvers.run import Run
from policrf.solvers.thermal.cycles import cycle_on
from policrf.solvers.thermal.frustration import is_frustrated
from policrf.types import IntArray

SWEEPS = 1500  # of cycles without a limit
BELIEF_NODES = 50_000  # up to which beliefs are crossed in: they take four times the model's memory


def search_frustrated(run: Run, labels: IntArray, threads: int = 1) -> bool:
    """Go on from `labels` [N] until time is over; without a limit, for some cycles.

    False if the first cycles show that the CRF is not frustrated, which ends it.
    """
    found: list[bool] = []

    def worth(labels: IntArray) -> bool:
        found.append(is_frustrated(run.crf, labels))
        return found[-1]

    cycle_on(
        run, labels, sweeps=SWEEPS if run.seconds is None else math.inf, threads=threads,
        worth=worth, messages=True, others=_beliefs(run),
    )  # fmt: skip
    return found != [False]


def _beliefs(run: Run) -> Callable[[], IntArray] | None:
    """What is crossed in later: min-sum labels, unless the run has begun with them."""
    from policrf.solvers import solve

    begun = any(step[0] == "belief_propagation" for step in run.info.get("steps", []))
    if begun or run.crf.n_nodes > BELIEF_NODES:
        return None

    def beliefs() -> IntArray:
        seconds = None if run.seconds is None else run.remaining()
        return solve(run.crf, "belief_propagation", seconds=seconds, go_on=False).labels

    return beliefs
