"""Large grids against gco: alpha-expansion and TRW-S on images of 321 × 481 pixels.

    python benchmarks/grids.py --out benchmarks/results

gco-wrapper is of the extra `peers`; without it, its columns are empty. Two models (Potts with 6
labels, a truncated linear table with 8), each with random unaries and with those of an image under
noise. CRFs are made by `policrf.grid`, gco's graph by its `cut_general_graph`; times are CPU
seconds of building and solving, the best of several in one process, one after the other; memory is
what the peak of a process of its own rises by, kernels loaded.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import policrf as pc
from policrf.evaluation.tables import Table, write_tables

HEIGHT, WIDTH = 321, 481
LABELS = {"potts": 6, "linear": 8}
UNARIES = ("random", "denoise")
ROUNDS = 10  # of TRW-S
FRESH = 100  # the first seed that is reported; the order of labels was chosen on lower ones


def problem(model: str, unaries: str, seed: int, shape=(HEIGHT, WIDTH)):
    """Unaries `[H, W, L]`, the weight of an edge, and what pairs of labels cost `[L, L]`."""
    rng, n_labels = np.random.default_rng(seed), LABELS[model]
    labels = np.arange(n_labels)
    table = np.minimum(np.abs(labels[:, None] - labels), 3 if model == "linear" else 1).astype(
        float
    )
    if unaries == "random":
        return rng.uniform(0, 1, (*shape, n_labels)), 0.3, table
    truth, (rows, columns) = np.zeros(shape, int), np.mgrid[: shape[0], : shape[1]]
    for _ in range(40):
        y, x, radius = rng.uniform(0, shape[0]), rng.uniform(0, shape[1]), rng.uniform(10, 60)
        truth[(rows - y) ** 2 + (columns - x) ** 2 < radius**2] = rng.integers(n_labels)
    seen = truth + rng.normal(0, 1.0, shape)
    return np.minimum((seen[..., None] - labels) ** 2, 4.0), 1.0, table


def build(model, unary, weight, table):
    return pc.grid(unary, weight, table=table if model == "linear" else None)


def ours(solver):
    def run(model, unary, weight, table):
        began = time.process_time()
        crf = build(model, unary, weight, table)
        built = time.process_time() - began
        labels = pc.solve(crf, solver).labels
        return labels, built, time.process_time() - began

    return run


def gco(model, unary, weight, table):
    from gco import cut_general_graph

    height, width, n_labels = unary.shape
    began = time.process_time()
    nodes = np.arange(height * width).reshape(height, width)
    right = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()], axis=1)
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()], axis=1)
    edges = np.concatenate([right, down])
    built = time.process_time() - began
    labels = cut_general_graph(
        edges, np.full(len(edges), weight), unary.reshape(-1, n_labels), table, n_iter=-1,
        algorithm="expansion",
    )  # fmt: skip
    return np.asarray(labels, np.int64), built, time.process_time() - began


SOLVERS = {
    "gco": gco,
    "alpha_expansion": ours("alpha_expansion"),
    "tree_reweighted": ours(f"tree_reweighted:iterations={ROUNDS}"),
}


def peak_megabytes() -> float:
    """Of this process alone: `getrusage` would know the peak of the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure_memory(row: str, model: str, unaries: str) -> float:
    """What building and solving adds to the peak of this process, kernels loaded before."""
    unary, weight, table = problem(model, unaries, 0)
    for _ in range(2):
        SOLVERS[row](model, unary[:30, :30].copy(), weight, table)
    before = peak_megabytes()
    SOLVERS[row](model, unary, weight, table)
    return peak_megabytes() - before


def memory_of(row: str, model: str, unaries: str) -> float:
    command = [sys.executable, __file__, "--memory", row, model, unaries]
    return float(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def lines_of(model, unaries, options, rows):
    """One line a solver, and for every seed the ratio of times and the difference of energies."""
    seconds, built, energies = ({row: [] for row in rows} for _ in range(3))
    for seed in range(options.seeds):
        given = problem(model, unaries, FRESH + seed)
        crf = build(model, *given)
        tries = {row: [] for row in rows}
        for _ in range(options.repeats):
            for row in rows:
                labels, build_seconds, whole = SOLVERS[row](model, *given)
                tries[row].append((whole, build_seconds, crf.energy(labels)))
        for row in rows:
            for kept, value in zip((seconds, built, energies), min(tries[row]), strict=True):
                kept[row].append(value)
    for row in rows:
        ratio, above = [], []
        for seed in range(options.seeds if "gco" in rows else 0):
            ratio.append(seconds[row][seed] / seconds["gco"][seed])
            above.append(100 * (energies[row][seed] / energies["gco"][seed] - 1))
        megabytes = memory_of(row, model, unaries)
        yield {
            "model": model, "unaries": unaries, "row": row,
            "build": float(np.mean(built[row])), "seconds": float(np.mean(seconds[row])),
            "ratio": float(np.mean(ratio)) if ratio else None,
            "worst": max(ratio) if ratio else None,
            "above": float(np.mean(above)) if above else None,
            "worst_above": max(above) if above else None,
            "megabytes": megabytes,
        }  # fmt: skip


COLUMNS = {
    "model": "model", "unaries": "unaries", "row": "solver", "build": "building, s",
    "seconds": "whole, s", "ratio": "time / gco's", "worst": "worst seed",
    "above": "% above gco's energy", "worst_above": "worst seed, %", "megabytes": "MB",
    "memory": "memory / gco's",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.memory:
        print(json.dumps(measure_memory(*options.memory)))
        return
    rows = [row for row in SOLVERS if row != "gco" or importlib.util.find_spec("gco")]
    lines = []
    for model in LABELS:
        for unaries in UNARIES:
            small = problem(model, unaries, 0, (20, 20))
            for row in rows:
                SOLVERS[row](model, *small)  # kernels are loaded
            found = list(lines_of(model, unaries, options, rows))
            peer = {line["row"]: line["megabytes"] for line in found}.get("gco")
            lines += [line | {"memory": peer and line["megabytes"] / peer} for line in found]
            print(*lines[-len(rows) :], sep="\n", flush=True)
    note = (
        f"Images of {HEIGHT} × {WIDTH} pixels, {options.seeds} seeds, best of {options.repeats}; "
        f"tree_reweighted: {ROUNDS} iterations. The bars are 1 for time, 0 % for energy, 1.5 for "
        "memory, of alpha_expansion."
    )
    cells = tuple(tuple("" if line[c] is None else line[c] for c in COLUMNS) for line in lines)
    table = Table("Large grids against gco", tuple(COLUMNS.values()), cells, note)
    if options.out:
        write_tables(
            options.out, "grids", [table], {"seeds": options.seeds, "repeats": options.repeats}
        )
    print(table.markdown())


if __name__ == "__main__":
    main()
