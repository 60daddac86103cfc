"""Scoring settings on a growing part of the images: those that are clearly worse stop early.

Every stage scores its settings on an eighth of the images, then on a quarter, a half and all of
them. After each part, a setting whose paired difference to the best is below −2 standard errors is
left out, and of the others the better half goes on (successive halving), but never fewer than
eight. The images are in one random order, so what a setting has seen is always the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policrf.execution.executor import Advance, Workers
from policrf.types import FloatArray, IntArray
from policrf.vision.calibration.choice import Folds, Scored
from policrf.vision.calibration.counting import Item
from policrf.vision.calibration.journal import Journal, digest
from policrf.vision.calibration.scores import (
    Chosen,
    Counts,
    errors,
    scores,
    scores_without,
)
from policrf.vision.calibration.stages import energy_key
from policrf.vision.energy.weights import Energy

LEAST = 16  # images of the first part
DROP = 2.0  # standard errors below the best
FINALISTS = 8  # settings of a stage that halving leaves alone


@dataclass
class Row:
    """A setting with its counts on the first m images."""

    stage: str
    energy: Energy
    counts: IntArray
    """`[m, 2, L]`: hits and predicted pixels."""


class Search:
    """All settings that were tried on some images.

    Parameters
    ----------
    workers
        Run `count_item`.
    positions
        The images in random order.
    truth
        Pixels of every label on them, `[n, L]`.
    classes
        The labels that count, `[L]`.
    folds
        The fold of every image, `[n]`.
    """

    def __init__(
        self,
        workers: Workers[Item, IntArray],
        positions: Sequence[int],
        truth: IntArray,
        classes: Chosen,
        folds: Folds,
        *,
        journal: Journal,
        advance: Advance,
    ) -> None:
        self.workers, self.positions, self.truth = workers, list(positions), truth
        self.classes, self.folds = classes, folds
        self.journal, self.advance = journal, advance
        self.rows: dict[str, Row] = {}

    def run(self, stage: str, energies: Sequence[Energy], *, stop_early: bool = True) -> None:
        """Score all settings that are new."""
        count = len(self.positions)
        blank = np.zeros((0, 2, self.truth.shape[1]), np.int64)
        keys = list(dict.fromkeys(energy_key(e) for e in energies))
        known = {energy_key(e): e for e in energies}
        alive = [key for key in keys if not self._finished(key)]
        for key in alive:
            self.rows[key] = Row(stage, known[key], blank)
        start = 0
        for stop in _parts(count) if stop_early else [count]:
            self._extend(stage, alive, start, stop)
            if stop < count:
                alive = self._survivors(alive, stop)
            start = stop

    def averaged(self, energies: Sequence[Energy]) -> FloatArray:
        """The score of every energy's temperature, `[S]`."""
        counts = self._pass("temperature", energies, 0, len(self.positions), averaged=True)
        return scores(self._counts(list(counts)))

    def scored(self) -> Scored:
        """The settings that have seen all images, the net alone first."""
        rows = self.finished()
        return Scored([row.energy for row in rows], self._counts([r.counts for r in rows]),
                      self.folds)  # fmt: skip

    def finished(self) -> list[Row]:
        """The rows of those settings, in the order they were tried."""
        return [row for key, row in self.rows.items() if self._finished(key)]

    def compared(self, row: Row, net: Row) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Scores of a setting and the net on the images that it has seen, errors, and of pairs."""
        pair = self._counts([row.counts, net.counts[: len(row.counts)]])
        without = scores_without(pair)
        return scores(pair), errors(without), errors(without, without[1])

    def all_classes(self, row: Row) -> float:
        """The score over all classes that occur."""
        everything = np.ones_like(self.classes)
        return float(scores(self._counts([row.counts], everything))[0])

    def _finished(self, key: str) -> bool:
        return key in self.rows and len(self.rows[key].counts) == len(self.positions)

    def _counts(self, counts: Sequence[IntArray], classes: Chosen | None = None) -> Counts:
        chosen = self.classes if classes is None else classes
        joined = np.stack(counts)[..., chosen]
        truth = self.truth[: joined.shape[1], chosen]
        return Counts(joined[:, :, 0], joined[:, :, 1], truth)

    def _extend(self, stage: str, keys: Sequence[str], start: int, stop: int) -> None:
        counts = self._pass(stage, [self.rows[key].energy for key in keys], start, stop)
        for key, more in zip(keys, counts, strict=True):
            row = self.rows[key]
            row.counts = np.concatenate([row.counts[:start], more])

    def _survivors(self, alive: Sequence[str], stop: int) -> list[str]:
        """The better half of those that may still be the best; at least one."""
        if not alive:
            return []
        others = [row.counts[:stop] for row in self.finished()]
        seen = self._counts([self.rows[key].counts for key in alive] + others)
        values, without = scores(seen), scores_without(seen)
        best = int(values.argmax())
        worse = values - values[best] < -DROP * errors(without, without[best])
        order = np.argsort(-values[: len(alive)], kind="stable")
        keep = [int(s) for s in order if not worse[s]] or [int(order[0])]
        keep = keep[: max(FINALISTS, (len(alive) + 1) // 2)]
        return [alive[s] for s in sorted(keep)]

    def _pass(
        self, stage: str, energies: Sequence[Energy], start: int, stop: int, averaged: bool = False
    ) -> IntArray:
        """Counts `[S, images, 2, L]` on the images from start to stop."""
        shape = len(energies), self.truth.shape[1]
        name = digest("\n".join([str(averaged), *(energy_key(e) for e in energies)]))
        positions = self.positions[start:stop] if energies else []
        known = {p: self.journal.get((name, p), shape) for p in positions}
        items = [Item(p, tuple(energies), averaged) for p in positions if known[p] is None]
        fresh = self.workers.each(items)
        found = np.zeros((stop - start, shape[0], 2, shape[1]), np.int64)
        for at in range(stop - start):
            if positions:
                kept = known[positions[at]]
                if kept is None:
                    kept = next(fresh)
                    self.journal.add((name, positions[at]), kept)
                found[at] = kept
            self.advance(stage)
        return np.ascontiguousarray(found.swapaxes(0, 1))


def _parts(count: int) -> list[int]:
    """How many images have been seen after each part."""
    return sorted({*(count // d for d in (8, 4, 2) if count // d >= LEAST), count})
