"""Thermal cycles of one labeling or of several, on one thread or on several.

One labeling goes through the first cycles alone. Then replicas of it go on by themselves, each with
random numbers of its own, and meet after every cycle: the first is crossed with all others, region
by region, and they start again from what that gave. The answer depends on their number and the
seed, not on the number of threads that they share. Where reinforced messages are asked for, they
come before the first cycle, if they are in time, and after each that is the longest so far. Labels
of another solver can be crossed in, once the first replica has ended its time alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from policrf.solvers.run import Run
from policrf.solvers.thermal.reinforced import can_reinforce
from policrf.solvers.thermal.replica import Replica, seconds_to_begin
from policrf.solvers.thermal.schedule import LARGE, ball_parts, message_sweeps
from policrf.types import IntArray

Stage = partial[bool]  # of a method of Replica; False if time ran out
Each = Callable[[Stage, list[Replica]], Iterable[bool]]
OFFER = 0.02  # seconds between two labelings that are offered
ASKED = 3  # cycles after which it is asked whether they are worth it
ALONE = 15  # cycles of the first replica before others join it
ALONE_WITH_MESSAGES = 31  # the same where it sends messages: those of later ones send them again


def cycle_on(
    run: Run, labels: IntArray, *, hot: float = 0.5, cold: float = 0.12,
    sweeps: float = float("inf"), replicas: int = 2, threads: int = 1,
    worth: Callable[[IntArray], bool] | None = None, messages: bool = False,
    others: Callable[[], IntArray] | None = None,
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
        Labelings that go through cycles, after the first cycles of one.
    threads
        How many of them at the same time.
    worth
        Asked with the labels of the third cycle whether to go on.
    messages
        Whether labels of reinforced messages are crossed in, where these take the terms.
    others
        Asked once, when the first cycles of one are over, for labels to cross in.
    """
    messages = messages and can_reinforce(run.crf.arrays)
    if run.remaining() < seconds_to_begin(run) or not (run.crf.cardinalities > 1).any():
        return
    first = Replica(run, labels, run.seed, hot, cold)
    first.start(message_sweeps(0) if messages else 0)
    several = [first]
    joined = ALONE_WITH_MESSAGES if messages else ALONE
    alone = math.inf if replicas == 1 else joined
    goes_on = _go_through(several, map, messages, sweeps, alone, worth)
    if goes_on and (others is None or first.cross_in(others())):
        several += [first.twin(run.seed + 7919 * r) for r in range(1, replicas)]
        with ThreadPoolExecutor(threads) as pool:
            try:
                _go_through(several, pool.map, messages, sweeps)
            finally:  # threads that nobody waits for, after Ctrl-C
                for replica in several:
                    replica.stopped = True
    run.offer(first.best)
    run.info["cycles"] = sum(replica.cycles for replica in several)
    run.info["sweeps"] = round(_sweeps(several))


def _go_through(
    several: list[Replica], each: Each, messages: bool, sweeps: float, cycles: float = math.inf,
    worth: Callable[[IntArray], bool] | None = None,
) -> bool:  # fmt: skip
    """Stages of all replicas, with a meeting after each; False if it has ended before `cycles`.

    A stage that time cuts short counts for the first one only: what the others have found by then
    is not crossed, so that a longer run, which crosses what they find later, is never higher. In
    a small field, balls that gain nothing are the last ones until the next cycle.
    """
    first = several[0]
    small = len(first.best) < LARGE
    while first.cycles < cycles:
        for stage in _stages(first, messages):
            before = _gained(several)
            if _sweeps(several) >= sweeps or not all(list(each(stage, several))):
                return False
            in_vain = _gained(several) == before
            _meet(several)
            if first.run.proven():
                return False
            asked = stage.func is Replica.cycle and first.cycles == ASKED
            if asked and worth is not None and not worth(first.best):
                return False
            if stage.func is Replica.balls and small and in_vain:
                break
    return True


def _stages(replica: Replica, messages: bool) -> list[Stage]:
    """Its next cycle, messages if it is their turn, and the balls that follow in parts."""
    number = replica.cycles + 1
    found = [partial(Replica.cycle)]
    if messages and message_sweeps(number):
        found.append(partial(Replica.believe, sweeps=message_sweeps(number)))
    parts = ball_parts(number, len(replica.best))
    return found + [partial(Replica.balls, sweeps=part) for part in parts]


def _meet(several: list[Replica]) -> None:
    """Cross the first with all others, which start again from there; now and then it is offered."""
    first = several[0]
    for other in several[1:]:
        first.take(other)
    for other in several[1:]:
        other.follow(first)
    if first.run.elapsed() - first.offered > OFFER and first.gained > 0:
        first.run.offer(first.best)
        first.offered = first.run.elapsed()


def _gained(several: list[Replica]) -> float:
    return sum(replica.gained for replica in several)


def _sweeps(several: list[Replica]) -> float:
    return sum(replica.sweeps for replica in several)
