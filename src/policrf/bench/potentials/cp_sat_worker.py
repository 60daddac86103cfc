"""Runs CP-SAT in a process of its own: models as JSON lines on stdin, answers on stdout."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from policrf.bench.potentials.cp_sat_models import SCALE, build

PATIENCE = 4  # wall time / CPU time after which it stops: others may use the machine
POLL = 0.002  # seconds


def solve_model(task: dict[str, Any]) -> dict[str, Any]:
    """Every improvement with its time, and whether the last one is proven to be the minimum."""
    from ortools.sat.python import cp_model

    model, chosen = build(cp_model.CpModel(), task)
    found: list[dict[str, Any]] = []

    class Keep(cp_model.CpSolverSolutionCallback):  # type: ignore[misc, unused-ignore]
        """Keeps every labeling, with the time that has gone by."""

        def on_solution_callback(self) -> None:
            labels = [next(k for k, x in enumerate(row) if self.value(x)) for row in chosen]
            found.append({"labels": labels, "cpu_seconds": time.process_time() - cpu})

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = PATIENCE * max(task["seconds"])
    solver.parameters.relative_gap_limit = 0.0
    wall, cpu = time.perf_counter(), time.process_time()
    over = threading.Event()
    watch = threading.Thread(target=_stop_after, args=(solver, cpu + max(task["seconds"]), over))
    watch.start()
    status = solver.solve(model, Keep())
    over.set()
    watch.join()
    return {
        "labelings": found,
        "optimal": status == cp_model.OPTIMAL,
        "bound": solver.best_objective_bound / SCALE,
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }


def _stop_after(solver: Any, cpu: float, over: threading.Event) -> None:
    """Stop the search once the process has used its CPU time, unless it is over before."""
    while not over.wait(POLL):
        if time.process_time() >= cpu:
            solver.stop_search()


def main() -> None:
    """Answer line by line until there are no more."""
    for line in sys.stdin:
        print(json.dumps(solve_model(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
