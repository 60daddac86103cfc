"""Evolution strategies on the energy of the labels that first passes give.

Pairs of opposite perturbations, the ranks of their energies instead of these, Adam, and the best
weights on instances set aside (Salimans et al. 2017). A pass over a few hundred nodes takes a
fraction of a millisecond, so that thousands are tried in some seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from policrf.compiled import compile_seconds
from policrf.crf.model import CRF
from policrf.policy.first_pass.model import FirstPass, prepared
from policrf.types import FloatArray, IntArray

PAIRS = 8  # perturbations of a step, either way
NODES, TRIALS = 1500, 6  # that they are tried on, about, and instances, at most
SIGMA, RATE = 0.3, 0.1  # less of either stays on the plateau around unaries and edges
CHECKED = 5  # steps between two looks at the instances set aside
ASIDE, MOST_ASIDE = 0.25, 16  # of the instances, to choose the best weights by
DEAREST = 0.1  # of the seconds: a step that takes longer is not begun
Report = Callable[[dict[str, Any]], None]


class Evolved(NamedTuple):
    """What evolution ends with."""

    first_pass: FirstPass
    steps: int
    start: float
    """Mean energy on the instances set aside before any step: unaries and edges only."""
    energy: float


def evolve_pass(
    crfs: Sequence[CRF], *, passes: int = 2, seconds: float = 20.0, seed: int = 0,
    begin: FirstPass | None = None, report: Report | None = None,
) -> Evolved:  # fmt: skip
    """Weights for CRFs like these.

    Parameters
    ----------
    crfs
        Four or more; a quarter of them is set aside.
    passes
        How often every node is labeled.
    seconds
        By the clock, which `cpu_budgets` makes one of CPU time.
    seed
        Of everything random.
    begin
        What to begin with, instead of unaries and edges only; its number of passes counts.
    report
        Called now and then.
    """
    started = time.perf_counter() - compile_seconds()
    rng, ready = np.random.default_rng(seed), [prepared(crf.arrays) for crf in crfs]
    aside = max(1, min(MOST_ASIDE, int(ASIDE * len(crfs))))
    tried, chosen_by = len(crfs) - aside, np.arange(len(crfs) - aside, len(crfs))
    a_step = min(TRIALS, tried, max(1, round(NODES * len(crfs) / sum(c.n_nodes for c in crfs))))
    first = FirstPass.untrained(seed, passes) if begin is None else begin
    passes = len(first.weights)

    def elapsed() -> float:
        """Seconds so far; those for compiling kernels do not count."""
        return time.perf_counter() - compile_seconds() - started

    def energy(vector: FloatArray, places: IntArray) -> float:
        found = FirstPass(vector.reshape(passes, -1))
        return float(np.mean([_energy(found, crfs[k], ready[k]) for k in places]))

    vector = first.weights.reshape(-1).copy()
    energy(vector, chosen_by[:1])  # the first one is slow: kernels are loaded
    begun = time.perf_counter()
    best, least = vector.copy(), energy(vector, chosen_by)
    start, step, one_step = least, 0, 2 * PAIRS * a_step * (time.perf_counter() - begun) / aside
    mean, square = np.zeros_like(vector), np.zeros_like(vector)
    while one_step < DEAREST * seconds and elapsed() < seconds:
        step += 1
        places = rng.choice(tried, a_step, replace=False)
        noise = rng.normal(size=(PAIRS, len(vector)))
        tries = np.concatenate([vector + SIGMA * noise, vector - SIGMA * noise])
        ranks = np.argsort(np.argsort([energy(one, places) for one in tries])) / (2 * PAIRS - 1)
        gradient = (ranks[:PAIRS] - ranks[PAIRS:]) @ noise / PAIRS
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        size = np.sqrt(square / (1 - 0.99**step)) + 1e-8
        vector = vector - RATE * mean / (1 - 0.9**step) / size
        if step % CHECKED == 0 or elapsed() >= seconds:
            value = energy(vector, chosen_by)
            if value < least:
                best, least = vector.copy(), value
            if report is not None:
                report({"round": step, "seconds": elapsed(), "energy": least})
    return Evolved(FirstPass(best.reshape(passes, -1)), step, start, least)


def _energy(found: FirstPass, crf: CRF, ready: Any) -> float:
    return crf.energy(found.labels(ready))
