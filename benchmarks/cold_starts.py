"""The first call of each solver in a new environment: what compiling takes.

    python benchmarks/cold_starts.py --solvers icm exact --out benchmarks/results

Every solver solves one scene in a fresh process with an empty folder for kernels (cold), and once
more (warm). Seconds by the clock, which is what somebody waits for, on a machine that does nothing
else: a first call compiles in as many processes as there are cores.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
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
        "tree_reweighted", "annealing", "refine", "untrained", "exact", "auto", "labels",
    )  # fmt: skip
    """Solvers and policies."""
    out: Path = Path("benchmarks/results")
    """Where the table goes."""


def main(config: Config) -> None:
    rows = []
    for solver in config.solvers:
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = first_call(solver, folder), first_call(solver, folder)
            kernels = len(list(Path(folder).rglob("*.nbi")))
        rows.append((solver, cold, warm, kernels))
        print(*rows[-1], flush=True)
    columns = ("solver", "first call, s", "later calls, s", "kernels")
    note = (
        "A scene of 150 nodes; a process each, Python and imports included. By the clock, on "
        f"{os.cpu_count()} cores."
    )
    write_tables(
        config.out, "cold-starts", [Table("Cold starts", columns, tuple(rows), note)], config
    )


def first_call(solver: str, folder: str) -> float:
    """Seconds by the clock."""
    begun = time.monotonic()
    subprocess.run(
        [sys.executable, "-c", SOLVE, solver],
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": folder},
        stderr=subprocess.DEVNULL,
    )
    return time.monotonic() - begun


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
