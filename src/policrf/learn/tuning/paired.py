"""Paired differences: the same instance solved in two ways, and what their mean tells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policrf.types import FloatArray

LEAST = 10  # held-out instances without which nothing is said to have won
LEVEL = 0.95  # of the one-sided test, and of the two-sided interval that is shown
CLIP = 3 * 1.4826  # median deviations in three standard deviations of a normal distribution
FAR = 1e6  # what a difference between a finite and an infinite energy counts, a node


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences with half of its 95 % interval."""

    mean: float
    half: float
    """NaN for fewer than two pairs."""
    limit: float
    """The true mean is below this with 95 % confidence (one-sided)."""
    count: int
    plain: float
    """The mean before any clipping."""

    @property
    def wins(self) -> bool:
        """Whether the first way is lower by more than noise."""
        return self.count >= LEAST and self.limit < 0 and self.plain < 0

    @property
    def loses(self) -> bool:
        """Whether it is higher by more than noise, by the two-sided interval."""
        return self.count >= 2 and self.mean - self.half > 0

    def __str__(self) -> str:
        return f"{self.mean:+.3g} ± {self.half:.2g}"


def difference(
    energies: Sequence[float], others: Sequence[float], *, clipped: bool = False
) -> Difference:
    """Of `energies` less `others`, by instance; equal ones differ by 0, infinite ones too.

    `clipped` brings outliers to 3 standard deviations, as the median deviation tells them, from the
    median: a solve that lost its few milliseconds to the machine says nothing about its numbers.
    A difference between a finite and an infinite energy is never clipped.
    """
    from scipy.stats import t as student

    pairs = np.array([_minus(a, b) for a, b in zip(energies, others, strict=True)])
    count, plain = len(pairs), float(np.mean(pairs)) if len(pairs) else math.nan
    if count < 2:
        return Difference(plain, math.nan, math.nan, count, plain)
    if clipped:
        pairs = _clip(pairs)
    mean = float(np.mean(pairs))
    error = float(np.std(pairs, ddof=1)) / math.sqrt(count)
    half = float(student.ppf((1 + LEVEL) / 2, count - 1)) * error
    limit = mean + float(student.ppf(LEVEL, count - 1)) * error
    return Difference(mean, half, limit, count, plain)


def _clip(pairs: FloatArray) -> FloatArray:
    middle = float(np.median(pairs))
    most = CLIP * float(np.median(np.abs(pairs - middle)))
    if most == 0:
        return pairs
    near = np.clip(pairs, middle - most, middle + most)
    return np.asarray(np.where(np.abs(pairs) < FAR, near, pairs))


def _minus(a: float, b: float) -> float:
    if a == b:
        return 0.0
    if math.isinf(a) or math.isinf(b):
        return FAR if a > b else -FAR
    return a - b
