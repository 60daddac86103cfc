"""Labels on real images: shared policies learned on one half of VOC val, reported on the other.

    python benchmarks/labels_voc.py DATA --work tables --sizes 250 500

The half-width net, superpixels that follow it, boxes of a detector that has not seen VOC; all
terms.
The energy is the default one, or what `calibrate` chose on the half that is learned from. Rows:
solvers and the untrained rule under that energy, and policies learned in several ways, each kept
only if it wins on the part of its own half that is held out (`goal="labels"`: early stopping by
IoU, then the paired test); "forced" rows are the last weights, whatever was chosen, with all or
less of their trust. `--small-units` divides every image's energy by a number, which changes no
minimum: energies of pixels are in hundreds a node, and a learned correction is not. IoU of pixels
over the classes that are on ten images or more, of both halves together; differences in points with
paired 95 % intervals (bootstrap over images).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from command import run
from voc_halves import NETS, voc_halves

from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import BoxAgreement, BoxSupport, Potts
from policrf.crf.potentials.base import Potential
from policrf.datasets.instances import load_prepared
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.train import train
from policrf.metrics import pixel_confusion
from policrf.policy.checkpoint import load_policy
from policrf.policy.policy import Policy
from policrf.solvers import solve

DETECTOR = "yolo-fastest-1.1-xl.cfg"  # learned on COCO: it has not seen VOC
KIND = "u+p+hop1+hop2"
HALVES = ("half1", "half2")
SOLVERS = ("unary", "icm", "alpha_expansion", "refine", "trws", "untrained")
FREQUENT, DRAWS = 10, 1000
SPAN = 5.0
WAYS: dict[str, dict[str, Any]] = {
    "from nothing": {},
    "from nothing, slow": {"learning_rate": 5e-4, "balance": 0.0},
    "from labels": {"start": "labels", "learning_rate": 1e-3, "balance": 0.0},
}
TRUSTS = (0.1, 0.3)


@dataclass(frozen=True)
class Config:
    """Where data is, where results go."""

    data: Annotated[Path, tyro.conf.Positional]
    """Holds voc/VOC2012 and nets."""
    work: Path = Path("tables")
    """Prepared data, energies and policies; what is there is not made again."""
    sizes: tuple[int, ...] = (250, 500)
    val: Path | None = None
    """All of val, prepared with boxes already: its images in turn are the halves, whatever size."""
    rounds: int = 30
    """Of learning, a policy; 16 gradient steps each."""
    images: int = 0
    """On which calibrate chooses the energy; 0: the default energy."""
    small_units: bool = False
    """Energies in units in which the unaries of a node span 5 on average, as those of scenes do."""
    jobs: int = 1
    out: Path = Path("benchmarks/results")
    name: str = "labels-voc"


def prepared(config: Config, size: int, half: str) -> list[Instance]:
    """The images of a half under the energy that belongs to the other."""
    if config.val is not None:
        return list(load_prepared(config.val, potentials=KIND))[HALVES.index(half) :: 2]
    root, nets = voc_halves(config), config.data / "nets"
    for part in HALVES:
        folder = config.work / f"half-{size}-{part}-boxes"
        if not (folder / "index.json").exists():
            run(
                "prepare", "voc", "--root", root, "--split", part, "--net", nets / NETS["half"],
                "--detector", nets / DETECTOR, "--superpixels", size, "--out", folder,
                "--jobs", config.jobs, "--components", 0,
            )  # fmt: skip
    return under_energy(config, size, half, HALVES[1 - HALVES.index(half)])


def under_energy(config: Config, size: int, half: str, chosen_on: str) -> list[Instance]:
    """The images of a half under the energy that was chosen on one of them, or the default."""
    folder = config.work / f"half-{size}-{half}-boxes"
    if not config.images:
        return list(load_prepared(folder, potentials=KIND))
    energy = config.work / f"half-{size}-{chosen_on}-boxes.yaml"
    if not energy.exists():
        source = config.work / f"half-{size}-{chosen_on}-boxes"
        run("calibrate", source, "--out", energy, "--jobs", config.jobs, "--images", config.images)
    return list(load_prepared(folder, energy.with_suffix(f".{KIND}.yaml")))


def learned(config: Config, size: int, half: str, way: str, training: list[Instance]) -> Path:
    """The run's folder; its last weights are what was learned, its best what the test let pass."""
    units = "-small-units" if config.small_units else ""
    folder = config.work / f"policy-{size}-{half}-{way.replace(', ', '-').replace(' ', '-')}{units}"
    if not (folder / "report.json").exists():
        train(
            training, "imitate", goal="labels", out=folder, rounds=config.rounds,
            decay_rounds=config.rounds, validate_rounds=5, overwrite=True,
            **WAYS[way],
        )  # fmt: skip
    return folder


