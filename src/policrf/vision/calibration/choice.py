"""The choice: no more terms than help on images they were not chosen on, and a sure gain.

The rule, for some settings scored on the same images: the one whose gain over the net is surest,

    difference to the net − 2 standard errors, paired by image.

The best score is often that of a strong energy that wins a lot on some images and loses on others;
such a gain does not hold on the next images. The net alone is one of the settings, with a gain of 0
that is certain.

Hundreds of settings are tried, and the best of many noisy ones looks good by luck. Therefore the
rule itself is tried on folds, with the terms of the CRF allowed one after the other: it chooses on
the other folds and is scored on this one. A further term is allowed only where that is better by
more than one standard error: a term stays out unless it helps on images it was not chosen on. The
pixel stage, which follows any of them, is left to the rule. Last, all of this is tried on folds
once more: where it does not gain more than a standard error, the choice is the net alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from policrf.vision.calibration.scores import Counts, errors, scores, scores_without
from policrf.vision.calibration.stages import TERMS, Terms, crf_terms
from policrf.vision.energy.weights import Energy

Folds = NDArray[np.int64]
SURE = 2.0  # standard errors between a gain and the bound it is chosen by


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

    def families(self) -> dict[Terms, list[int]]:
        """The settings with no terms of the CRF but the first t, for every t that adds some."""
        found: dict[Terms, list[int]] = {}
        each = [crf_terms(energy) for energy in self.energies]
        order = [term for term in TERMS.values() if any(term in its for its in each)]
        for t in range(len(order) + 1):
            allowed = set(order[:t])
            members = [s for s, its in enumerate(each) if allowed.issuperset(its)]
            if not found or len(members) > len(next(reversed(found.values()))):
                found[tuple(order[:t])] = members
        return found


Rule = Callable[[Scored], int]


def assign_folds(images: int, folds: int) -> Folds:
    """The fold of each of n images, which are in random order already."""
    return np.arange(images, dtype=np.int64) % max(1, min(folds, images))


def choose(scored: Scored) -> int:
    """The chosen setting."""
    families = list(scored.families().values())
    fitted = _by_folds(scored, [partial(surest, members=members) for members in families])
    values, without = scores(fitted), scores_without(fitted)
    best = int(values.argmax())
    near = values[best] - values <= errors(without, without[best])
    near[best] = True  # also where no error can be had
    return surest(scored, families[int(np.flatnonzero(near)[0])])


def choose_confirmed(scored: Scored) -> int:
    """The chosen setting if choosing gains more than a standard error on folds; else the net."""
    estimate = fold_estimate(scored)
    return choose(scored) if estimate.difference > estimate.error else 0


def surest(scored: Scored, members: list[int]) -> int:
    """The one of some settings with the highest lower bound of its gain over the net."""
    counts = scored.counts.settings([0, *members])
    values, without = scores(counts), scores_without(counts)
    bound = values - values[0] - SURE * errors(without, without[0])
    # Its gain is 0 whatever the error, also where no error can be had.
    at_net = [k for k, member in enumerate(members, start=1) if member == 0]
    bound[at_net] = 0.0
    return members[int(bound[1:].argmax())]


def fold_estimate(scored: Scored) -> Estimate:
    """What choosing gives on folds that it does not choose on."""
    fitted = _by_folds(scored, [choose])
    return _against_net(scored, fitted.hits[0], fitted.predicted[0])


def family_estimates(scored: Scored) -> dict[Terms, Estimate]:
    """What the rule gives on such folds, with the first terms allowed."""
    families = scored.families()
    rules = [partial(surest, members=members) for members in families.values()]
    fitted = _by_folds(scored, rules)
    return {
        terms: _against_net(scored, fitted.hits[k], fitted.predicted[k])
        for k, terms in enumerate(families)
    }


def _by_folds(scored: Scored, rules: Sequence[Rule]) -> Counts:
    """Counts `[rules, n, L]`: on every fold, of what a rule chooses on the others."""
    counts = scored.counts
    shape = (len(rules), *counts.truth.shape)
    hits, predicted = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for fold in np.unique(scored.folds):
        inside = np.flatnonzero(scored.folds == fold)
        outside = np.flatnonzero(scored.folds != fold)
        rest = scored.on(outside)
        for k, rule in enumerate(rules):
            chosen = rule(rest) if len(outside) else 0
            hits[k, inside] = counts.hits[chosen, inside]
            predicted[k, inside] = counts.predicted[chosen, inside]
    return Counts(hits, predicted, counts.truth)


def _against_net(scored: Scored, hits: NDArray[np.int64], predicted: NDArray[np.int64]) -> Estimate:
    net = scored.counts.settings([0])
    pair = Counts(np.stack([hits, net.hits[0]]), np.stack([predicted, net.predicted[0]]), net.truth)
    values, without = scores(pair), scores_without(pair)
    error = errors(without, without[1])[0]
    return Estimate(float(values[0]), float(values[0] - values[1]), float(error))
