"""How the cost of a sweep and the memory of cycles and messages grow with the number of nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.evaluation.tables import Table
from policrf.random_numbers import new_generator
from policrf.scenes import make_frustrated
from policrf.solvers.run import Run
from policrf.solvers.thermal.beliefs import new_beliefs, visit, weigh
from policrf.solvers.thermal.reinforced import HEAT
from policrf.solvers.thermal.replica import Replica
from policrf.solvers.thermal.sweeps import LOGS, Cooling, anneal

SWEEPS = 5  # that are timed at each temperature, after as many that are not
REPLICAS = 2  # that annealing has by default
LEAST = 200_000  # looks at nodes that are timed at least


def measure_growth(
    sizes: Sequence[int], progress: Callable[[str], None], degree: float = 8.0
) -> Table:
    """CPU seconds of a sweep, hot, cold and of messages; megabytes of the model and of the search.

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
    _message_costs(small.arrays, 1.0)
    for n_nodes in sizes:
        crf = make_frustrated("glass", n_nodes, degree=degree)
        run = Run(crf, "growth")
        began = time.process_time()
        replica = Replica(run, run.start_labels(), 0, 0.5, 0.12)
        begin = time.process_time() - began
        model = sum(array.nbytes for array in crf.arrays)
        hot = _seconds(replica, replica.hot)
        cold = _seconds(replica, replica.cold)
        messages, message_bytes = _message_costs(crf.arrays, HEAT * replica.hot)
        unit = 1e9 / n_nodes
        search = REPLICAS * (replica.bytes + message_bytes)
        rows.append((n_nodes, begin, hot, cold, messages, hot * unit, cold * unit, messages * unit,
                     model / 1e6, search / 1e6, (model + search) / model))  # fmt: skip
        progress(f"N={n_nodes}")
    columns = (
        "N", "begin_seconds", "hot_sweep_seconds", "cold_sweep_seconds", "message_sweep_seconds",
        "hot_ns_a_node", "cold_ns_a_node", "message_ns_a_node", "model_mb", "search_mb",
        "memory_ratio",
    )  # fmt: skip
    note = (
        "CPU seconds; memory_ratio is all arrays together, those of both replicas and of the "
        "messages of both too, in units of the model's own."
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


def _message_costs(a: Arrays, temperature: float) -> tuple[float, int]:
    """CPU seconds of a sweep of messages, and bytes of all they need."""
    beliefs, generator, nodes = new_beliefs(a), new_generator(0), len(a.unary)
    weigh(a, beliefs, temperature, 0, len(a.edges) + len(a.clique_kind))
    visit(a, beliefs, generator, temperature, 0.0, False, 0, nodes)
    sweeps = max(SWEEPS, -(-LEAST // nodes) // 10)
    began = time.process_time()
    for number in range(sweeps):
        visit(a, beliefs, generator, temperature, 0.1, number % 2 == 0, 0, nodes)
    return (time.process_time() - began) / sweeps, sum(array.nbytes for array in beliefs)
