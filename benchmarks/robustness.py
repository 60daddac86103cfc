"""Damaged files and wrong calls, and what becomes of them: python benchmarks/robustness.py

Writes robustness.md, .csv and .json: how many files of every kind were accepted with the same or
another result, refused with a typed error, ended in an untyped exception, or took more than 10
seconds of processor time; and the same of wrong calls of every public name. Each kind of file has a
process of its own, with 2 GiB of address space to allocate from. Exit code 1 where a promise of
docs/reliability.md was broken. Real nets are looked for beside the checkout, or in POLICRF_DATA.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.robustness.api_calls import CALLED, outcome_of, right_calls, wrong_calls
from tests.robustness.isolated import ROOM, isolated
from tests.robustness.sweep import KINDS, OUTCOMES, SECONDS, Sweep

from policrf.crf.io.files import make_folder
from policrf.evaluation.tables import Table, write_tables

COLUMNS = ("file", "checksum", "files", *OUTCOMES, "slowest (s)", "memory (MB)")
NOTE = (
    "Damage: bits flipped, bytes inserted, deleted, duplicated, swapped, overwritten, files cut "
    "off, numbers and other values replaced, deep nesting; also behind the checksums of archives, "
    "headers and pages. With a checksum no other result may come out; files without one are "
    f"validated. Times are of the processor, a hang is {SECONDS} s; memory is the "
    "growth of the process."
)

CALLS = (
    "Right calls of every public name with one or two arguments replaced by values of other types, "
    "shapes and ranges, some of which are right too. What the caller's own function raises is "
    f"passed on, and counts as its own. A hang is {SECONDS} s of processor time."
)


@dataclass(frozen=True)
class Config:
    """How many, and where to."""

    mutations: int = 10_000
    """Damaged files in all, equally many of each kind."""
    calls: int = 5_000
    """Wrong calls in all."""
    seed: int = 0
    jobs: int = 1
    """Kinds of files at a time."""
    out: Path = Path("benchmarks/results")


def row(found: Sweep) -> tuple[object, ...]:
    counts = [found.counts[outcome] for outcome in OUTCOMES]
    return (
        found.kind, found.sealed, sum(counts), *counts,
        round(found.slowest, 2), round(found.megabytes),
    )  # fmt: skip


def main(config: Config) -> None:
    sweeps = swept(config)
    rows = [row(found) for found in sweeps]
    sums = [sum(entries) for entries in zip(*(line[2:-2] for line in rows), strict=True)]
    total = ("all", None, *sums, *(max(line[k] for line in rows) for k in (-2, -1)))
    files = Table("Damaged files", COLUMNS, (*rows, total), NOTE)
    calls, faults = called(config.calls, config.seed)
    write_tables(config.out, "robustness", [files, calls], asdict(config) | {"room": ROOM})
    if any(found.failed for found in sweeps) or faults:
        sys.exit(1)


def swept(config: Config) -> list[Sweep]:
    """One sweep a kind; those that a run has finished which was stopped are kept, a line each."""
    each = -(-config.mutations // len(KINDS))
    journal = make_folder(config.out) / f"robustness-{each}-{config.seed}.jsonl"
    lines = journal.read_text().splitlines() if journal.exists() else []
    done = {line["kind"]: Sweep(**line | {"counts": Counter(line["counts"])})
            for line in map(json.loads, lines)}  # fmt: skip

    def run(name: str) -> Sweep:
        if name not in done:
            done[name] = isolated(name, each, seed=config.seed)
            with journal.open("a") as file:
                file.write(json.dumps(vars(done[name])) + "\n")
            print(*row(done[name]), *done[name].faults, sep="  ", flush=True)
        return done[name]

    with ThreadPoolExecutor(config.jobs) as pool:
        found = list(pool.map(run, KINDS))
    journal.unlink()
    return found


def called(count: int, seed: int) -> tuple[Table, list[str]]:
    """The table of wrong calls by what is called, and every one that broke the promise."""
    counts: dict[str, Counter[str]] = {}
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        warnings.simplefilter("ignore")  # NumPy's, about numbers that are too large
        made, calls = 0, right_calls(Path(folder))
        while made < count:
            for call, arguments, changed in wrong_calls(calls, count - made, seed):
                outcome, error = outcome_of(call, arguments)
                kind = call.name.split()[0].split(".")[0]
                counts.setdefault(kind, Counter())[outcome] += 1
                made += 1
                if error is not None:
                    given = {name: repr(arguments[name])[:80] for name in changed}
                    faults.append(f"{call.name} {given}: {error!r:.200}")
                    print(faults[-1], flush=True)
            seed += 1
    rows = [(kind, sum(one.values()), *(one[k] for k in CALLED)) for kind, one in counts.items()]
    sums = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    return Table(
        "Wrong calls", ("called", "calls", *CALLED), (*rows, ("all", *sums)), CALLS
    ), faults


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
