"""Rollout advantages: what an action is worth in the end, found by playing both ways to the end.

    A(s, i, l) = E(greedy from s) − E(greedy from s with node i labeled l),    z = clip(A / σ, ±1)

σ is the mean size of the differences met so far. A greedy rollout is a millisecond or two at
N = 250, so that a few steps of every episode, and a few labels of each, can be afforded: the labels
of the highest scores and the one taken. Labels that were not tried have no target (NaN).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from policrf.learn.acting import Trail
from policrf.policy.engine import Engine
from policrf.types import IntArray

SMALLEST_SCALE = 1e-6


def rollout_advantages(
    engine: Engine, trail: Trail, steps: IntArray, n_tried: int
) -> NDArray[np.float32]:
    """E(greedy) − E(greedy after the label) for some labels of the steps' nodes, `[steps, L]`.

    `n_tried` labels of a step are tried: the one taken and those of the highest scores.
    """
    crf = engine.instance.crf
    out = np.full((len(steps), crf.n_labels), np.nan, np.float32)
    state = np.full(crf.n_nodes, -1, np.int64)
    done = 0
    for row, t in enumerate(np.sort(steps)):
        state[trail.nodes[done:t]] = trail.labels[done:t]
        done = t
        node = int(trail.nodes[t])
        engine.reset(state)
        scores = engine.scores(node)
        tried = np.argsort(-scores, kind="stable")[:n_tried]
        if trail.labels[t] not in tried:
            tried[-1] = trail.labels[t]
        without = crf.energy(engine.label_all()[0])
        for label in tried[np.isfinite(scores[tried])]:
            state[node] = label
            engine.reset(state)
            out[row, label] = without - crf.energy(engine.label_all()[0])
        state[node] = -1
    return out


class Scale:
    """The mean size of the advantages met so far; what they are divided by."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def take(self, advantages: NDArray[np.float32]) -> None:
        """Count these in."""
        sizes = np.abs(advantages[np.isfinite(advantages)])
        self.total += float(sizes.sum())
        self.count += len(sizes)

    def apply(self, advantages: NDArray[np.float32]) -> NDArray[np.float32]:
        """z, NaN where nothing was tried."""
        scale = max(self.total / max(1, self.count), SMALLEST_SCALE)
        return np.asarray(np.clip(advantages / np.float32(scale), -1.0, 1.0))
