"""The first part: a noisy picture, the lowest energy of its grid, and the proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import policrf as pc
from policrf.types import FloatArray, IntArray, Solution

SHAPE = (96, 144)
LEVELS = 4
NOISE = 1.0  # standard deviation, in levels


@dataclass(frozen=True, eq=False)
class Denoised:
    """A picture of grey levels `[H, W]`, with noise, and as the CRF has it."""

    truth: IntArray
    noisy: FloatArray
    solution: Solution

    @property
    def labels(self) -> IntArray:
        """The answer as a picture."""
        return self.solution.labels.reshape(self.truth.shape)

    @property
    def wrong_before(self) -> float:
        """Share of pixels whose nearest level is not the true one."""
        nearest = np.clip(np.rint(self.noisy), 0, LEVELS - 1)
        return float(np.mean(nearest != self.truth))

    @property
    def wrong_after(self) -> float:
        """Share of pixels that the answer has wrong."""
        return float(np.mean(self.labels != self.truth))


def show_denoising(seed: int) -> Denoised:
    """Noise on a picture, taken off again."""
    rng = np.random.default_rng(seed)
    truth = _picture()
    noisy = truth + rng.normal(0.0, NOISE, SHAPE)
    denoise(noisy[:8, :8])  # kernels are not a part of its time
    return Denoised(truth, noisy, denoise(noisy))


def denoise(noisy: FloatArray) -> Solution:
    """The lines that the page shows."""
    levels = np.arange(LEVELS)
    unary = (noisy[..., None] - levels) ** 2 / 2  # [height, width, labels]
    crf = pc.grid(unary, weights=0.9)  # neighbours with different levels pay 0.9
    return pc.solve(crf, "exact", seconds=20)


def _picture() -> IntArray:
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    picture = np.zeros(SHAPE, np.int64)
    picture[(x - 45) ** 2 + (y - 44) ** 2 < 900] = 1
    picture[(x > 80) & (y > 25) & (y < 80)] = 2
    picture[(x > 95) & (x < 125) & (y > 38) & (y < 68)] = 3
    return picture
