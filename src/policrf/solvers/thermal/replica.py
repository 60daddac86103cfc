"""A labeling that is heated and cooled again and again, and never ends a cycle higher.

Cycle n takes 10 · 4^j sweeps, where 2^j is the n-th number of Luby, Sinclair and Zuckerman (1993):
1, 1, 2, 1, 1, 2, 4, … The first of a length starts hottest, all others milder, at random. After a
cycle single relabels settle the labels, and they are crossed with those before it (`crossing`).
Later ones are followed by cycles of balls (`balls`), with up to three times as many looks at nodes.
If asked for, labels of reinforced messages (`reinforced`) are crossed in the same way.
What happens does not depend on how much time there is: a longer run goes on where a shorter one has
ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from functools import partial

import numpy as np

from policrf.random_numbers import below, new_generator, uniform
from policrf.solvers.pace import Pace
from policrf.solvers.run import Run
from policrf.solvers.thermal.balls import anneal_ball, close_ball, grow_ball
from policrf.solvers.thermal.crossing import cross
from policrf.solvers.thermal.kept_costs import load_costs, new_kept
from policrf.solvers.thermal.reinforced import (
    HEAT,
    Messages,
    labels_in_time,
    reinforced_labels,
)
from policrf.solvers.thermal.schedule import LONGER, SWEEPS, cycle_scale, sample, temperatures
from policrf.solvers.thermal.sweeps import LOGS, Cooling, anneal, settle
from policrf.types import IntArray

MILDEST, HOTTEST = 0.3, 1.0  # parts of the highest temperature that cycles start at
LONG, PEEKS = 500, (0.55, 0.7, 0.85)  # sweeps of cycles that are looked at on their way; when
FIRST, FIRST_VISITS = 1_000, 100  # looks at nodes in the first slice, and visits of messages
TELLING = 0.02  # share of a work that tells how long all of it takes
CROSSING = 1e-6  # seconds a node that crossing may take, before it is known
SMALLEST, LARGEST, BALL_SWEEPS = 100, 1000, 100  # nodes of balls, and sweeps of their cycles


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
        self.cycles = 0
        self.looks = 0  # at nodes, in all cycles that came to their end
        self.gained = 0.0  # energy, in all cycles
        self.offered = run.elapsed()  # when its labels were offered to the run
        self.stopped = False
        """No further slice begins: for threads that nobody waits for."""
        self.hot, self.cold = self._temperatures(hot, cold)
        self._generator = new_generator(seed)
        self._scratch = np.empty(len(labels), np.int64), np.empty(len(labels), np.bool_)
        self._longest = -1
        self._crossing = CROSSING
        self._paces = self._new_paces()

    def _new_paces(self) -> dict[str, Pace]:
        """Of looks that take some nanoseconds, and of those that take a hundred times as long."""
        return {kind: Pace(self.run, FIRST) for kind in ("settle", "anneal", "ball")}

    def _temperatures(self, hot: float, cold: float) -> tuple[float, float]:
        """From the labels of lowest unary: those of a good start would make them twice as high.

        What a relabel changes is larger the lower the energy is.
        """
        if self._is_plain():
            return temperatures(self.kept, hot, cold)
        plain = np.argmin(self.arrays.unary, axis=1).astype(np.int64)
        return temperatures(new_kept(self.arrays, plain), hot, cold)

    def _is_plain(self) -> bool:
        """Whether it starts from the labels of lowest unary, by a sample."""
        some = sample(len(self.best))
        return bool((self.best[some] == np.argmin(self.arrays.unary[some], axis=1)).all())

    @property
    def bytes(self) -> int:
        """Memory of all its arrays, without the model's."""
        return sum(array.nbytes for array in (*self.kept, self.best, *self._scratch))

    @property
    def sweeps(self) -> float:
        """Looks at nodes, in units of their number."""
        return self.looks / len(self.best)

    def start(self, sweeps: int = 0) -> None:
        """Settle the first labels, or those of so many sweeps of messages if these are in time."""
        labels = labels_in_time(self._messages(), sweeps, self.run) if sweeps else None
        plain = labels is None or self._is_plain()
        if labels is not None:
            self._load(labels)
        self._settle()  # in part, if time runs out
        if plain:
            self.best[:] = self.kept.labels
        elif not self._cross():
            self.follow(self)

    def cycle(self) -> bool:
        """One cycle; False if time ran out: nothing has changed then, and no other can follow."""
        self.cycles += 1
        scale = cycle_scale(self.cycles, len(self.best))
        sweeps = SWEEPS * LONGER**scale
        longest = scale > self._longest
        cooling = self._cooling(HOTTEST, sweeps) if longest else self._mild_cooling(sweeps)
        self._longest = max(scale, self._longest)
        if not (self._anneal(cooling) and self._settle() and self._cross()):
            return False
        self.looks += cooling.sweeps * len(self.best)
        return True

    def balls(self, sweeps: int) -> bool:
        """Cycles of balls around random nodes, that are so many sweeps; False if time ran out.

        Those that came to their end before that are kept.
        """
        region, left = self._scratch
        left[:] = False
        space = np.empty(min(LARGEST, max(1, len(left) // 4)), np.int64)
        end = self.looks + sweeps * len(left)
        while self.looks < end:
            ratio = (LARGEST / SMALLEST) ** uniform(self._generator)
            size = min(int(SMALLEST * ratio), len(space))
            start = below(self._generator, len(left))
            ball = space[: grow_ball(self.arrays, start, size, left, space)]
            if not self._anneal_ball(self._mild_cooling(BALL_SWEEPS), ball):
                return False
            self.gained += close_ball(self.arrays, self.kept, self.best, region, left, ball)
            self.looks += BALL_SWEEPS * len(ball)
        return True

    def believe(self, sweeps: int) -> bool:
        """Cross with labels of reinforced messages, on their way too; False if time ran out."""
        for labels in reinforced_labels(self._messages(), sweeps):
            if labels is None:
                return False
            if not self.cross_in(labels):
                return False
        return True

    def cross_in(self, labels: IntArray) -> bool:
        """Settle labels [N] found elsewhere and cross with them; False if time ran out."""
        self._load(labels)
        return self._settle() and self._cross()

    def _messages(self) -> Messages:
        paces: dict[Callable[..., None], Pace] = {}  # a term is weighed sooner than a node visited

        def in_slices(work: partial[None], n: int, most: float = math.inf) -> bool:
            pace = paces.setdefault(work.func, Pace(self.run, FIRST_VISITS))
            return self._in_slices(work, 0, n, pace, most) == n

        return Messages(self.arrays, self._generator, HEAT * self.hot, in_slices)

    def _mild_cooling(self, sweeps: int) -> Cooling:
        return self._cooling(MILDEST + (HOTTEST - MILDEST) * uniform(self._generator), sweeps)

    def _cooling(self, part: float, sweeps: int) -> Cooling:
        """From a part of the highest temperature to the lowest."""
        return Cooling(part * self.hot, min(part * self.hot, self.cold), sweeps)

    def twin(self, seed: int) -> Replica:
        """Another one with the same labels and as many cycles behind it; its looks are its own."""
        other = copy(self)
        other.kept = new_kept(self.arrays, self.best)
        other.best = self.best.copy()
        other.looks, other.gained = 0, 0.0
        other._generator = new_generator(seed)
        other._scratch = np.empty_like(self._scratch[0]), np.empty_like(self._scratch[1])
        other._paces = other._new_paces()
        return other

    def take(self, other: Replica) -> None:
        """Cross with the labels of another one, if there is time for that."""
        self._load(other.best)
        if not self._cross():
            self.follow(self)

    def follow(self, other: Replica) -> None:
        """Go on from the labels of another one."""
        self._load(other.best)
        self.best[:] = other.best

    def _load(self, labels: IntArray) -> None:
        self.kept.labels[:] = labels
        load_costs(self.arrays, self.kept)

    def _anneal(self, cooling: Cooling) -> bool:
        looks = cooling.sweeps * len(self.best)
        self._paces["anneal"] = Pace(self.run, FIRST)  # the last ones were cold and quick
        ends = [int(part * looks) for part in PEEKS if cooling.sweeps >= LONG]
        done = 0
        for end in [*ends, looks]:
            done = self._advance(cooling, None, done, end)
            if done < end or (end < looks and not self._peek()):
                return False
        return True

    def _anneal_ball(self, cooling: Cooling, ball: IntArray) -> bool:
        looks = cooling.sweeps * len(ball)
        return self._advance(cooling, ball, 0, looks) == looks

    def _advance(self, cooling: Cooling, ball: IntArray | None, done: int, end: int) -> int:
        """The looks `done` … `end` of a cycle, of a ball or of all nodes; how far it came."""
        tools = self.arrays, self.kept, self._generator, LOGS, cooling

        def work(first: int, stop: int) -> None:
            if ball is None:
                anneal(*tools, first, stop - first)
            else:
                anneal_ball(*tools, ball, first, stop - first)

        return self._in_slices(work, done, end, self._paces["anneal" if ball is None else "ball"])

    def _in_slices(
        self, work: Callable[[int, int], None], done: int, end: int, pace: Pace,
        most: float = math.inf,
    ) -> int:  # fmt: skip
        """work(first, stop) from `done` to `end`, while there is time; how far it came.

        It ends as soon as all of it would take more than `most` seconds.
        """
        began, first = self.run.elapsed(), done
        while done < end and not self._expired():
            size = pace.begin()
            stop = min(done + size, end)
            work(done, stop)
            if stop - done == size:  # a shorter slice says nothing of how long a whole one takes
                pace.end()
            done = stop
            share = (done - first) / (end - first)
            if share >= TELLING and self.run.elapsed() - began > most * share:
                break
        return done

    def _peek(self) -> bool:
        """Keep what a cycle under way has found already; it goes on as if nothing had happened."""
        warm = self.kept.labels.copy()
        if not (self._settle() and self._cross()):
            return False
        self._load(warm)
        return True

    def _expired(self) -> bool:
        return self.stopped or self.run.expired()

    def _settle(self) -> bool:
        cursor, settled, pace = np.zeros(2, np.int64), False, self._paces["settle"]
        while not settled and not self._expired():
            settled = settle(self.arrays, self.kept, cursor, pace.begin())
            if not settled:
                pace.end()
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


def seconds_to_begin(run: Run) -> float:
    """About the most that a replica takes to be made."""
    a = run.crf.arrays
    entries = a.unary.size + a.unary.shape[1] * len(a.clique_nodes) + len(a.adj_node)
    return float(5e-9 * entries)
