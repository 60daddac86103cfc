"""One solve in a process of its own: a task as JSON on stdin, figures as JSON on stdout.

CPU seconds are those of the solve and of processes it starts, peak memory that of the whole
process, the larger of its own and its children's. Kernels are loaded by a solve of a small model.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import nullcontext
from typing import Any

import numpy as np

from policrf.bench.foreign.plain_toulbar2 import solve_plainly
from policrf.crf.instance import Instance
from policrf.crf.io import read
from policrf.crf.io.json_text import to_json
from policrf.crf.model import CRF
from policrf.crf.potentials import Potts, Tables
from policrf.errors import PolicrfError
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.solvers import solve

MEGABYTE = 2**20
PATIENCE = 30  # wall time / CPU time on a busy machine; processes that help are counted by theirs
WARM = 1.0, 0.3  # seconds for the small models, most of them for loading


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Energy, bound, proof and prices of one solve, or why it was refused."""
    problem = read(task["path"])
    crf = problem.crf if isinstance(problem, Instance) else problem
    plain = task["row"] == "toulbar2"
    if not plain:
        warm_up(task["row"])
    wall, cpu = time.perf_counter(), _cpu_seconds()
    try:
        if plain:  # its own limit counts CPU time
            found = solve_plainly(crf, task["seconds"], task["seed"])
        else:
            with cpu_budgets(PATIENCE) if task["clock"] == "cpu" else nullcontext():
                solution = solve(crf, task["row"], seconds=task["seconds"], seed=task["seed"])
            found = {
                "labels": solution.labels.tolist(),
                "bound": solution.lower_bound,
                "proven": solution.optimal,
            }
    except PolicrfError as error:
        return {"refused": str(error)}
    figures = {
        "bound": found["bound"],
        "proven": found["proven"],
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": _cpu_seconds() - cpu,
        "peak_mb": _peak_megabytes(),
    }
    labels = found["labels"]
    figures["energy"] = np.inf if labels is None else crf.energy(np.array(labels, np.int64))
    return figures


def warm_up(row: str) -> None:
    """Load the kernels: tables that forbid, edges, and enough nodes that no one counts them all."""
    rng = np.random.default_rng(0)
    pairs = np.stack([np.arange(39), np.arange(1, 40)], axis=1)
    tables = rng.normal(size=(39, 3, 3))
    tables[rng.random(tables.shape) < 0.2] = np.inf
    triples = rng.normal(size=(5, 3, 3, 3))
    edges = Potts(pairs[::3], 0.5)
    scopes = np.arange(15).reshape(5, 3)
    unary = rng.normal(size=(40, 3))
    small = (
        CRF(unary, edges, Tables(pairs, tables), Tables(scopes, triples)),
        CRF(unary, Potts(pairs, 0.5)),
    )
    for crf, seconds in zip(small, WARM, strict=True):
        try:
            solve(crf, row, seconds=seconds)
        except PolicrfError:
            continue  # it will say so of the model itself


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak_megabytes() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    unit = 1024 if sys.platform != "darwin" else 1
    return max(resource.getrusage(one).ru_maxrss for one in who) * unit / MEGABYTE


def main() -> None:
    """Keep stdout for the answer alone: libraries print to it."""
    out = os.dup(1)
    os.dup2(2, 1)
    answer = to_json(measure(json.load(sys.stdin)), infinity="inf")
    os.write(out, answer.encode())


if __name__ == "__main__":
    main()
