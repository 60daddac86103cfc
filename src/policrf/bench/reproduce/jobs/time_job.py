"""A cell of kind time: seconds to label an instance, all rows one after the other in one process.

What counts is the processor time of the process, which others who use the machine do not change;
of several runs of a row the best counts. Rows of one cell are comparable, and so are their ratios.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from policrf.bench.reproduce.catalogue import POLICY
from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.instances import drawn_scenes, instances_of
from policrf.bench.reproduce.jobs.train_job import policy_file
from policrf.bench.reproduce.store import Store, Tell
from policrf.crf.instance import Instance
from policrf.errors import UnsupportedPotential
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec


class Timed(NamedTuple):
    """What is timed."""

    solver: Any
    options: dict[str, Any]


ENOUGH = 20.0  # seconds after which a row is not timed again, nor on further instances


def run_time(cell: Cell, store: Store, tell: Tell) -> Any:
    """Seconds an instance by row; None for a row that refuses the terms."""
    about, file = cell.about, str(policy_file(store, cell.needs["policy"]))
    instances = list(drawn_scenes(cell) if "scenes" in about else instances_of(store, cell))
    found, energies = {}, {}
    for k, (row, text) in enumerate(about["rows"].items()):
        tell(k / len(about["rows"]), row)
        spec = SolverSpec.parse(text.replace(POLICY, file))
        timed = Timed(spec.solver, spec.options)
        found[row], energies[row] = _best(instances, timed, about)
    nodes = float(np.mean([instance.crf.n_nodes for instance in instances]))
    stopped = [row for row, seconds in found.items() if (seconds or 0.0) >= about["seconds"]]
    return {
        "seconds": found, "energy": energies, "nodes": nodes, "images": len(instances),
        "stopped": stopped,
    }  # fmt: skip


def _best(
    instances: Sequence[Instance], spec: Timed, about: Any
) -> tuple[float | None, float | None]:
    """Mean over instances of the least CPU time, and the mean energy."""
    best = np.full(len(instances), np.inf)
    energies = np.zeros(len(instances))
    spent = 0.0
    try:
        _solve(instances[0], spec, 1.0)  # compiles what is not compiled yet
        for _ in range(about["repeats"]):
            for k, instance in enumerate(instances):
                if spent > ENOUGH:
                    break
                seconds, energies[k] = _solve(instance, spec, about["seconds"])
                best[k] = min(best[k], seconds)
                spent += seconds
    except UnsupportedPotential:
        return None, None
    timed = np.isfinite(best)
    return float(best[timed].mean()), float(energies[timed].mean())


def _solve(instance: Instance, spec: Timed, limit: float) -> tuple[float, float]:
    with cpu_budgets():
        start = time.process_time()
        solution = solve(instance, spec.solver, seconds=limit, go_on=False, **spec.options)
        return time.process_time() - start, solution.energy