def in_small_units(instance: Instance) -> Instance:
    """The same energy divided by a number: unaries span `SPAN` on average."""
    crf = instance.crf
    allowed = np.where(np.isfinite(crf.unary), crf.unary, np.nan)
    by = float(np.mean(np.nanmax(allowed, axis=1) - np.nanmin(allowed, axis=1))) / SPAN
    groups: list[Potential] = []
    for group in crf.potentials:
        cliques = [] if isinstance(group, Potts) else list(group.cliques)
        match group:
            case Potts():
                groups.append(Potts(group.edges, group.weights / by))
            case BoxAgreement():
                groups.append(BoxAgreement(cliques, group.labels, group.weights / by))
            case BoxSupport():
                groups.append(BoxSupport(cliques, group.labels, group.penalties / by, group.counts))
    assert len(groups) == len(crf.potentials)
    return replace(instance, crf=CRF(crf.unary / by, *groups))


def confusions(instances: list[Instance], solver: str | Policy) -> np.ndarray:
    """Pixels by true and given label of every image [images, L, L]."""
    return np.array([pixel_confusion(i.truth, solve(i, solver).labels) for i in instances])


def frequent_iou(counts: np.ndarray, classes: np.ndarray) -> float:
    total = counts.sum(axis=0)
    both = np.diag(total)
    union = total.sum(axis=0) + total.sum(axis=1) - both
    return float(100 * np.mean(both[classes] / np.maximum(union[classes], 1)))


def gain(counts: np.ndarray, base: np.ndarray, classes: np.ndarray) -> str:
    """The difference in points with its bootstrap interval."""
    generator = np.random.default_rng(0)
    drawn = generator.integers(len(counts), size=(DRAWS, len(counts)))
    found = [frequent_iou(counts[k], classes) - frequent_iou(base[k], classes) for k in drawn]
    low, high = np.percentile(found, [2.5, 97.5])
    mean = frequent_iou(counts, classes) - frequent_iou(base, classes)
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def rows_of(config: Config, size: int) -> dict[str, np.ndarray]:
    """The confusions of every row, over both halves."""
    found: dict[str, list[np.ndarray]] = {}
    halves = {half: prepared(config, size, half) for half in HALVES}
    if config.small_units:
        halves = {half: [in_small_units(one) for one in images] for half, images in halves.items()}
    for half, images in halves.items():
        # Learned on the other half, under the energy that was chosen there.
        other = HALVES[1 - HALVES.index(half)]
        training = halves[other]
        if config.images:
            assert not config.small_units, "small units are for the default energy"
            training = under_energy(config, size, other, other)
        for solver in SOLVERS:
            found.setdefault(solver, []).append(confusions(images, solver))
        found.setdefault("labels, as it ships", []).append(confusions(images, "labels"))
        for way in WAYS:
            folder = learned(config, size, other, way, training)
            won = json.loads((folder / "report.json").read_text())["config"]["won"]
            print(size, half, way, "won" if won else "did not win", flush=True)
            policy = load_policy(folder / "learned.safetensors")  # early stopping's choice
            found.setdefault(f"{way}, judged", []).append(
                confusions(images, policy if won else "untrained")
            )
            policy = load_policy(folder / "last.safetensors")
            for trust in (1.0, *TRUSTS):
                weighed = replace(policy, spec=replace(policy.spec, trust=trust))
                name = f"{way}, forced, trust {trust:g}"
                found.setdefault(name, []).append(confusions(images, weighed))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def table_of(size: int, rows: dict[str, np.ndarray]) -> Table:
    true = next(iter(rows.values())).sum(axis=2)  # [images, L]
    classes = np.flatnonzero((true > 0).sum(axis=0) >= FREQUENT)
    solvers = [name for name in SOLVERS if name not in ("unary", "untrained")]
    best = max(solvers, key=lambda name: frequent_iou(rows[name], classes))
    body = tuple(
        (name, f"{frequent_iou(counts, classes):.2f}", gain(counts, rows[best], classes),
         gain(counts, rows["untrained"], classes))
        for name, counts in rows.items()
    )  # fmt: skip
    columns = ("labels of", "frequent IoU", f"− {best} (best solver)", "− untrained")
    return Table(f"VOC val by halves, N = {size}, {KIND}", columns, body)


def main(config: Config) -> None:
    tables = []
    for size in config.sizes:
        tables.append(table_of(size, rows_of(config, size)))
        tables[-1].show()
        val = None if config.val is None else Path(config.val.name)
        told = replace(config, data=Path(config.data.name), work=Path(config.work.name), val=val)
        write_tables(config.out, config.name, tables, told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
