"""The choice: the simplest energy within one standard error of the best, and what it is worth.

Hundreds of settings are tried, so the best of many noisy ones looks good by luck. Therefore *kinds*
of energies (sets of terms) are compared by cross-fitting: for every fold of the images, a kind's
best setting on the other folds is scored on this one. The simplest kind within one standard error
of the best kind is taken: a term stays out unless it helps beyond noise. Among its settings, those
within one standard error of the best are equals, and the smallest weights win.

`fold_estimate` says what that whole rule is worth on images it has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from policrf.vision.calibration.scores import Counts, errors, scores, scores_without
from policrf.vision.calibration.stages import Terms, complexity, same_form, strength, terms_of
from policrf.vision.energy_weights import Energy

Folds = NDArray[np.int64]


@dataclass(frozen=True)
class Estimate:
    """A score with its paired difference to the net alone."""

    score: float
    difference: float
    error: float
    """Standard error of the difference."""


@dataclass(frozen=True, eq=False)
class Scored:
    """S energies with their counts on the same n images; the first is the net alone."""

    energies: Sequence[Energy]
    counts: Counts
    folds: Folds
    """`[n]`: the fold of every image."""

    def on(self, images: NDArray[np.int64]) -> Scored:
        """The same on some images."""
        return Scored(self.energies, self.counts.on(images), self.folds[images])

    def only(self, chosen: list[int]) -> Scored:
        """Some settings; the net alone stays the first only if it is asked for."""
        energies = [self.energies[s] for s in chosen]
        return Scored(energies, self.counts.settings(chosen), self.folds)

    def kinds(self) -> dict[Terms, list[int]]:
        """The settings of every kind, the simplest kind first."""
        found: dict[Terms, list[int]] = {}
        for s, energy in enumerate(self.energies):
            found.setdefault(terms_of(energy), []).append(s)
        return dict(sorted(found.items(), key=lambda item: complexity(item[0])))


def assign_folds(images: int, folds: int) -> Folds:
    """The fold of each of n images, which are in random order already."""
    return np.arange(images, dtype=np.int64) % max(1, min(folds, images))


def choose(scored: Scored) -> int:
    """The chosen setting."""
    kinds = scored.kinds()
    fitted = _cross_fitted(scored, list(kinds.values()))
    values, without = scores(fitted), scores_without(fitted)
    best = int(values.argmax())
    near = values[best] - values <= errors(without, without[best])
    near[best] = True  # also where no error can be had
    simplest = list(kinds)[int(np.flatnonzero(near)[0])]
    return _smallest(scored, kinds[simplest])


def fold_estimate(scored: Scored) -> Estimate:
    """What the rule gives on folds that it does not choose on."""
    hits, predicted = np.zeros_like(scored.counts.hits[0]), np.zeros_like(scored.counts.hits[0])
    for fold in np.unique(scored.folds):
        inside = np.flatnonzero(scored.folds == fold)
        outside = np.flatnonzero(scored.folds != fold)
        chosen = choose(scored.on(outside)) if len(outside) else 0
        hits[inside] = scored.counts.hits[chosen, inside]
        predicted[inside] = scored.counts.predicted[chosen, inside]
    return _against_net(scored, hits, predicted)


def kind_estimates(scored: Scored) -> dict[Terms, Estimate]:
    """The cross-fitted score of every kind."""
    kinds = scored.kinds()
    fitted = _cross_fitted(scored, list(kinds.values()))
    return {
        terms: _against_net(scored, fitted.hits[k], fitted.predicted[k])
        for k, terms in enumerate(kinds)
    }


def _cross_fitted(scored: Scored, kinds: Sequence[list[int]]) -> Counts:
    """Counts `[kinds, n, L]` of each kind's best setting on the other folds."""
    counts = scored.counts
    shape = (len(kinds), *counts.truth.shape)
    hits, predicted = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for fold in np.unique(scored.folds):
        inside = np.flatnonzero(scored.folds == fold)
        outside = np.flatnonzero(scored.folds != fold)
        values = scores(counts.on(outside))
        for k, members in enumerate(kinds):
            best = members[int(values[members].argmax())]
            hits[k, inside] = counts.hits[best, inside]
            predicted[k, inside] = counts.predicted[best, inside]
    return Counts(hits, predicted, counts.truth)


def _smallest(scored: Scored, members: list[int]) -> int:
    """The smallest weights within one standard error of the best of some settings."""
    counts = scored.counts.settings(members)
    values, without = scores(counts), scores_without(counts)
    best = int(values.argmax())
    near = values[best] - values <= errors(without, without[best])
    near[best] = True
    winner = scored.energies[members[best]]
    equals = [s for s, ok in zip(members, near, strict=True)
              if ok and same_form(scored.energies[s], winner)]  # fmt: skip
    return min(equals, key=lambda s: strength(scored.energies[s]))


def _against_net(scored: Scored, hits: NDArray[np.int64], predicted: NDArray[np.int64]) -> Estimate:
    net = scored.counts.settings([0])
    pair = Counts(np.stack([hits, net.hits[0]]), np.stack([predicted, net.predicted[0]]), net.truth)
    values, without = scores(pair), scores_without(pair)
    error = errors(without, without[1])[0]
    return Estimate(float(values[0]), float(values[0] - values[1]), float(error))
