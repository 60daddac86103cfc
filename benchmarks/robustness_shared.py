"""Shared work and long work: python benchmarks/robustness_shared.py

Eight threads on shared CRFs, policies and functions, with and without failing ones, against the
same calls in one thread; two processes in one folder, for every command that writes one; 2,000
solves over all solvers, and CRFs with closures of 8 MB, in constant memory. Writes
robustness_shared.md, .csv and .json; exit code 1 where a promise of docs/reliability.md was broken.
"""

from __future__ import annotations

import gc
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import tyro

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.robustness.builders import commands, start
from tests.robustness.test_threads import (
    answer,
    crf_of,
    fails_on_ones,
    in_threads,
    parity,
    tasks_of,
)
from tests.vision.builders import prepared_scenes

import policrf as pc
from policrf.crf.io.outputs import claimed
from policrf.errors import PolicrfError
from policrf.evaluation.tables import Table, write_tables

FOLDERS = {"prepare": "prepared", "evaluate": "evaluated"}  # others have their own name
CLOSURE = 2**20  # numbers of 8 bytes
LEAK = 60.0  # megabytes of growth that are none


@dataclass(frozen=True)
class Config:
    """How often, and where to."""

    repetitions: int = 50
    """Of the threads, each with 48 calls."""
    solves: int = 2_000
    closures: int = 100
    out: Path = Path("benchmarks/results")


def _megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _threads(repetitions: int) -> list[tuple[Any, ...]]:
    scenes = [pc.make_scene(60, "B", seed=seed) for seed in range(3)]
    policy = pc.Policy.untrained(n_labels=21, n_features=scenes[0].features.shape[1])
    compiled = [numba.njit(function) for function in (parity, fails_on_ones)]
    kinds = {
        "Python functions, half of them failing": tasks_of(
            crf_of(parity, 0), crf_of(fails_on_ones, 1)
        ),
        "compiled functions, half of them failing": tasks_of(
            crf_of(compiled[0], 0), crf_of(compiled[1], 1)
        ),
        "a shared policy": [(scenes[k % 3], policy, k % 2) for k in range(48)],
    }
    rows = []
    for name, tasks in kinds.items():
        serial = [answer(task) for task in tasks]
        wrong = 0
        for _ in range(repetitions):
            wrong += sum(a != b for a, b in zip(in_threads(tasks), serial, strict=True))
        errors = sum(isinstance(one, str) for one in serial) * repetitions
        rows.append(
            (f"8 threads: {name}", repetitions * len(tasks), wrong, f"{errors} of them errors")
        )
        print(*rows[-1], sep="  ", flush=True)
    return rows


def _second_processes() -> list[tuple[Any, ...]]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        root = prepared_scenes(Path(name), 3)
        photo = ["segment", str(root / "images"), "--scores", str(root / "scores"), "--recipe"]
        further = {
            "segment": [*photo, str(root / "prepared"), "--out", str(root / "out" / "segment")],
            "demo": ["demo", "--scenes", "1", "--out", str(root / "out" / "demo")],
        }
        for command, arguments in (commands(root, root / "out") | further).items():
            if command == "calibrate":  # it locks its journal, not a folder: tests/robustness
                continue
            with claimed(root / "out" / FOLDERS.get(command, command)):
                other = start(arguments)
                _, error = other.communicate(timeout=300)
            said = other.returncode == 2 and "another run is writing there" in error
            rows.append(
                (f"a second process: {command}", 1, int(not said), "refused in one sentence")
            )
            print(*rows[-1], sep="  ", flush=True)
    return rows


def _soak(solves: int) -> tuple[Any, ...]:
    """All solvers in turn; memory from the point where every kernel is loaded."""
    crf = pc.CRF(
        np.random.default_rng(0).normal(size=(30, 3)),
        pc.Potts([[k, k + 1] for k in range(29)], 0.5),
    )
    scene, names = pc.make_scene(30, "A", seed=0), pc.list_solvers()
    wrong, before = 0, 0.0
    for k in range(solves):
        if k == 4 * len(names):
            gc.collect()
            before = _megabytes()
        problem = (crf, scene)[k % 2]
        try:
            found = pc.solve(problem, names[k // 2 % len(names)], seconds=0.02, seed=k)
        except PolicrfError:
            continue
        model = problem if isinstance(problem, pc.CRF) else problem.crf
        wrong += found.energy != model.energy(found.labels)
    gc.collect()
    grown = _megabytes() - before
    return (
        f"solves in one process, {len(names)} solvers",
        solves,
        wrong + (grown > LEAK),
        f"{grown:+.0f} MB",
    )


def _closures(count: int) -> tuple[Any, ...]:
    def made() -> Callable[..., float]:
        kept = np.zeros(CLOSURE)
        return lambda labels, parameters: float(kept[labels.sum()])

    before = 0.0
    for k in range(count):
        crf_of(made(), k).energy(np.zeros(18, np.int64))
        if k == 10:
            gc.collect()
            before = _megabytes()
    gc.collect()
    grown = _megabytes() - before
    return ("CRFs with closures of 8 MB, dropped", count, int(grown > LEAK), f"{grown:+.0f} MB")


def main(config: Config) -> None:
    rows = _threads(config.repetitions)
    rows += [_soak(config.solves), _closures(config.closures), *_second_processes()]
    note = (
        "Wrong: answers, or errors, that differ from those of one thread; energies that are not "
        f"the model's; growth of memory above {LEAK:.0f} MB; a second process that was not refused."
    )
    table = Table("Shared and long work", ("what", "calls", "wrong", "seen"), tuple(rows), note)
    write_tables(config.out, "robustness_shared", [table], asdict(config))
    table.show()
    if any(row[2] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
