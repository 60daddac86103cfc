"""Simulated annealing (Kirkpatrick et al. 1983): relabels and exchanges at a falling temperature.

A proposal that changes the energy by Δ is accepted with probability exp(−Δ / T). T falls
geometrically from `hot` to `cold`, both in units of the mean size of a random relabel's change, so
that the energy's scale does not matter. Every run ends in a local minimum (ICM). Runs follow each
other, each twice as long as the one before and from where it ended, while there is time.

An exchange gives two nodes of a clique, or the two ends of an edge, each other's label: terms that
count labels do not see it, and parities, which every single relabel breaks, are kept.
"""

from __future__ import annotations

import math
import time

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.custom_call import raise_if_failed
from policrf.crf.energy import State, load_labels, new_state, relabel, relabel_change
from policrf.errors import InvalidOption
from policrf.random_numbers import Generator, below, new_generator, uniform
from policrf.solvers.moves.icm import relabel_single_nodes
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.run import Run

SLICE = 0.005  # seconds of proposals between two looks at the clock
PROBES = 200  # random relabels whose mean change is the unit of the temperature


def annealing(
    run: Run, *, sweeps: int = 100, runs: int = 4, hot: float = 0.5, cold: float = 0.03,
    exchanges: float = 0.2,
) -> None:  # fmt: skip
    """Relabel nodes at random, uphill too, at a temperature that falls until only descent is left.

    Parameters
    ----------
    sweeps
        Proposals a node in the first run; each further run is twice as long.
    runs
        How many runs; with `seconds` as many as there is time for, the last one cut to fit.
    hot
        Temperature at first, in units of the mean size of a random relabel's change.
    cold
        Temperature in the end, in the same units.
    exchanges
        Share of the proposals that exchange two nodes' labels.
    """
    require_whole_numbers(sweeps=sweeps, runs=runs)
    if not hot >= cold > 0 or not 0 <= exchanges <= 1:
        raise InvalidOption("annealing needs hot ≥ cold > 0, and exchanges from 0 to 1")
    arrays, n_nodes = run.crf.arrays, run.crf.n_nodes
    if run.expired():
        return
    state = new_state(arrays)
    load_labels(arrays, state, run.start_labels())
    generator = new_generator(run.seed)
    unit = mean_change(arrays, state, generator, PROBES)
    raise_if_failed()
    number, speed = 0, 0.0
    run.info["runs"] = 0
    while not run.expired() and (run.seconds is not None or number < runs):
        proposals = n_nodes * sweeps * 2**number
        if speed > 0 and run.seconds is not None:
            proposals = max(n_nodes, min(proposals, int(0.9 * run.remaining() * speed)))
        began, done = time.perf_counter(), 0
        size = max(100, int(speed * SLICE)) if speed else 1000
        while done < proposals and not run.expired():
            share = done / proposals
            temperature = unit * hot * (cold / hot) ** share
            count = min(size, proposals - done)
            propose(arrays, state, generator, temperature, exchanges, count)
            raise_if_failed()
            done += count
            if not speed and time.perf_counter() - began > SLICE:
                speed = done / (time.perf_counter() - began)
                size = max(100, int(speed * SLICE))
        speed = done / max(time.perf_counter() - began, 1e-9)
        relabel_single_nodes(run, state, np.arange(n_nodes))
        run.offer(state.labels)
        number += 1
        run.info["runs"] = number


@leaf
def mean_change(a: Arrays, s: State, generator: Generator, count: int) -> float:
    """The mean size of the finite changes of `count` random relabels; 1 where there are none."""
    total, finite = 0.0, 0
    for _ in range(count):
        i = below(generator, len(s.labels))
        label = below(generator, a.cardinalities[i])
        if label != s.labels[i]:
            change = relabel_change(a, s, i, label)
            if math.isfinite(change) and change != 0.0:
                total += abs(change)
                finite += 1
    return total / finite if finite else 1.0


@leaf
def propose(
    a: Arrays, s: State, generator: Generator, temperature: float, exchanges: float, count: int
) -> None:
    """`count` proposals at one temperature."""
    n_nodes = len(s.labels)
    for _ in range(count):
        i = below(generator, n_nodes)
        if exchanges > 0 and uniform(generator) < exchanges:
            exchange(a, s, generator, temperature, i)
            continue
        label = below(generator, a.cardinalities[i])
        if label == s.labels[i]:
            continue
        change = relabel_change(a, s, i, label)
        if change <= 0 or uniform(generator) < math.exp(-change / temperature):
            relabel(a, s, i, label)


@inner
def exchange(a: Arrays, s: State, generator: Generator, temperature: float, i: int) -> None:
    """Offer node i and a random node of its cliques, or next to it, each other's label."""
    j = i
    cliques, edges = a.node_ptr[i + 1] - a.node_ptr[i], a.adj_ptr[i + 1] - a.adj_ptr[i]
    if cliques > 0:
        c = a.node_clique[a.node_ptr[i] + below(generator, cliques)]
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        j = a.clique_nodes[a.clique_ptr[c] + below(generator, size)]
    elif edges > 0:
        j = a.adj_node[a.adj_ptr[i] + below(generator, edges)]
    first, second = s.labels[i], s.labels[j]
    if first == second or second >= a.cardinalities[i] or first >= a.cardinalities[j]:
        return
    forbidden, total = s.forbidden[0], s.total[0]
    relabel(a, s, i, second)
    relabel(a, s, j, first)
    change = s.total[0] - total
    worse = s.forbidden[0] > forbidden
    if worse or (
        s.forbidden[0] == forbidden
        and change > 0
        and uniform(generator) >= math.exp(-change / temperature)
    ):
        relabel(a, s, j, second)
        relabel(a, s, i, first)
