"""Labels by reinforced messages: beliefs that pull at themselves, more and more, until all decide.

Decimation guided by beliefs, without fixing a node for good (Braunstein and Zecchina 2006): sweeps
of sum-product messages far below the temperature at which annealing begins, with a pull that grows
from 0 to `PULL`. In frustrated fields that is a far better start than what short thermal cycles
find in the same time: messages agree on the large, and cycles mend what is left in the small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Protocol

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.random_numbers import Generator
from policrf.solvers.run import Run
from policrf.solvers.thermal.beliefs import likeliest, new_beliefs, visit, weigh
from policrf.types import IntArray

HEAT = 0.4  # temperature of messages, in units of the highest one of cycles
PULL = 0.6  # power of a node's last belief in its next one, in the end
PEEKS = (0.5, 0.75)  # of the sweeps, after which labels are looked at on the way
LEAST_SWEEPS = 5  # thermal cycles that take as long as fewer of them end lower
LATER = 0.85  # of the first sweep's time, that later ones take, at most
SETTLING = 1.5  # sweeps that take as long as settling and offering labels, about
MOST_NODES = 3  # of a table
SHARED = 4  # times as many entries as the model keeps, where tables share them, are too many


class InSlices(Protocol):
    """How work is done while there is time."""

    def __call__(self, work: partial[None], n: int, most: float = math.inf) -> bool:
        """Do work(first, stop) for all of 0 … n − 1, with looks at the clock in between.

        False if time ran out, or as soon as all of it would take more than `most` seconds.
        """


def can_reinforce(a: Arrays) -> bool:
    """Whether messages take the tables: up to three nodes each, and few of them share entries."""
    if len(a.clique_kind) and int(np.diff(a.clique_ptr).max()) > MOST_NODES:
        return False
    return int(a.data_size.sum()) <= SHARED * len(a.data)


class Messages:
    """Reinforced messages under way.

    Parameters
    ----------
    a
        One that `can_reinforce`.
    generator
        Of the doubt in the first sweep.
    temperature
        Of the messages.
    in_slices
        How work is done.
    """

    def __init__(
        self, a: Arrays, generator: Generator, temperature: float, in_slices: InSlices
    ) -> None:
        self._a, self._generator, self._temperature = a, generator, temperature
        self._beliefs, self._in_slices = new_beliefs(a), in_slices

    def weigh(self, most: float = math.inf) -> bool:
        """What comes before the first sweep; False if it takes too long."""
        work = partial(weigh, self._a, self._beliefs, self._temperature)
        return self._in_slices(work, len(self._a.edges) + len(self._a.clique_kind), most)

    def sweep(self, number: int, sweeps: int, most: float = math.inf) -> bool:
        """Visit every node, there and back in turns; False if it takes too long."""
        pull, backward = PULL * (number / sweeps) ** 2, number % 2 == 1
        tools = self._a, self._beliefs, self._generator, self._temperature, pull, backward
        return self._in_slices(partial(visit, *tools), len(self._a.unary), most)

    def labels(self) -> IntArray:
        """What nodes believe in most `[N]`."""
        labels = np.empty(len(self._a.unary), np.int64)
        likeliest(self._a, self._beliefs, labels)
        return labels


def reinforced_labels(messages: Messages, sweeps: int) -> Iterator[IntArray | None]:
    """The labels `[N]` that nodes believe in, on the way and in the end; None if time ran out."""
    looks = {round(part * sweeps) for part in PEEKS} | {sweeps}
    if not messages.weigh():
        yield None
        return
    for number in range(sweeps):
        if not messages.sweep(number, sweeps):
            yield None
            return
        if number + 1 in looks:
            yield messages.labels()


def labels_in_time(messages: Messages, sweeps: int, run: Run) -> IntArray | None:
    """The labels `[N]` of as many of the sweeps as there is time for; None if these are too few.

    How long they take is measured: a part of the work tells whether to begin with the rest.
    """
    if not messages.weigh(run.remaining() / (1 + LEAST_SWEEPS + SETTLING)):
        return None
    began = run.elapsed()
    if not messages.sweep(0, sweeps, run.remaining() / (LEAST_SWEEPS + SETTLING)):
        return None
    if run.seconds is not None:
        seconds = LATER * max(run.elapsed() - began, 1e-9)
        sweeps = min(sweeps, int(1 + run.remaining() / seconds - SETTLING))
    if sweeps < LEAST_SWEEPS:
        return None
    for number in range(1, sweeps):
        if not messages.sweep(number, sweeps):
            break
    return messages.labels()
