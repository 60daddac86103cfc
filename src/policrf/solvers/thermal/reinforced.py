"""Labels by reinforced messages: beliefs that pull at themselves, more and more, until all decide.

Decimation guided by beliefs, without fixing a node for good (Braunstein and Zecchina 2006): sweeps
of sum-product messages far below the temperature at which annealing begins, with a pull that grows
from 0 to `PULL`. In frustrated fields that is a far better start than what short thermal cycles
find in the same time: messages agree on the large, and cycles mend what is left in the small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.random_numbers import Generator
from policrf.solvers.thermal.beliefs import likeliest, new_beliefs, visit, weigh
from policrf.types import IntArray

HEAT = 0.4  # temperature of messages, in units of the highest one of cycles
PULL = 0.6  # power of a node's last belief in its next one, in the end
PEEKS = (0.5, 0.75)  # of the sweeps, after which labels are looked at on the way
MOST_NODES = 3  # of a table
SHARED = 4  # times as many entries as the model keeps, where tables share them, are too many

InSlices = Callable[[Callable[[int, int], None], int], bool]


def can_reinforce(a: Arrays) -> bool:
    """Whether messages take the tables: up to three nodes each, and few of them share entries."""
    if len(a.clique_kind) and int(np.diff(a.clique_ptr).max()) > MOST_NODES:
        return False
    return int(a.data_size.sum()) <= SHARED * len(a.data)


def reinforced_labels(
    a: Arrays, generator: Generator, temperature: float, sweeps: int, in_slices: InSlices
) -> Iterator[IntArray | None]:
    """The labels `[N]` that nodes believe in, on the way and in the end; None if time ran out.

    Parameters
    ----------
    a
        One that `can_reinforce`.
    generator
        Of the doubt in the first sweep.
    temperature
        Of the messages.
    sweeps
        Visits of every node, there and back in turns.
    in_slices
        Does work(first, stop) for all of 0 … n − 1, given as (work, n), with looks at the clock in
        between; False if time ran out.
    """
    beliefs, labels = new_beliefs(a), np.empty(len(a.unary), np.int64)
    looks = {round(part * sweeps) for part in PEEKS} | {sweeps}
    if not in_slices(partial(weigh, a, beliefs, temperature), len(a.edges) + len(a.clique_kind)):
        yield None
        return
    for number in range(sweeps):
        pull = PULL * (number / sweeps) ** 2
        work = partial(visit, a, beliefs, generator, temperature, pull, number % 2 == 1)
        if not in_slices(work, len(a.unary)):
            yield None
            return
        if number + 1 in looks:
            likeliest(a, beliefs, labels)
            yield labels
