"""How the cost of a sweep and the memory of thermal cycles grow with the number of nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from policrf.evaluation.tables import Table
from policrf.random_numbers import new_generator
from policrf.scenes import make_frustrated
from policrf.solvers.run import Run
from policrf.solvers.thermal.replica import Replica
from policrf.solvers.thermal.sweeps import LOGS, Cooling, anneal

SWEEPS = 5  # that are timed at each temperature, after as many that are not
REPLICAS = 2  # that annealing has by default
LEAST = 200_000  # looks at nodes that are timed at least


def measure_growth(
    sizes: Sequence[int], progress: Callable[[str], None], degree: float = 8.0
) -> Table:
    """CPU seconds of a sweep, hot and cold, and megabytes of the model and of the search.

    Parameters
    ----------
    sizes
        Numbers of nodes.
    progress
        Called after each.
    degree
        Of the spin glass with four labels that is measured.
    """
    rows = []
    small = make_frustrated("glass", 9, degree=2)
    _seconds(Replica(Run(small, "growth"), np.zeros(9, np.int64), 0, 0.5, 0.12), 1.0)  # kernels
    for n_nodes in sizes:
        crf = make_frustrated("glass", n_nodes, degree=degree)
        run = Run(crf, "growth")
        began = time.process_time()
        replica = Replica(run, run.start_labels(), 0, 0.5, 0.12)
        begin = time.process_time() - began
        model = sum(array.nbytes for array in crf.arrays)
        hot = _seconds(replica, replica.hot)
        cold = _seconds(replica, replica.cold)
        unit = 1e9 / n_nodes
        search = REPLICAS * replica.bytes
        rows.append((n_nodes, begin, hot, cold, hot * unit, cold * unit, model / 1e6,
                     search / 1e6, (model + search) / model))  # fmt: skip
        progress(f"N={n_nodes}")
    columns = (
        "N", "begin_seconds", "hot_sweep_seconds", "cold_sweep_seconds", "hot_ns_a_node",
        "cold_ns_a_node", "model_mb", "search_mb", "memory_ratio",
    )  # fmt: skip
    note = (
        "CPU seconds; memory_ratio is all arrays together, those of both replicas too, in units of "
        "the model's own."
    )
    return Table(f"Growth: glass, degree {degree:g}, 4 labels", columns, tuple(rows), note)


def _seconds(replica: Replica, temperature: float) -> float:
    """CPU seconds of a sweep at a temperature, once it is warmed through."""
    nodes = len(replica.best)
    sweeps = max(SWEEPS, -(-LEAST // nodes))
    cooling = Cooling(temperature, temperature, 1)
    generator = new_generator(0)
    anneal(replica.arrays, replica.kept, generator, LOGS, cooling, 0, sweeps * nodes)
    began = time.process_time()
    anneal(replica.arrays, replica.kept, generator, LOGS, cooling, 0, sweeps * nodes)
    return (time.process_time() - began) / sweeps
