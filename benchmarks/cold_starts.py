"""The first call of each solver in a new environment: what compiling takes.

    python benchmarks/cold_starts.py --solvers icm exact --out benchmarks/results

Every solver solves one scene in a fresh process with an empty folder for kernels (cold), and once
more (warm). CPU seconds, since other work on the machine is no matter of ours.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tyro

from policrf.evaluation.tables import Table, write_tables

SOLVE = """
import sys
import policrf as pc
pc.solve(pc.make_scene(150, "B", seed=4), sys.argv[1])
"""


@dataclass(frozen=True)
class Config:
    solvers: tuple[str, ...] = (
        "icm", "highest_confidence_first", "alpha_expansion", "belief_propagation",
        "tree_reweighted", "annealing", "refine", "untrained", "exact", "auto",
    )  # fmt: skip
    """Solvers and policies."""
    out: Path = Path("benchmarks/results")
    """Where the table goes."""


def main(config: Config) -> None:
    rows = []
    for solver in config.solvers:
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = cpu_seconds(solver, folder), cpu_seconds(solver, folder)
            kernels = len(list(Path(folder).rglob("*.nbi")))
        rows.append((solver, cold, warm, kernels))
        print(*rows[-1], flush=True)
    columns = ("solver", "first call, CPU s", "later calls, CPU s", "kernels")
    note = "A scene of 150 nodes; a process each, Python and imports included."
    write_tables(
        config.out, "cold-starts", [Table("Cold starts", columns, tuple(rows), note)], config
    )


def cpu_seconds(solver: str, folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    subprocess.run(
        [sys.executable, "-c", SOLVE, solver],
        check=True,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
