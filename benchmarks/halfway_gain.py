"""What a label's promise should count in cliques asked half-way, and what a step costs there.

    python benchmarks/halfway_gain.py --form eighths

Table 1 and 2: mean energy of the untrained policy with ICM after it, by family, form of the gain
and its unit c. The default c is the one of the smallest excess on the seeds for tuning: the mean
over families and sizes of how far the mean energy is above the family's lowest of all rows. Table
3: milliseconds to label 10,000 nodes, best of several, processor time.

A form is the code that is measured: every one has a file of its results, measured on the commit
that has it, and the tables show all files that are there. "unlabeled" is the sum over the
unlabeled members as it was first, which changes at every step; "eighths" the one of `mdp/gains.py`.
"""

from __future__ import annotations

import csv
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

import policrf as pc
from policrf.crf.io.files import atomic_write
from policrf.evaluation.tables import Table, write_tables
from policrf.scenes import FAMILIES, make_family

Rows = list[dict[str, str]]
LABELS = 6
SLOW = {"black_box": 6}  # seeds at the larger sizes


@dataclass(frozen=True)
class Config:
    """What to measure."""

    form: str = "eighths"
    """Name of the form of the gain that this code has."""
    units: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5, 0.8)
    families: tuple[str, ...] = tuple(FAMILIES)
    sizes: tuple[int, ...] = (144, 1000)
    tuning: tuple[int, ...] = (20, 6)
    """Seeds for the choice of c, from 5,000 on, by size."""
    reported: tuple[int, ...] = (30, 30)
    """Seeds of the energies that are shown, from 0 on, by size."""
    large: int = 10_000
    """Nodes for the times; 0 for none."""
    timed: tuple[str, ...] = ("label_cost", "two_labels", "order", "potts")
    patience: float = 60.0
    """Seconds after which a time is not measured again."""
    measure: bool = True
    """Whether to measure this code; else only the tables of what is there are written."""
    out: Path = Path("benchmarks/results")


def energies(config: Config, first: int, counts: tuple[int, ...]) -> Rows:
    rows = []
    for family in config.families:
        for size, count in zip(config.sizes, counts, strict=True):
            if size > 144:
                count = min(count, SLOW.get(family, count))
            for unit in config.units:
                found = [solved(family, size, first + k, unit) for k in range(count)]
                mean, seconds = np.mean(found, axis=0)
                row = {"form": config.form, "family": family, "n": size, "c": unit}
                row |= {"seeds": f"{first}+{count}", "energy": mean, "ms": 1000 * seconds}
                print(row, flush=True)
                rows.append({name: str(value) for name, value in row.items()})
    return rows


def solved(family: str, size: int, seed: int, unit: float) -> tuple[float, float]:
    """Energy after ICM, and processor seconds of the labeling."""
    crf = make_family(family, size, LABELS, seed=seed)
    instance = pc.Instance.from_crf(crf)
    n_features = instance.features.shape[1]
    policy = pc.Policy.untrained(n_labels=LABELS, n_features=n_features, gain=unit)
    start = time.process_time()
    solution = pc.solve(instance, policy)
    seconds = time.process_time() - start
    return pc.solve(crf, "icm", initial=solution.labels).energy, seconds


def times(config: Config) -> Rows:
    rows = []
    for family in config.timed if config.large else ():
        crf = make_family("parity" if family == "potts" else family, config.large, LABELS)
        if family == "potts":
            crf = pc.CRF(crf.unary, crf.potentials[0])
        instance = pc.Instance.from_crf(crf)
        for solver in ("untrained", "highest_confidence_first:descend=false"):
            pc.solve(make_family("parity", 64, LABELS), solver)
            found = []
            while len(found) < 5 and sum(found) < config.patience:
                start = time.process_time()
                pc.solve(instance, solver)
                found.append(time.process_time() - start)
            row = {"form": config.form, "family": family, "n": config.large, "c": solver}
            row |= {"seeds": "time", "energy": "", "ms": 1000 * min(found)}
            print(row, flush=True)
            rows.append({name: str(value) for name, value in row.items()})
    return rows


def tables(rows: Rows) -> list[Table]:
    """Energies by size, and times."""
    tuned = [row for row in rows if row["seeds"].startswith("5000+")]
    shown = [row for row in rows if row["seeds"].startswith("0+")]
    out = []
    excess = excesses(tuned)
    for size in sorted({int(row["n"]) for row in shown}):
        here = [row for row in shown if row["n"] == str(size)]
        families = list(dict.fromkeys(row["family"] for row in here))
        body = []
        for form, unit in dict.fromkeys((row["form"], row["c"]) for row in here):
            of = [row for row in here if (row["form"], row["c"]) == (form, unit)]
            mean = {row["family"]: float(row["energy"]) for row in of}
            cells = (*(mean[family] for family in families), excesses(here)[form, unit])
            body.append((form, float(unit), *cells, excess[form, unit]))
        columns = ("form", "c", *families, "excess, %", "excess for tuning, both sizes, %")
        out.append(Table(f"Untrained and ICM, N = {size:,}", columns, tuple(body), NOTE))
    timed = [row for row in rows if row["seeds"] == "time"]
    body = [(row["family"], row["c"], row["form"], float(row["ms"])) for row in timed]
    if body:
        title = f"Milliseconds to label {int(timed[0]['n']):,} nodes"
        columns = ("potential", "solver", "form", "ms")
        out.append(Table(title, columns, tuple(sorted(body))))
    return out


NOTE = (
    "Mean energy over seeds 0 to 29 (black_box, N = 1,000: 0 to 5). Excess: the mean over families "
    "of how far the mean energy is above the lowest of all rows. For tuning: seeds 5,000 on."
)


def excesses(rows: Rows) -> dict[tuple[str, str], float]:
    """Percent above the lowest mean energy of a family and size, by form and c."""
    lowest: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row["family"], row["n"]
        lowest[key] = min(lowest.get(key, np.inf), float(row["energy"]))
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        above = float(row["energy"]) / lowest[row["family"], row["n"]] - 1
        found.setdefault((row["form"], row["c"]), []).append(100 * above)
    return {key: float(np.mean(values)) for key, values in found.items()}


def measure(config: Config) -> None:
    """Write what this code gives, for the tables."""
    rows = energies(config, 5000, config.tuning) + energies(config, 0, config.reported)
    rows += times(config)
    path = config.out / f"halfway-gain-of-{config.form}.csv"
    with atomic_write(path) as file:
        lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows), ""]
        file.write("\n".join(lines).encode())


def main(config: Config) -> None:
    if config.measure:
        measure(config)
    everything: Rows = []
    for other in sorted(config.out.glob("halfway-gain-of-*.csv")):
        with other.open(encoding="utf-8", newline="") as file:
            everything += list(csv.DictReader(file))
    shown = tables(everything)
    for table in shown:
        table.show()
    write_tables(config.out, "halfway-gain", shown, config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
