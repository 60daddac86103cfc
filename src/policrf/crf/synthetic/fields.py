"""Smooth random functions of the plane, evaluable at any point and so at any resolution.

A sum of K random cosines, h(x) = √(2/K) Σ_k cos(ω_k · x + φ_k) with ω_k ~ N(0, ℓ⁻² I), has mean 0,
variance 1 and correlation exp(−|x − x'|² / 2ℓ²) (random Fourier features of the Gaussian kernel).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policrf.crf.checks import FloatArray

N_WAVES = 24


@dataclass(frozen=True)
class SmoothField:
    """One such function."""

    frequencies: FloatArray
    """ω, `[2, K]`."""
    phases: FloatArray
    """φ, `[K]`."""

    @staticmethod
    def draw(rng: np.random.Generator, length: float) -> SmoothField:
        """A field of correlation length ℓ."""
        return SmoothField(
            rng.normal(0.0, 1.0 / length, (2, N_WAVES)), rng.uniform(0.0, 2 * np.pi, N_WAVES)
        )

    def __call__(self, points: FloatArray) -> FloatArray:
        """h at points `[n, 2]` → `[n]`."""
        waves = np.cos(points @ self.frequencies + self.phases)
        return np.asarray(waves.sum(axis=1) * np.sqrt(2.0 / N_WAVES))
