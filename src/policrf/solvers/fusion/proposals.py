"""Labelings to merge with the current one: what single nodes would like best, or nearly so."""

from __future__ import annotations

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels
from policrf.crf.energy import label_costs
from policrf.crf.model import CRF
from policrf.crf.state import State, new_state
from policrf.types import FloatArray, IntArray


def best_others(crf: CRF, labels: IntArray) -> IntArray:
    """Every node's cheapest label beside its own, given the others' labels [N]."""
    costs = costs_of_labels(crf, labels)
    costs[np.arange(len(labels)), labels] = np.inf
    lowest = np.argmin(costs, axis=1)
    possible = np.isfinite(costs[np.arange(len(labels)), lowest])
    return np.where(possible, lowest, labels).astype(np.int64)


def drawn_near(crf: CRF, labels: IntArray, rng: np.random.Generator) -> IntArray:
    """Labels drawn by their costs given the others' labels [N]: a step of Gibbs sampling.

    The temperature is the median of what the best other label costs more.
    """
    costs = costs_of_labels(crf, labels)
    lowest = costs.min(axis=1, keepdims=True)
    stuck = ~np.isfinite(lowest[:, 0])  # whatever the node does, something forbids it
    excess = costs - np.where(stuck[:, None], 0.0, lowest)
    excess[stuck] = 0.0
    own = excess[np.arange(len(labels)), labels].copy()
    excess[np.arange(len(labels)), labels] = np.inf
    gaps = np.abs(excess.min(axis=1) - own)
    gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
    temperature = float(np.median(gaps)) if len(gaps) else 1.0
    excess[np.arange(len(labels)), labels] = own
    noise = rng.gumbel(size=excess.shape)
    drawn = np.argmin(excess / temperature - noise, axis=1)
    return np.where(stuck, labels, drawn).astype(np.int64)


def costs_of_labels(crf: CRF, labels: IntArray) -> FloatArray:
    """What every label of every node costs, given the others' labels, `[N, L]`."""
    state = new_state(crf.arrays)
    load_labels(crf.arrays, state, labels)
    costs = np.empty(crf.unary.shape)
    fill_costs(crf.arrays, state, costs)
    return costs


@kernel
def fill_costs(a: Arrays, s: State, costs: FloatArray) -> None:
    """`label_costs` of every node, into `costs` [N, L]."""
    for i in range(len(costs)):
        label_costs(a, s, i, costs[i])
