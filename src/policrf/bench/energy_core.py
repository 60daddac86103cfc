"""How fast the energy core is: an energy, a relabel, all labels of a node, building, compiling."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from policrf.compiled import kernel
from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels, relabel
from policrf.crf.energy import label_costs
from policrf.crf.model import CRF
from policrf.crf.state import State, new_state
from policrf.evaluation.tables import Table
from policrf.scenes import make_scene
from policrf.types import FloatArray, IntArray

_CORE = """
import policrf as pc, time
crf = pc.CRF([[0.0, 1.0], [1.0, 0.0]], pc.Potts([[0, 1]], 0.5), pc.BoxAgreement([[0, 1]], [0], 1.0))
start = time.perf_counter()
crf.energy([0, 1]); y = crf.labeling([0, 1]); y.costs(0); y.assign(0, 1); y.unassign(0)
print(time.perf_counter() - start)
"""


def bench_energy(*, n_nodes: int = 10_000, build_nodes: int = 100_000, repeats: int = 20) -> Table:
    """Measure on scenes of regime A with all potentials; best of `repeats`."""
    crf = make_scene(n_nodes, "A", seed=0).crf
    rng = np.random.default_rng(0)
    labels = rng.integers(0, crf.n_labels, crf.n_nodes)
    state = new_state(crf.arrays)
    load_labels(crf.arrays, state, labels)
    nodes = rng.integers(0, crf.n_nodes, 100_000)
    values = rng.integers(0, crf.n_labels, len(nodes))
    costs = np.empty(crf.n_labels)
    per_move = 1e6 / len(nodes)
    large = make_scene(build_nodes, "A", seed=0).crf
    size = f"N = {n_nodes:,}"
    full = best(repeats, lambda: crf.energy(labels)) * 1e3
    terms = best(repeats, lambda: crf.terms(labels)) * 1e3
    move = best(repeats, lambda: relabel_many(crf.arrays, state, nodes, values)) * per_move
    asked = best(repeats, lambda: costs_many(crf.arrays, state, nodes, costs)) * per_move
    built = best(3, lambda: CRF(large.unary, *large.potentials)) * 1e3
    rebuilt = best(3, lambda: rebuild(large)) * 1e3
    rows: list[tuple[Any, ...]] = [
        (f"energy of a labeling, {size}, U+P+HOP1+HOP2", full, "ms", 1.0),
        (f"energy by term, {size}", terms, "ms", None),
        ("relabel a node, bookkeeping included", move, "µs", 2.0),
        ("cost of all labels of a node", asked, "µs", None),
        (f"build a CRF from its groups, N = {build_nodes:,}", built, "ms", 500.0),
        (f"the same from plain arrays, N = {build_nodes:,}", rebuilt, "ms", 500.0),
        ("compile the core, in a new environment", compile_seconds(cold=True), "s", 30.0),
        ("load it from disk", compile_seconds(cold=False), "s", None),
    ]
    return Table("The energy core", ("what", "measured", "unit", "limit"), tuple(rows))


def best(repeats: int, action: Callable[[], Any]) -> float:
    """Seconds of the fastest of `repeats` calls, after one that may compile."""
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def rebuild(crf: CRF) -> CRF:
    """The CRF again, from the plain arrays of every group."""
    from policrf.crf.potentials import BoxAgreement, BoxSupport, Potential, Potts

    groups: list[Potential] = []
    for group in crf.potentials:
        match group:
            case Potts():
                groups.append(Potts(group.edges, group.weights))
            case BoxAgreement():
                groups.append(BoxAgreement(list(group.cliques), group.labels, group.weights))
            case BoxSupport():
                groups.append(
                    BoxSupport(list(group.cliques), group.labels, group.penalties, group.counts)
                )
    return CRF(crf.unary, *groups)


def compile_seconds(*, cold: bool) -> float:
    """Seconds until a fresh process has the core ready, from an empty cache or a filled one."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, NUMBA_CACHE_DIR=folder)
        for _ in range(1 if cold else 2):
            done = subprocess.run(
                [sys.executable, "-c", _CORE],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
    return float(done.stdout)


@kernel
def relabel_many(a: Arrays, s: State, nodes: IntArray, labels: IntArray) -> None:
    """Relabel one node after the other."""
    for k in range(len(nodes)):
        relabel(a, s, nodes[k], labels[k])


@kernel
def costs_many(a: Arrays, s: State, nodes: IntArray, out: FloatArray) -> None:
    """Ask the costs of one node after the other."""
    for k in range(len(nodes)):
        label_costs(a, s, nodes[k], out)
