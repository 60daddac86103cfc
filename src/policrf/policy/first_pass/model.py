"""FirstPass: the weights of a first pass, and labels by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from policrf.crf.arrays import PARTIAL, Arrays
from policrf.crf.potentials import COMPLETE, CUSTOM
from policrf.errors import InvalidOption
from policrf.policy.first_pass.kernel import (
    BIAS,
    FIRST,
    INPUTS,
    N_WEIGHTS,
    PAIR,
    UNITS,
    D,
    label_once,
    prepare,
)
from policrf.solvers.edges_first import order_by_lead
from policrf.solvers.run import Run
from policrf.types import BoolArray, FloatArray, IntArray

MOST_PASSES = 4
SLICE = 4096  # nodes between two looks at the clock


class Prepared(NamedTuple):
    """What a pass needs of a CRF, whatever its weights."""

    arrays: Arrays
    used: BoolArray  # [C]; cliques that the network looks at
    order: IntArray  # [N]
    demand: FloatArray  # [C, L]
    rank: FloatArray  # [C, L]


def looked_at(arrays: Arrays) -> BoolArray:
    """Which cliques `[C]` the network looks at: those that are asked half-way, or are opaque."""
    return np.asarray((arrays.custom[:, PARTIAL] != COMPLETE) | (arrays.clique_kind >= CUSTOM))


def prepared(arrays: Arrays) -> Prepared:
    """Demands, ranks and the order of the nodes."""
    shape = (len(arrays.clique_kind), arrays.unary.shape[1])
    used = looked_at(arrays)
    order = order_by_lead(arrays.unary)
    found = Prepared(arrays, used, order, np.zeros(shape), np.zeros(shape))
    prepare(arrays, used, found.demand, found.rank)
    return found


@dataclass(frozen=True, eq=False)
class FirstPass:
    """Weights of `kernel.label_once` for every pass, `[passes, N_WEIGHTS]`."""

    weights: FloatArray

    def __post_init__(self) -> None:
        # Files hold float32: what is read is what was judged.
        weights = np.ascontiguousarray(self.weights, np.float32).astype(np.float64)
        passes = weights.shape[0] if weights.ndim == 2 else 0
        if weights.shape != (passes, N_WEIGHTS) or not 1 <= passes <= MOST_PASSES:
            raise InvalidOption(f"first passes have {N_WEIGHTS} weights each, not {weights.shape}")
        if not np.isfinite(weights).all():
            raise InvalidOption("first passes have finite weights only")
        object.__setattr__(self, "weights", weights)

    @staticmethod
    def untrained(seed: int = 0, passes: int = 1) -> FirstPass:
        """Unaries and edges only: the output is zero, the hidden layer is random."""
        rng, weights = np.random.default_rng(seed), np.zeros((passes, N_WEIGHTS))
        weights[:, PAIR] = 1.0
        weights[:, FIRST:BIAS] = rng.normal(size=(passes, UNITS * D)) / np.sqrt(len(INPUTS))
        weights[:, BIAS : BIAS + UNITS] = 0.3 * rng.normal(size=(passes, UNITS))
        return FirstPass(weights)

    @property
    def size(self) -> int:
        """How many weights there are."""
        return int(self.weights.size)

    def label(self, run: Run) -> IntArray:
        """Offer the labels `[N]` of the run's CRF, and return them."""
        labels = run.start_labels()
        if not run.expired():
            found = self.labels(prepared(run.crf.arrays), run.expired)
            found = np.where(found < 0, labels, found)
            forbidden = np.isinf(run.crf.unary[np.arange(len(found)), found])
            labels = np.where(forbidden, labels, found)
        run.offer(labels)
        return labels

    def labels(self, of: Prepared, expired: Callable[[], bool] = lambda: False) -> IntArray:
        """Labels `[N]`, given by the first pass, and anew by every further one; −1: no time."""
        a = of.arrays
        n_nodes, n_labels = a.unary.shape
        labels = np.full(n_nodes, -1, np.int64)
        counts = np.zeros((len(of.used), n_labels + 2), np.int64)
        costs, x = np.empty(n_labels), np.zeros(D)
        for weights, first in product(self.weights, range(0, n_nodes, SLICE)):
            if expired():
                break
            nodes = of.order[first : first + SLICE]
            label_once(a, of.used, nodes, weights, of.demand, of.rank, counts, costs, x, labels)
        return labels
