"""Damaged files of every kind, and what becomes of them: python benchmarks/robustness.py

Writes robustness.md, .csv and .json: how many were accepted with the same or another result,
refused with a typed error, ended in an untyped exception, or took more than 10 seconds of processor
time. Each kind has a process of its own, with 2 GiB of address space to allocate from. Exit code 1
where a promise of docs/reliability.md was broken.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.robustness.isolated import ROOM, isolated
from tests.robustness.sweep import KINDS, OUTCOMES, SECONDS, Sweep

from policrf.evaluation.tables import Table, write_tables

COLUMNS = ("file", "checksum", "files", *OUTCOMES, "slowest (s)", "memory (MB)")
NOTE = (
    "Damage: bits flipped, bytes inserted, deleted, duplicated, swapped, overwritten, files cut "
    "off, numbers and other values replaced, deep nesting; also behind the checksums of archives, "
    "headers and pages. With a checksum no other result may come out; files without one are "
    f"validated. Times are of the processor, a hang is {SECONDS} s; memory is the "
    "growth of the process."
)


@dataclass(frozen=True)
class Config:
    """How many, and where to."""

    mutations: int = 10_000
    """Damaged files in all, equally many of each kind."""
    seed: int = 0
    out: Path = Path("benchmarks/results")


def row(found: Sweep) -> tuple[object, ...]:
    counts = [found.counts[outcome] for outcome in OUTCOMES]
    return (
        found.kind, found.sealed, sum(counts), *counts,
        round(found.slowest, 2), round(found.megabytes),
    )  # fmt: skip


def main(config: Config) -> None:
    each = -(-config.mutations // len(KINDS))
    sweeps = []
    for name in KINDS:
        sweeps.append(isolated(name, each, seed=config.seed))
        print(*row(sweeps[-1]), *sweeps[-1].faults, sep="  ", flush=True)
    rows = [row(found) for found in sweeps]
    sums = [sum(entries) for entries in zip(*(line[2:-2] for line in rows), strict=True)]
    total = ("all", None, *sums, *(max(line[k] for line in rows) for k in (-2, -1)))
    table = Table("Damaged files", COLUMNS, (*rows, total), NOTE)
    write_tables(config.out, "robustness", [table], asdict(config) | {"room": ROOM})
    if any(found.failed for found in sweeps):
        sys.exit(1)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
