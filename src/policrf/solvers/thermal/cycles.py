"""Thermal cycles of one labeling or of several, on one thread or on several.

Replicas go through their cycles by themselves and meet at fixed numbers of cycles, where the first
is crossed with all others, and the last takes over what that gave. The answer depends on their
number and the seed, not on the number of threads that they share.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from policrf.solvers.run import Run
from policrf.solvers.thermal.replica import Replica, seconds_to_begin
from policrf.types import IntArray

OFFER = 0.02  # seconds between two labelings that are offered
ASKED = 3  # cycles after which it is asked whether they are worth it
MEET = 16  # cycles between two meetings at first; then always twice as many


def cycle_on(
    run: Run, labels: IntArray, *, hot: float = 0.5, cold: float = 0.12,
    sweeps: float = float("inf"), replicas: int = 1, threads: int = 1,
    worth: Callable[[IntArray], bool] | None = None,
) -> None:  # fmt: skip
    """Improve `labels` [N] by thermal cycles and offer what is found.

    Parameters
    ----------
    run
        Its CRF is one that `kept_costs.takes`.
    labels
        Where to start.
    hot, cold
        Temperatures; see `Replica`.
    sweeps
        How many there are about; by default only time ends it.
    replicas
        Labelings that go through cycles.
    threads
        How many of them at the same time.
    worth
        Asked with the labels of the third cycle whether to go on; for one replica.
    """
    if run.remaining() < seconds_to_begin(run) or not (run.crf.cardinalities > 1).any():
        return
    several = [Replica(run, labels, run.seed + 7919 * r, hot, cold) for r in range(replicas)]
    first = several[0]
    first.start()
    run.offer(first.best)
    for other in several[1:]:
        other.start()
    if replicas == 1:
        _alone(first, sweeps, worth)
    else:
        _together(several, sweeps, threads)
    run.offer(first.best)
    run.info["cycles"] = sum(replica.cycles for replica in several)
    run.info["sweeps"] = sum(replica.sweeps for replica in several)


def _alone(
    replica: Replica, sweeps: float, worth: Callable[[IntArray], bool] | None = None
) -> None:
    run, offered = replica.run, replica.run.elapsed()
    while replica.sweeps < sweeps and replica.cycle():
        if replica.cycles == ASKED and worth is not None and not worth(replica.best):
            return
        if replica.gained > 0 and run.elapsed() - offered > OFFER:
            run.offer(replica.best)
            replica.gained, offered = 0.0, run.elapsed()
            if run.proven():
                return


def _together(several: list[Replica], sweeps: float, threads: int) -> None:
    first, cycles, going = several[0], MEET, True
    with ThreadPoolExecutor(threads) as pool:
        while going and sum(replica.sweeps for replica in several) < sweeps:
            going = all(list(pool.map(_until(cycles), several)))
            for other in several[1:]:
                first.take(other)
            first.run.offer(first.best)
            if going:
                several[-1].take(first)
                cycles *= 2
            going = going and not first.run.proven()


def _until(cycles: int) -> Callable[[Replica], bool]:
    """Goes through cycles up to a number; False if time ran out."""

    def advance(replica: Replica) -> bool:
        while replica.cycles < cycles:
            if not replica.cycle():
                return False
        return True

    return advance
