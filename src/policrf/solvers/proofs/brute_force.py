"""Brute force: min over all labelings, visited in the order of a reflected mixed-radix Gray code.

Two labelings that follow each other differ in one node (Knuth, TAOCP 4A, 7.2.1.1, Algorithm H), so
each costs one relabel of the incremental core. Labels that a unary forbids are not visited.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import ADDRESS, Arrays
from policrf.crf.changes import assign, load_labels, unassign
from policrf.crf.energy import N_TERMS, energy_terms
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import CustomPotentialFailed, TooLarge
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import BoolArray, FloatArray, IntArray

# Labelings a kernel call visits; its state is rebuilt after, so rounding cannot add up.
STEPS = 1 << 14
PYTHON_STEPS = 1 << 8  # with Custom terms, which may be slow Python functions


class Odometer(NamedTuple):
    """Where the enumeration stands. K nodes have a choice."""

    nodes: IntArray  # [K]
    choices: IntArray  # [K, L]; the allowed labels of each, in ascending order
    radix: IntArray  # [K]; how many of them, at least 2
    digits: IntArray  # [K]; the current choice
    focus: IntArray  # [K + 1]; focus[0] is the next node to change, K when all is done
    direction: IntArray  # [K]; ±1


@declares(limit="up to `limit` labelings", proves="the minimum")
def brute_force(run: Run, *, limit: int = 2**22) -> None:
    """Visit every labeling and keep the one of lowest energy.

    Parameters
    ----------
    limit
        Largest number of labelings; a CRF with more is refused (`TooLarge`), before any work.
    """
    require_whole_numbers(limit=limit)
    allowed = np.isfinite(run.crf.unary)
    count = math.prod(int(k) for k in allowed.sum(axis=1))
    if count > limit:
        raise TooLarge(
            f"brute_force: {_power(count)} labelings, more than limit={limit}; "
            "try exact, or a larger limit"
        )
    arrays = run.crf.arrays
    state = new_state(arrays)
    odometer, labels = start_odometer(allowed)
    best, best_labels = np.array([np.inf, 0.0]), labels.copy()
    steps = PYTHON_STEPS if (arrays.custom[:, ADDRESS] != 0).any() else STEPS
    visited, done = 0, False
    while not done and not run.expired():
        load_labels(arrays, state, labels)
        visited += visit(arrays, state, odometer, best, best_labels, steps)
        raise_if_failed()
        if np.isnan(state.total[0]):
            raise CustomPotentialFailed("Custom: a compiled function raised or returned NaN")
        labels = state.labels.copy()
        done = bool(odometer.focus[0] == len(odometer.nodes))
        if best[0] < run.energy:
            run.offer(best_labels)
    if done:
        run.offer(best_labels)
        run.optimal = True
        run.bound(run.energy)
    run.info["labelings"] = visited


def start_odometer(allowed: BoolArray) -> tuple[Odometer, IntArray]:
    """The first labeling of the mask `allowed` [N, L], and the odometer that stands at it."""
    counts = allowed.sum(axis=1)
    nodes = np.flatnonzero(counts > 1)
    choices = np.argsort(~allowed[nodes], axis=1, kind="stable")
    free = len(nodes)
    odometer = Odometer(
        nodes=nodes,
        choices=np.ascontiguousarray(choices, np.int64),
        radix=counts[nodes].astype(np.int64),
        digits=np.zeros(free, np.int64),
        focus=np.arange(free + 1, dtype=np.int64),
        direction=np.ones(free, np.int64),
    )
    return odometer, np.argmax(allowed, axis=1).astype(np.int64)


def _power(count: int) -> str:
    return str(count) if count < 10**9 else f"about 10^{math.log10(count):.0f}"


@kernel
def visit(a: Arrays, s: State, o: Odometer, best: FloatArray, labels: IntArray, limit: int) -> int:
    """Visit up to `limit` labelings from the state's on; `best` is (lowest, largest |total|)."""
    terms = np.empty(N_TERMS)
    free = len(o.nodes)
    for step in range(limit):
        best[1] = max(best[1], abs(s.total[0]))
        if s.forbidden[0] == 0 and not s.total[0] > best[0] + 1e-10 * best[1]:
            # Close to the best: decided by the energy itself, not by the running sum.
            energy_terms(a, s.labels, terms)
            energy = 0.0
            for t in range(N_TERMS):
                energy += terms[t]
            if energy < best[0]:
                best[0] = energy
                for i in range(len(labels)):
                    labels[i] = s.labels[i]
        k = o.focus[0]
        if k == free:
            return step + 1
        o.focus[0] = 0
        o.digits[k] += o.direction[k]
        if o.digits[k] == 0 or o.digits[k] == o.radix[k] - 1:
            o.direction[k] = -o.direction[k]
            o.focus[k] = o.focus[k + 1]
            o.focus[k + 1] = k + 1
        unassign(a, s, o.nodes[k])
        best[1] = max(best[1], abs(s.total[0]))
        assign(a, s, o.nodes[k], o.choices[k, o.digits[k]])
    return limit
