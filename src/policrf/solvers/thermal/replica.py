"""A labeling that is heated and cooled again and again, and never ends a cycle higher.

Cycle n takes 10 · 4^j sweeps, where 2^j is the n-th number of Luby, Sinclair and Zuckerman (1993):
1, 1, 2, 1, 1, 2, 4, … The first of a length starts hottest, all others milder, at random. After a
cycle single relabels settle the labels, and they are crossed with those before it (`crossing`).
What happens does not depend on how much time there is: a longer run goes on where a shorter one has
ended.
"""

from __future__ import annotations

import numpy as np

from policrf.random_numbers import new_generator, uniform
from policrf.solvers.pace import Pace
from policrf.solvers.run import Run
from policrf.solvers.thermal.crossing import cross
from policrf.solvers.thermal.kept_costs import Kept, load_costs, new_kept
from policrf.solvers.thermal.sweeps import LOGS, Cooling, anneal, settle
from policrf.types import IntArray

SWEEPS = 10  # of the shortest cycles
LONGER = 4  # times as many in the next longer ones
MILDEST, HOTTEST = 0.3, 1.0  # parts of the highest temperature that cycles start at
LONG, PEEKS = 500, (0.55, 0.7, 0.85)  # sweeps of cycles that are looked at on their way; when
FIRST = 1_000  # looks at nodes in the first slice
CROSSING = 1e-6  # seconds a node that crossing may take, before it is known
RATIO = 8.0  # of the highest temperature to the lowest, at least


class Replica:
    """Labels, and what their cycles need.

    Parameters
    ----------
    run
        Whose clock it is.
    labels
        Where it starts, `[N]`.
    seed
        Of everything random.
    hot
        The highest temperature, in units of the median size of a relabel's change.
    cold
        The lowest one, in units of the size that two fifths of the changes are below, and at most
        an eighth of the highest.
    """

    def __init__(self, run: Run, labels: IntArray, seed: int, hot: float, cold: float) -> None:
        self.run = run
        self.arrays = run.crf.arrays
        self.kept = new_kept(self.arrays, labels)
        self.best: IntArray = self.kept.labels.copy()
        self.cycles, self.sweeps = 0, 0
        self.gained = 0.0  # in all cycles since somebody set it to 0
        self.hot, self.cold = temperatures(self.kept, hot, cold)
        self._generator = new_generator(seed)
        self._scratch = np.empty(len(labels), np.int64), np.empty(len(labels), np.bool_)
        self._longest = -1
        self._crossing = CROSSING
        self._pace = Pace(run, FIRST)

    @property
    def bytes(self) -> int:
        """Memory of all its arrays, without the model's."""
        return sum(array.nbytes for array in (*self.kept, self.best, *self._scratch))

    def start(self) -> bool:
        """Settle the first labels; False if time ran out."""
        return self._settle() and self._cross()

    def cycle(self) -> bool:
        """One cycle; False if time ran out: nothing has changed then, and no other can follow."""
        self.cycles += 1
        scale = luby(self.cycles)
        part = HOTTEST
        if scale <= self._longest:
            part = MILDEST + (HOTTEST - MILDEST) * uniform(self._generator)
        self._longest = max(scale, self._longest)
        cooling = Cooling(part * self.hot, min(part * self.hot, self.cold), SWEEPS * LONGER**scale)
        if not (self._anneal(cooling) and self._settle() and self._cross()):
            return False
        self.sweeps += cooling.sweeps
        return True

    def take(self, other: Replica) -> None:
        """Cross with the labels of another one."""
        self.kept = new_kept(self.arrays, other.best)
        self._cross()

    def _anneal(self, cooling: Cooling) -> bool:
        looks = cooling.sweeps * len(self.best)
        ends = [int(part * looks) for part in PEEKS if cooling.sweeps >= LONG]
        done = 0
        for end in [*ends, looks]:
            while done < end and not self.run.expired():
                size = self._pace.begin()
                count = min(size, end - done)
                anneal(self.arrays, self.kept, self._generator, LOGS, cooling, done, count)
                if count == size:  # a shorter slice says nothing of how long a whole one takes
                    self._pace.end()
                done += count
            if done < end or (end < looks and not self._peek()):
                return False
        return True

    def _peek(self) -> bool:
        """Keep what a cycle under way has found already; it goes on as if nothing had happened."""
        warm = self.kept.labels.copy()
        if not (self._settle() and self._cross()):
            return False
        self.kept.labels[:] = warm
        load_costs(self.arrays, self.kept)
        return True

    def _settle(self) -> bool:
        cursor, settled = np.zeros(2, np.int64), False
        while not settled and not self.run.expired():
            settled = settle(self.arrays, self.kept, cursor, self._pace.begin())
            if not settled:
                self._pace.end()
        return settled

    def _cross(self) -> bool:
        """Skipped where it would take longer than there is time."""
        differ = int(np.count_nonzero(self.kept.labels != self.best))
        if self.run.remaining() < 1.5 * self._crossing * differ:
            return False
        began = self.run.elapsed()
        self.gained += cross(self.arrays, self.kept, self.best, *self._scratch)
        if differ > FIRST:
            self._crossing = (self.run.elapsed() - began) / differ
        return True


def luby(number: int) -> int:
    """The binary logarithm of the number-th entry (from 1) of 1, 1, 2, 1, 1, 2, 4, …

    >>> [luby(n) for n in range(1, 16)]
    [0, 0, 1, 0, 0, 1, 2, 0, 0, 1, 0, 0, 1, 2, 3]
    """
    while number & (number + 1):  # not one below a power of two
        number -= 2 ** (number.bit_length() - 1) - 1
    return number.bit_length() - 1


def temperatures(kept: Kept, hot: float, cold: float) -> tuple[float, float]:
    """The highest and the lowest temperature, from what relabels of up to 10,000 nodes change."""
    some = np.linspace(0, len(kept.labels) - 1, min(len(kept.labels), 10_000)).astype(np.int64)
    own = np.take_along_axis(kept.costs[some], kept.labels[some, None], axis=1)
    sizes = np.abs(kept.costs[some] - own)
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not len(sizes):
        return 1.0, 1.0
    high = hot * float(np.median(sizes))
    return high, min(high / RATIO, cold * float(np.quantile(sizes, 0.4)))


def seconds_to_begin(run: Run) -> float:
    """About the most that a replica takes to be made."""
    a = run.crf.arrays
    entries = a.unary.size + a.unary.shape[1] * len(a.clique_nodes) + len(a.adj_node)
    return float(1e-8 * entries)
