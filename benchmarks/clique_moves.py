"""What a sweep of clique moves costs, and energy against time: python benchmarks/clique_moves.py

Writes benchmarks/results/clique_moves.md and .png; CRFs of `policrf.scenes.make_family` with 6
labels, seeds from 2,000.

Table 1: microseconds of processor time a node, by number of nodes: set-up, single relabels of all
nodes until none gains, as many half-way moves as there are cliques, as many clique moves. The first
half-way moves label whole cliques of up to 400 nodes again, those of "order" up to 16. "order" has
one clique a column, of √N members, and a function that takes the square of that.

Table 2 and the picture: energy against time at 10,000 nodes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import policrf as pc
from policrf.crf.changes import load_labels
from policrf.crf.io.files import atomic_write
from policrf.crf.state import new_state
from policrf.plots.figures import Lines, line_figure
from policrf.random_numbers import new_generator
from policrf.scenes import make_family
from policrf.solvers.moves.local_search import centred
from policrf.solvers.refine.refine_anytime import Kinds, advance, settle_all
from policrf.solvers.refine.refine_neighbourhoods import new_workspace
from policrf.solvers.refine.refine_trial import new_trial

SEED = 2_000
FAMILIES = ("two_labels", "size_prior", "parity", "order", "label_cost")
SIZES = (144, 576, 2_500, 10_000)
REPEATS = 3  # the shortest time counts
SOLVERS = ("auto", "annealing", "icm", "untrained")
SECONDS = (0.1, 0.3, 1.0, 3.0, 10.0)
RESULTS = Path(__file__).parent / "results" / "clique_moves.md"
STAGES = ("set-up", "single relabels", "a half-way move a clique", "a clique move a clique")


def sweep_seconds(crf):
    """Processor seconds of each of STAGES."""
    clock, times = time.process_time, [time.process_time()]
    arrays = centred(crf.arrays)
    state = new_state(arrays)
    load_labels(arrays, state, np.argmin(crf.unary, axis=1))
    trial, work, generator = new_trial(arrays, state), new_workspace(arrays), new_generator(0)
    settle_all(work)
    times.append(clock())
    made, count = 1, len(arrays.clique_kind)
    both = Kinds(cliques=True, halfway=True, temperature=0.0)
    halfway, cliques = both._replace(cliques=False), both._replace(halfway=False)
    for kinds, more in ((both, 0), (halfway, count), (cliques, count)):
        made += more
        advance(arrays, state, trial, work, generator, kinds, made, 10**12)
        times.append(clock())
    return np.diff(times)


def sweeps():
    """Table 1."""
    lines = [f"| family | nodes | cliques | {' | '.join(STAGES)} |", "|---|" + "---:|" * 6]
    for family in FAMILIES:
        sweep_seconds(make_family(family, 144, seed=SEED))
        for n_nodes in SIZES:
            crf = make_family(family, n_nodes, seed=SEED)
            least = np.min([sweep_seconds(crf) for _ in range(REPEATS)], axis=0)
            cells = " | ".join(f"{1e6 * seconds / n_nodes:.2f}" for seconds in least)
            lines.append(f"| {family} | {n_nodes:,} | {len(crf.arrays.clique_kind)} | {cells} |")
            print(lines[-1], flush=True)
    return lines


def energies(n_nodes):
    """Table 2, and the panels of the picture."""
    lines = [f"| family | solver | {' | '.join(f'{s:g} s' for s in SECONDS)} |"]
    lines.append("|---|---|" + "---:|" * len(SECONDS))
    panels = []
    for family in FAMILIES:
        crf, drawn = make_family(family, n_nodes, seed=SEED), {}
        for solver in SOLVERS:
            pc.solve(make_family(family, 64), solver)
            found = [pc.solve(crf, solver, seconds=seconds) for seconds in SECONDS]
            cells = " | ".join(f"{solution.energy:.0f}" for solution in found)
            lines.append(f"| {family} | {solver} | {cells} |")
            drawn[solver] = SECONDS, [solution.energy for solution in found]
            print(lines[-1], flush=True)
        panels.append(Lines(family, drawn))
    return lines, panels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=10_000, help="of the second table")
    nodes = parser.parse_args().nodes
    first, (second, panels) = sweeps(), energies(nodes)
    text = "\n".join(
        ["# Clique moves: cost of a sweep, energy against time", "",
         "Microseconds of processor time a node; `python benchmarks/clique_moves.py`.", "", *first,
         "", f"Energy by wall time at {nodes:,} nodes, one instance a family:", "", *second, "",
         "![energy against time](clique_moves.png)", ""]
    )  # fmt: skip
    with atomic_write(RESULTS) as file:
        file.write(text.encode())
    line_figure(RESULTS.with_suffix(".png"), panels, "seconds", "energy", title=f"N = {nodes:,}")


if __name__ == "__main__":
    main()
