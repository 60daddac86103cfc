"""`policrf reproduce all --preset quick`, killed ten times at random moments: the same tables?

    python benchmarks/reproduce_kills.py --work kills --jobs 2

The process and all that it started get SIGKILL, each time at a random moment of its work: some part
of a second after a random number of its cells; then it runs to its end. Every file that it leaves
is held against those of an unbroken run (with one process): tables as Markdown, CSV and LaTeX
without the lines that tell command and date, energies and pictures byte by byte. Table 4 has times,
which are never the same: its rows are compared.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.bench.reproduce.store import RESULT
from policrf.evaluation.tables import Table, write_tables

LOOK = 0.02  # seconds between two looks at what is finished
LAST = 20  # cells that are never waited for: figures and timings go by too fast to hit
HEAD_LINES = 3  # command, preset and date, versions
TIMES = re.compile(r"\d[\d.e+-]*")  # of Table 4 and of claims about it


@dataclass(frozen=True)
class Config:
    """How often, and where."""

    work: Path = Path("kills")
    """Emptied first."""
    kills: int = 10
    jobs: int = 2
    """The most processes of the runs that are killed: 1, 2, … in turn."""
    seed: int = 0
    longest: float = 1.0
    """Seconds from the end of the last cell that a kill waits for, at most."""
    out: Path = Path("benchmarks/results")


def command(folder: Path, jobs: int) -> list[str]:
    where = ["--work", str(folder / "work"), "--out", str(folder / "out")]
    asked = ["reproduce", "all", "--preset", "quick", *where, "--jobs", str(jobs)]
    return [sys.executable, "-m", "policrf", *asked]


def killed_at(words: list[str], folder: Path, cells: int, wait: float) -> bool:
    """Kill the run some seconds after so many cells are finished; whether it was still at work."""
    process = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while finished(folder) < cells and process.poll() is None:
        time.sleep(LOOK)
    try:
        process.wait(wait)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def finished(folder: Path) -> int:
    return len(list((folder / "work" / "cells").glob(f"*/{RESULT}")))


def content(path: Path) -> object:
    """What two runs must have in common."""
    if path.suffix not in (".md", ".csv", ".tex"):
        return path.read_bytes()
    lines = path.read_text().splitlines()
    if path.suffix != ".csv":
        lines = lines[HEAD_LINES:]
    if path.name.startswith("table4"):
        return [TIMES.sub("#", line) for line in lines]
    return [line for line in lines if "run time is linear" not in line]


def main(config: Config) -> None:
    shutil.rmtree(config.work, ignore_errors=True)
    whole, broken = config.work / "whole", config.work / "broken"
    start = time.perf_counter()
    subprocess.run(command(whole, 1), check=True, stdout=subprocess.DEVNULL)
    unbroken = time.perf_counter() - start
    generator, rows = np.random.default_rng(config.seed), []
    total = finished(whole)
    moments = np.sort(generator.integers(total - LAST, size=config.kills))
    for k, cells in enumerate(moments):
        jobs, wait = 1 + k % config.jobs, generator.uniform(0, config.longest)
        landed = killed_at(command(broken, jobs), broken, int(cells), wait)
        state = "killed" if landed else "at its end"
        rows.append((k + 1, jobs, int(cells), f"{wait:.2f}", state, finished(broken)))
        print(*rows[-1], flush=True)
    subprocess.run(command(broken, config.jobs), check=True, stdout=subprocess.DEVNULL)
    rows.append(("", config.jobs, "", "", "to its end", finished(broken)))
    names = sorted(path.name for path in (whole / "out").iterdir())
    assert names == sorted(path.name for path in (broken / "out").iterdir())
    other = [n for n in names if content(whole / "out" / n) != content(broken / "out" / n)]
    told = f"{len(names) - len(other)} of {len(names)} files are the same"
    told += f"; others: {', '.join(other)}" if other else ""
    note = (
        "SIGKILL to the process and all that it started; held against an unbroken run with one "
        f"process ({unbroken:.0f} s on the clock): {told}."
    )
    columns = ("kill", "processes", "after cells", "and seconds", "state", "cells finished")
    table = Table("Kills at random moments", columns, tuple(rows), note)
    table.show()
    told_config = {"kills": config.kills, "jobs": config.jobs, "seed": config.seed}
    write_tables(config.out, "reproduce-kills", [table], told_config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
