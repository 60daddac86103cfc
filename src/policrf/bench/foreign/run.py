"""The run of `policrf bench foreign`: a process for every solve, results as they come."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from policrf.bench.foreign.grid import ForeignGrid, Model, key_of, list_models, tasks
from policrf.bench.result_log import Result, ResultLog
from policrf.crf.io.outputs import claimed

PATIENCE = {"wall": 3.0, "cpu": 30.0}  # times the limit after which a process is ended,
LONGER = 120.0  # and seconds more, for what comes before the solve
LAST_LINES = 300  # characters of what a process that failed said last


def run_foreign(
    grid: ForeignGrid, folder: Path, out: Path, progress: Callable[[Result], None]
) -> list[Result]:
    """All results of the grid; those already in `out` are not measured again.

    Parameters
    ----------
    grid
        What to measure.
    folder
        The models, with best.json.
    out
        Where results.jsonl is kept.
    progress
        Called with every new result.
    """
    models = {model.name: model for model in list_models(folder, grid.models)}
    wanted = tasks(grid, list(models.values()))
    with claimed(out):
        log = _open(grid, out)
        for task in _missing(log, wanted):
            result = task | solve_apart(grid, models[task["model"]], task["row"])
            log.append(result)
            progress(result)
    last = {key_of(result): result for result in log.results}
    return [last[key_of(task)] for task in wanted]


def count_missing(grid: ForeignGrid, folder: Path, out: Path) -> int:
    """How many solves are left."""
    wanted = tasks(grid, list_models(folder, grid.models))
    return len(_missing(_open(grid, out), wanted))


def _missing(log: ResultLog, wanted: list[Result]) -> list[Result]:
    """What has no result yet, or failed when it was last tried."""
    last = {key_of(result): result for result in log.results}
    return [task for task in wanted if "failed" in last.get(key_of(task), {"failed": ""})]


def _open(grid: ForeignGrid, out: Path) -> ResultLog:
    return ResultLog(out, {"seconds": grid.seconds, "clock": grid.clock, "seed": grid.seed})


def solve_apart(grid: ForeignGrid, model: Model, row: str) -> Result:
    """The worker's figures; `failed` where it ended without any."""
    task = {
        "path": str(model.path), "row": row, "seconds": grid.seconds, "clock": grid.clock,
        "seed": grid.seed,
    }  # fmt: skip
    limit = PATIENCE[grid.clock] * grid.seconds + LONGER
    try:
        done = subprocess.run(
            [sys.executable, "-m", "policrf.bench.foreign.worker"],
            input=json.dumps(task), capture_output=True, text=True, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"still running after {limit:.0f} s"}
    if done.returncode != 0 or not done.stdout:
        return {"failed": f"exit code {done.returncode}: {done.stderr.strip()[-LAST_LINES:]}"}
    found: Result = json.loads(done.stdout)
    return found
