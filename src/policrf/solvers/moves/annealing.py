"""Simulated annealing (Kirkpatrick et al. 1983): relabels and exchanges at a falling temperature.

Potts edges and finite tables of any order: thermal cycles on kept costs (`solvers/thermal`), which
look at a node in some nanoseconds. All other potentials:

A proposal that changes the energy by Δ is accepted with probability exp(−Δ / T). T falls
geometrically from `hot` times the median size of a random proposal's change to `cold` times a small
one's (a fifth are smaller), so that the energy's scale does not matter. Every run ends in a local
minimum (ICM). Runs follow each other, each twice as long as the one before and from where it ended,
while there is time.

An exchange gives two nodes of a clique, or the two ends of an edge, each other's label: terms that
count labels do not see it, and parities, which every single relabel breaks, are kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels, relabel, relabel_change
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import InvalidOption
from policrf.random_numbers import Generator, below, new_generator, uniform
from policrf.solvers.feasibility.allowed_start import allowed_start
from policrf.solvers.moves.icm import relabel_single_nodes
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.pace import Pace
from policrf.solvers.run import Run
from policrf.solvers.thermal.cycles import cycle_on
from policrf.solvers.thermal.kept_costs import takes
from policrf.types import FloatArray

FIRST = 20  # proposals of the first slice
PROBE_SHARE = 0.1  # of the time left: most of it that probes may take
PROBES = 400  # random proposals whose changes set the temperatures

MOST_REPLICAS = 1000


def annealing(
    run: Run, *, sweeps: int = 100, runs: int = 4, hot: float = 0.5, cold: float = 0.12,
    exchanges: float = 0.2, replicas: int = 2, threads: int = 1,
) -> None:  # fmt: skip
    """Relabel nodes at random, uphill too, at a temperature that falls until only descent is left.

    With `seconds` it goes on until they are over. Where all terms are Potts edges and finite
    tables, what it has found by then does not depend on them.

    Parameters
    ----------
    sweeps
        Proposals a node in the first run; each further run is twice as long.
    runs
        How many runs; with `seconds` as many as there is time for, the last one cut to fit.
    hot
        Temperature at first, in units of the median size of a random proposal's change.
    cold
        Temperature in the end, in units of the size that a fifth of the changes are below.
    exchanges
        Share of the proposals that exchange two nodes' labels; none for edges and tables.
    replicas
        Labelings of edges and tables that are annealed and crossed with each other, once one has
        gone through its first 15 cycles (about 1,200 sweeps).
    threads
        How many of the replicas at the same time; the answer is the same.
    """
    require_whole_numbers(sweeps=sweeps, runs=runs, replicas=replicas, threads=threads)
    if replicas > MOST_REPLICAS:  # each has a state, made before the clock is looked at
        raise InvalidOption(f"replicas is {replicas}; it must be at most {MOST_REPLICAS}")
    if not hot > 0 or not cold > 0 or not 0 <= exchanges <= 1:
        raise InvalidOption("annealing needs hot and cold above 0, and exchanges from 0 to 1")
    arrays, n_nodes = run.crf.arrays, run.crf.n_nodes
    if run.expired():
        return
    if takes(arrays):
        most = sweeps * (2**runs - 1) if run.seconds is None else math.inf
        cycle_on(
            run, run.start_labels(), hot=hot, cold=cold, sweeps=most, replicas=replicas,
            threads=threads,
        )  # fmt: skip
        return
    state = new_state(arrays)
    load_labels(arrays, state, allowed_start(run, run.start_labels()))
    run.offer(state.labels)  # time may be out while it is hot
    generator = new_generator(run.seed)
    first, last, speed = temperatures(run, state, hot, cold)
    number = 0
    pace = Pace(run, FIRST)
    run.info["runs"] = 0
    while not run.expired() and (run.seconds is not None or number < runs):
        proposals = n_nodes * sweeps * 2**number
        if run.seconds is not None:
            proposals = max(n_nodes, min(proposals, int(0.9 * run.remaining() * speed)))
        cooling = Cooling(first, last / first, n_nodes, proposals)
        began, done = run.elapsed(), 0
        while done < proposals and not run.expired():
            count = min(pace.begin(), proposals - done)
            propose(arrays, state, generator, cooling, exchanges, done, count)
            raise_if_failed()
            done += count
            pace.end()
        speed = done / max(run.elapsed() - began, 1e-9)
        relabel_single_nodes(run, state, np.arange(n_nodes))
        run.offer(state.labels)
        number += 1
        run.info["runs"] = number


def temperatures(run: Run, state: State, hot: float, cold: float) -> tuple[float, float, float]:
    """The first and the last temperature, and proposals a second, from random proposals.

    The speed is a low estimate: the first run is to end before the time does.
    """
    sizes, generator = np.zeros(PROBES), new_generator(run.seed + 1)
    began, most, done = run.elapsed(), PROBE_SHARE * run.remaining(), 0
    while done < PROBES and (done == 0 or run.elapsed() - began < most):
        change_sizes(run.crf.arrays, state, generator, sizes[done : done + PROBES // 10])
        raise_if_failed()
        done += PROBES // 10
    speed = done / max(run.elapsed() - began, 1e-9)
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if not len(sizes):
        return 1.0, 1.0, speed
    high, low = hot * float(np.median(sizes)), cold * float(np.quantile(sizes, 0.2))
    return high, min(high, low), speed


@leaf
def change_sizes(a: Arrays, s: State, generator: Generator, out: FloatArray) -> None:
    """The sizes of the changes that random relabels and exchanges, in turn, would make."""
    for k in range(len(out)):
        i = below(generator, len(s.labels))
        label = below(generator, a.cardinalities[i])
        if k % 2:
            total = s.total[0]
            j = partner(a, generator, i)
            first, second = s.labels[i], s.labels[j]
            if first != second and second < a.cardinalities[i] and first < a.cardinalities[j]:
                relabel(a, s, i, second)
                relabel(a, s, j, first)
                out[k] = abs(s.total[0] - total)
                relabel(a, s, j, second)
                relabel(a, s, i, first)
        elif label != s.labels[i]:
            out[k] = abs(relabel_change(a, s, i, label))


class Cooling(NamedTuple):
    """How the temperature falls over a run: in steps of a sweep, whatever slices it runs in."""

    first: float
    ratio: float  # of the last temperature to the first
    sweep: int  # proposals at one temperature
    proposals: int  # of the whole run


@leaf
def propose(
    a: Arrays, s: State, generator: Generator, cooling: Cooling, exchanges: float, done: int,
    count: int,
) -> None:  # fmt: skip
    """The proposals `done` … `done + count − 1` of a run."""
    n_nodes = len(s.labels)
    temperature = 0.0
    for k in range(done, done + count):
        if k == done or k % cooling.sweep == 0:
            share = (k - k % cooling.sweep) / cooling.proposals
            temperature = cooling.first * cooling.ratio**share
        i = below(generator, n_nodes)
        if exchanges > 0 and uniform(generator) < exchanges:
            exchange(a, s, generator, temperature, i)
            continue
        label = below(generator, a.cardinalities[i])
        if label == s.labels[i]:
            continue
        if s.forbidden[0] > 0:
            mend(a, s, generator, temperature, i, label)
            continue
        change = relabel_change(a, s, i, label)
        if change <= 0 or uniform(generator) < math.exp(-change / temperature):
            relabel(a, s, i, label)


@inner
def mend(a: Arrays, s: State, generator: Generator, temperature: float, i: int, label: int) -> None:
    """Offer node i a label while something is forbidden: never more of that, then the energy."""
    own, forbidden, total = s.labels[i], s.forbidden[0], s.total[0]
    relabel(a, s, i, label)
    if not is_accepted(s, generator, temperature, forbidden, total):
        relabel(a, s, i, own)


@inner
def is_accepted(
    s: State, generator: Generator, temperature: float, forbidden: int, total: float
) -> bool:
    """Whether a change that was made is kept: fewer infinite terms, or as many and luck."""
    if s.forbidden[0] != forbidden:
        return bool(s.forbidden[0] < forbidden)
    change = s.total[0] - total
    return change <= 0 or uniform(generator) < math.exp(-change / temperature)


@inner
def partner(a: Arrays, generator: Generator, i: int) -> int:
    """A random node of the cliques of node i, or next to it; i itself where there is none."""
    cliques, edges = a.node_ptr[i + 1] - a.node_ptr[i], a.adj_ptr[i + 1] - a.adj_ptr[i]
    if cliques > 0:
        c = a.node_clique[a.node_ptr[i] + below(generator, cliques)]
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        return int(a.clique_nodes[a.clique_ptr[c] + below(generator, size)])
    if edges > 0:
        return int(a.adj_node[a.adj_ptr[i] + below(generator, edges)])
    return i


@inner
def exchange(a: Arrays, s: State, generator: Generator, temperature: float, i: int) -> None:
    """Offer node i and a random node of its cliques, or next to it, each other's label."""
    j = partner(a, generator, i)
    first, second = s.labels[i], s.labels[j]
    if first == second or second >= a.cardinalities[i] or first >= a.cardinalities[j]:
        return
    forbidden, total = s.forbidden[0], s.total[0]
    relabel(a, s, i, second)
    relabel(a, s, j, first)
    if not is_accepted(s, generator, temperature, forbidden, total):
        relabel(a, s, j, second)
        relabel(a, s, i, first)
