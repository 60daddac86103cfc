"""Smooth random functions of the plane, evaluable at any point and so at any resolution.

A sum of K random cosines, h(x) = √(2/K) Σ_k cos(ω_k · x + φ_k) with ω_k ~ N(0, ℓ⁻² I), has mean 0,
variance 1 and correlation exp(−|x − x'|² / 2ℓ²) (random Fourier features of the Gaussian kernel).
Its mean over a Gaussian window of width s is the same sum with each wave damped by
exp(−|ω_k|² s² / 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policrf.types import FloatArray

N_WAVES = 16
_CHUNK = 16_384
"""Points evaluated at a time, so that memory does not grow with the image."""


@dataclass(frozen=True)
class SmoothField:
    """One such function."""

    frequencies: FloatArray
    """ω, `[2, K]`."""
    phases: FloatArray
    """φ, `[K]`."""

    @staticmethod
    def draw(rng: np.random.Generator, length: float, stripes: float = 1.0) -> SmoothField:
        """A field of correlation length ℓ, `stripes` times as long in one random direction."""
        frequencies = rng.normal(0.0, 1.0 / length, (2, N_WAVES))
        frequencies[0] /= stripes
        angle = rng.uniform(0.0, np.pi)
        turn = np.asarray([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return SmoothField(turn @ frequencies, rng.uniform(0.0, 2 * np.pi, N_WAVES))

    def __call__(self, points: FloatArray, window: float = 0.0) -> FloatArray:
        """h at points `[n, 2]` → `[n]`, or its mean over a window of that width around them."""
        damping = np.exp(-0.5 * window**2 * (self.frequencies**2).sum(axis=0))
        weights = np.sqrt(2.0 / N_WAVES) * damping
        out = np.empty(len(points))
        for start in range(0, len(points), _CHUNK):
            waves = points[start : start + _CHUNK] @ self.frequencies
            waves += self.phases
            np.cos(waves, out=waves)
            out[start : start + _CHUNK] = waves @ weights
        return out
