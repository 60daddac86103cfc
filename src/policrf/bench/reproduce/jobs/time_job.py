"""A cell of kind time: seconds to label an instance, all rows one after the other in one process.

What counts is the processor time of the process, which others who use the machine do not change;
of several runs of a row the best counts. Rows of one cell are comparable, and so are their ratios.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.jobs.instances import instances_of
from policrf.bench.reproduce.store import Store, Tell
from policrf.crf.instance import Instance
from policrf.datasets.sources import load_instances
from policrf.errors import UnsupportedPotential
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.policy.policy import Policy
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec


class Timed(NamedTuple):
    """What is timed."""

    solver: Any
    options: dict[str, Any]


ENOUGH = 20.0  # seconds after which a row is not timed again, nor on further instances


def run_time(cell: Cell, store: Store, tell: Tell) -> Any:
    """Seconds an instance by row; None for a row that refuses the terms."""
    about = cell.about
    if "scenes" in about:
        source = f"{about['scenes']}:{about['size']}"
        instances: Sequence[Instance] = load_instances(
            source, potentials=about["terms"], count=about["images"]
        )
    else:
        instances = list(instances_of(store, cell, features="paper"))
    found, energies = {}, {}
    for k, (row, text) in enumerate(about["rows"].items()):
        tell(k / len(about["rows"]), row)
        found[row], energies[row] = _best(instances, _solver(text, instances[0]), about)
    nodes = float(np.mean([instance.crf.n_nodes for instance in instances]))
    return {"seconds": found, "energy": energies, "nodes": nodes, "images": len(instances)}


def _solver(row: Any, first: Instance) -> Timed:
    """A solver by its text, or an untrained network by its kind and options."""
    if isinstance(row, str):
        spec = SolverSpec.parse(row)
        return Timed(spec.solver, spec.options)
    options = dict(row)
    policy = Policy.untrained(
        n_labels=first.crf.n_labels, n_features=first.features.shape[1], kind=options.pop("kind")
    )
    return Timed(policy, options)


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
