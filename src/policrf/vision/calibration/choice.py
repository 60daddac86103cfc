"""The choice: the simplest energy within one standard error of the best, and what it is worth.

The rule, for some settings scored on the same images: those whose paired difference to the best is
within one standard error are its equals; of these the fewest terms win, then the smallest weights.

Hundreds of settings are tried, and the best of many noisy ones looks good by luck, also by more
than one standard error. Therefore the rule itself is tried on folds, with the terms allowed one
after the other: it chooses on the other folds and is scored on this one. A further term is allowed
only where that is better by more than one standard error: a term stays out unless it helps on
images it was not chosen on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from policrf.vision.calibration.scores import Counts, errors, scores, scores_without
from policrf.vision.calibration.stages import (
    TERMS,
    Terms,
    complexity,
    same_form,
    strength,
    terms_of,
)
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

    def families(self) -> dict[Terms, list[int]]:
        """The settings with no terms but the first t, for every t that adds some."""
        found: dict[Terms, list[int]] = {}
        order = list(TERMS.values())
        for t in range(len(order) + 1):
            allowed = set(order[:t])
            members = [s for s, e in enumerate(self.energies) if allowed.issuperset(terms_of(e))]
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
    fitted = _by_folds(scored, [partial(simplest, members=members) for members in families])
    values, without = scores(fitted), scores_without(fitted)
    best = int(values.argmax())
    near = values[best] - values <= errors(without, without[best])
    near[best] = True  # also where no error can be had
    return simplest(scored, families[int(np.flatnonzero(near)[0])])


def simplest(scored: Scored, members: list[int]) -> int:
    """The simplest of some settings within one standard error of the best of them."""
    counts = scored.counts.settings(members)
    values, without = scores(counts), scores_without(counts)
    best = int(values.argmax())
    near = values[best] - values <= errors(without, without[best])
    near[best] = True
    equals = [m for m in range(len(members)) if near[m]]
    terms = [terms_of(scored.energies[members[m]]) for m in equals]
    fewest = min(terms, key=complexity)
    equals = [m for m, its in zip(equals, terms, strict=True) if its == fewest]
    # Weights of different forms cannot be compared: the best of them says which form.
    form = scored.energies[members[max(equals, key=lambda m: values[m])]]
    alike = [members[m] for m in equals if same_form(scored.energies[members[m]], form)]
    return min(alike, key=lambda s: strength(scored.energies[s]))


def fold_estimate(scored: Scored) -> Estimate:
    """What choosing gives on folds that it does not choose on."""
    fitted = _by_folds(scored, [choose])
    return _against_net(scored, fitted.hits[0], fitted.predicted[0])


def family_estimates(scored: Scored) -> dict[Terms, Estimate]:
    """What the rule gives on such folds, with the first terms allowed."""
    families = scored.families()
    rules = [partial(simplest, members=members) for members in families.values()]
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
