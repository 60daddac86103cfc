"""Prepared data at the size of a whole dataset: opening, reading, memory, and `policrf evaluate`.

    python benchmarks/prepared_store.py prepared/train --energy energy.yaml --count 10000

The records of a prepared folder are repeated until there are `--count` of them. Opening and passing
over them all is done in a fresh process, whose largest resident memory is what is reported; `unary`
is evaluated on the first 240 by the command, start of Python included.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import tyro

from policrf.datasets.store import SHARD_SIZE, Prepared, shard_path, write_shard
from policrf.evaluation.tables import Table, write_tables

PASS_OVER = """
import sys, time
start = time.perf_counter()
from policrf.datasets.instances import load_prepared
instances = load_prepared(sys.argv[1], sys.argv[2] or None)
first = instances[0].crf.n_nodes
opened = time.perf_counter() - start
start = time.perf_counter()
nodes = sum(instance.crf.n_nodes for instance in instances)
passed = time.perf_counter() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(instances), nodes, opened, passed, int(peak.split()[1]) / 1024)
"""
# Three pools, one after the other.
LEARN = """
import sys
from policrf.cli import main
try:
    main([
        "train", "dqn", sys.argv[1], *(["--energy", sys.argv[2]] if sys.argv[2] else []),
        "--kind", "residual", "--rounds", "6", "--pool-rounds", "2", "--out", sys.argv[3],
    ])
except SystemExit as stopped:
    assert not stopped.code
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) / 1024)
"""


@dataclass(frozen=True)
class Config:
    folder: Annotated[Path, tyro.conf.Positional]
    """A prepared folder."""
    energy: Path | None = None
    count: int = 10_000
    evaluated: int = 240
    out: Path = Path("benchmarks/results")


def repeat(prepared: Prepared, folder: Path, count: int) -> None:
    """A prepared folder with `count` records."""
    (folder / "shards").mkdir(parents=True)
    for path in prepared.folder.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    names, nodes, places = [], [], []
    source = [prepared.record(k) for k in range(min(len(prepared), count))]
    for shard in range(0, count, SHARD_SIZE):
        rows = range(shard, min(shard + SHARD_SIZE, count))
        records = [replace(source[k % len(source)], name=f"image-{k}") for k in rows]
        write_shard(shard_path(folder, shard // SHARD_SIZE), records, ())
        for row, record in enumerate(records):
            names.append(record.name)
            nodes.append(record.n_nodes)
            places.append([shard // SHARD_SIZE, row])
    index = {"names": names, "nodes": nodes, "places": places}
    (folder / "index.json").write_text(json.dumps(index))


def main(config: Config) -> None:
    prepared = Prepared(config.folder)
    energy = "" if config.energy is None else str(config.energy)
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large", Path(folder) / "small"
        repeat(prepared, large, config.count)
        repeat(prepared, small, config.evaluated)
        words = [sys.executable, "-c", PASS_OVER, str(large), energy]
        answer = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
        words = [sys.executable, "-c", LEARN, str(large), energy, f"{folder}/run"]
        learning = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        command = [
            sys.executable, "-m", "policrf", "evaluate", str(small), "--solvers", "unary",
            *(["--energy", energy] if energy else []), "--out",
        ]  # fmt: skip
        seconds = []
        for k in range(3):
            start = time.perf_counter()
            subprocess.run([*command, f"{folder}/results{k}"], check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
    count, nodes, opened, passed, peak = (float(word) for word in answer)
    rows = (
        ("instances", count),
        ("nodes each", nodes / count),
        ("open and build the first, imports included (s)", opened),
        ("read and build each (ms)", 1e3 * passed / count),
        ("largest memory of that process (MB)", peak),
        ("largest memory of policrf train dqn over three pools (MB)", float(learning.split()[-1])),
        (f"policrf evaluate, unary, {config.evaluated} instances, best of 3 (s)", min(seconds)),
    )
    table = Table("Prepared data", ("what", "value"), rows)
    table.show()
    write_tables(config.out, "prepared_store", [table], {"count": config.count})


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
