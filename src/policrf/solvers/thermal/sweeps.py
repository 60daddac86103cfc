"""Sweeps at a falling temperature over kept costs: every node in turn, all its labels at once.

A node leaves its label with the probability of the metropolised Gibbs sampler (Liu 1996): another
label l is drawn in proportion to exp(−cost / T) and accepted with min(1, (1 − p_own) / (1 − p_l)).
With two labels that is Metropolis' rule, with more it is seldom refused. Nearly all looks at a node
end without an exponential: it stays when its cheapest other label costs more than its own by
−T ln(u / (L − 1)), which a table of logarithms bounds from above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.checks import frozen
from policrf.random_numbers import Generator, uniform
from policrf.solvers.thermal.kept_costs import Kept, give_label
from policrf.types import FloatArray, IntArray

STEPS = 1024  # of the table of logarithms
MOST = 60.0  # −ln of the smallest number that is drawn, about
ROUNDING = 1e-12  # of a cost: a node is not relabeled for less


class Cooling(NamedTuple):
    """How the temperature falls: geometrically, from sweep to sweep."""

    first: float
    last: float
    sweeps: int


def _log_table() -> FloatArray:
    """−ln of the lower end of every part of [0, 1) `[STEPS]`: at least −ln u of all u in it."""
    return frozen(np.concatenate([[MOST], -np.log(np.arange(1, STEPS) / STEPS)]))


LOGS = _log_table()


@leaf
def anneal(
    a: Arrays, k: Kept, generator: Generator, logs: FloatArray, cooling: Cooling, done: int,
    count: int,
) -> None:  # fmt: skip
    """The looks `done` … `done + count − 1` at nodes, N of them a sweep."""
    n_nodes = len(k.labels)
    i, temperature = done % n_nodes, 0.0
    for n in range(count):
        if n == 0 or i == n_nodes:
            i %= n_nodes
            share = (done + n) // n_nodes / cooling.sweeps
            temperature = cooling.first * (cooling.last / cooling.first) ** share
        look(a, k, generator, logs, temperature, i)
        i += 1


@inlined
def look(
    a: Arrays, k: Kept, generator: Generator, logs: FloatArray, temperature: float, i: int
) -> None:
    """Node i keeps its label or takes another one."""
    n_labels = k.costs.shape[1]
    own = k.labels[i]
    cost = k.costs[i, own]
    least = np.inf
    for label in range(n_labels):
        if label != own and k.costs[i, label] < least:
            least = k.costs[i, label]
    u = uniform(generator)
    if least - cost <= temperature * (logs[int(u * STEPS)] + math.log(max(n_labels - 1, 1))):
        label = drawn_label(k, generator, temperature, i, min(least, cost), u)
        if label != own:
            give_label(a, k, i, label)


@inner
def drawn_label(
    k: Kept, generator: Generator, temperature: float, i: int, least: float, u: float
) -> int:
    """The label that node i takes, maybe its own; `u` decides whether a drawn one is accepted."""
    own = k.labels[i]
    others = 0.0
    for label in range(k.costs.shape[1]):
        if label != own:
            others += math.exp((least - k.costs[i, label]) / temperature)
    left = uniform(generator) * others
    drawn, weight = own, 0.0
    for label in range(k.costs.shape[1]):
        if label != own and left >= 0:
            share = math.exp((least - k.costs[i, label]) / temperature)
            if share > 0:
                drawn, weight = label, share
                left -= share
    rest = others + math.exp((least - k.costs[i, own]) / temperature) - weight
    return int(drawn if u * rest < others else own)


@leaf
def settle(a: Arrays, k: Kept, cursor: IntArray, count: int) -> bool:
    """Give nodes in turn their cheapest label, `count` looks or until none changes: then True.

    `cursor` [2]: the next node, and how many looks have changed nothing.
    """
    n_nodes, n_labels = k.costs.shape
    i, unchanged = cursor[0], cursor[1]
    for _ in range(count):
        if unchanged >= n_nodes:
            break
        own = k.labels[i]
        best, least = own, k.costs[i, own] - ROUNDING * abs(k.costs[i, own])
        for label in range(n_labels):
            if k.costs[i, label] < least:
                best, least = label, k.costs[i, label]
        unchanged += 1
        if best != own:
            give_label(a, k, i, best)
            unchanged = 0
        i += 1
        if i == n_nodes:
            i = 0
    cursor[0], cursor[1] = i, unchanged
    return bool(unchanged >= n_nodes)
