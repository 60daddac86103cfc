"""Labels on real images: shared policies learned on one half of VOC val, reported on the other.

    python benchmarks/labels_voc.py DATA --work tables --sizes 250 500 --seeds 3 2

The half-width net, superpixels that follow it, boxes of a detector that has not seen VOC; all terms
of the default energy. Rows: solvers and the untrained rule, the policy `labels` as it ships, and
policies learned by `goal="labels"` (`WAYS`): each is judged by cross-fitting on the half it is
learned from, where its trust is chosen too, and where it does not win its row has the untrained
rule's labels. "All of its trust" is the same policy, whether it won or not, with nothing chosen.
"As unseen" is learned and judged on images of VOC train, degraded until the net does on them as on
val (`as_unseen.py`), at the first of the sizes, and sees no image of val. IoU of pixels over the
classes that are on ten images or more, of both halves together; differences in points with paired
95 % intervals (bootstrap over images), those of several training seeds averaged.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from as_unseen import degraded_root
from command import run
from voc_halves import NETS, voc_halves

from policrf.crf.instance import Instance
from policrf.datasets.instances import load_prepared
from policrf.evaluation.tables import Table, write_tables
from policrf.learn.train import train
from policrf.metrics import FREQUENT, class_iou, mean_iou, pixel_confusion
from policrf.policy.checkpoint import load_policy
from policrf.policy.policy import Policy
from policrf.solvers import solve

DETECTOR = "yolo-fastest-1.1-xl.cfg"  # learned on COCO: it has not seen VOC
KIND = "u+p+hop1+hop2"
HALVES = ("half1", "half2")
SOLVERS = ("unary", "icm", "alpha_expansion", "refine", "trws", "untrained")
DRAWS = 1000
FROM_NOTHING, AS_UNSEEN = "from nothing", "as unseen"
WAYS = (FROM_NOTHING, AS_UNSEEN)
FACTOR, UNSEEN = 0.4, 290  # at which the net's accuracy on train is that on val; images of train


@dataclass(frozen=True)
class Config:
    """Where data is, where results go."""

    data: Annotated[Path, tyro.conf.Positional]
    """Holds voc/VOC2012 and nets."""
    work: Path = Path("tables")
    """Prepared data and policies; what is there is not made again."""
    sizes: tuple[int, ...] = (250, 500)
    seeds: tuple[int, ...] = (3, 3)
    """Of training from nothing, at each size; as unseen has one."""
    rounds: int = 10
    """Of learning, a policy; 16 gradient steps each."""
    jobs: int = 1
    out: Path = Path("benchmarks/results")
    name: str = "labels-voc"


def prepared(config: Config, size: int, split: str) -> list[Instance]:
    """The images of a half, or of train as if unseen."""
    root = degraded_root(config, FACTOR) if split == "train" else voc_halves(config)
    name = f"train-{FACTOR:g}-{size}" if split == "train" else f"half-{size}-{split}-boxes"
    folder, nets = config.work / name, config.data / "nets"
    if not (folder / "index.json").exists():
        run(
            "prepare", "voc", "--root", root, "--split", split, "--net", nets / NETS["half"],
            "--detector", nets / DETECTOR, "--superpixels", size, "--out", folder,
            "--jobs", config.jobs, "--components", 0,
        )  # fmt: skip
    return list(load_prepared(folder, potentials=KIND))


def learned(config: Config, size: int, split: str, way: str, seed: int) -> tuple[Policy, bool]:
    """What was learned, and whether it won on the images that it was learned from."""
    folder = config.work / f"policy-{size}-{split}-{way.replace(' ', '-')}-{seed}"
    if not (folder / "report.json").exists():
        images = prepared(config, size, split)[:UNSEEN]
        train(
            images, "imitate", goal="labels", out=folder, rounds=config.rounds, seed=seed,
            decay_rounds=config.rounds, validate_rounds=config.rounds, overwrite=True,
        )  # fmt: skip
    told = json.loads((folder / "report.json").read_text())["config"]
    print(size, split, way, seed, told["verdict"], "trust", told["trust"], flush=True)
    return load_policy(folder / "learned.safetensors"), bool(told["won"])


def confusions(instances: list[Instance], solver: str | Policy) -> np.ndarray:
    """Pixels by true and given label of every image [images, L, L]."""
    return np.array([pixel_confusion(i.truth, solve(i, solver).labels) for i in instances])


def rows_of(config: Config, size: int) -> dict[str, np.ndarray]:
    """The confusions of every row over both halves [seeds, images, L, L]."""
    halves = {half: prepared(config, size, half) for half in HALVES}
    found: dict[str, dict[int, list[np.ndarray]]] = {}

    def note(name: str, seed: int, images: list[Instance], solver: str | Policy) -> None:
        parts = found.setdefault(name, {}).setdefault(seed, [])
        parts.append(confusions(images, solver))

    for images in halves.values():
        for solver in (*SOLVERS, "labels"):
            note(solver if solver in SOLVERS else "labels, as it ships", 0, images, solver)
    seeds = dict(zip(config.sizes, config.seeds, strict=True))
    for way in WAYS:
        unseen = way == AS_UNSEEN
        for seed in range(1 if unseen else seeds[size]):
            for half, images in halves.items():
                source = "train" if unseen else HALVES[1 - HALVES.index(half)]
                policy, won = learned(
                    config, config.sizes[0] if unseen else size, source, way, seed
                )
                note(f"{way}, judged", seed, images, policy if won else "untrained")
                full = replace(policy, spec=replace(policy.spec, trust=1.0))
                note(f"{way}, all of its trust", seed, images, full)
    return {
        name: np.array([np.concatenate(parts) for parts in seeds.values()])
        for name, seeds in found.items()
    }


def frequent_iou(counts: np.ndarray, classes: np.ndarray) -> float:
    """The mean over seeds of the set's IoU, from [seeds, images, L, L]."""
    return float(np.mean([100 * mean_iou(each.sum(axis=0), classes) for each in counts]))


def gain(counts: np.ndarray, base: np.ndarray, classes: np.ndarray) -> str:
    """The difference in points with its bootstrap interval."""
    generator = np.random.default_rng(0)
    drawn = generator.integers(counts.shape[1], size=(DRAWS, counts.shape[1]))
    found = [frequent_iou(counts[:, k], classes) - frequent_iou(base[:, k], classes) for k in drawn]
    low, high = np.percentile(found, [2.5, 97.5])
    mean = frequent_iou(counts, classes) - frequent_iou(base, classes)
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]"


def table_of(size: int, rows: dict[str, np.ndarray]) -> Table:
    true = rows["unary"][0].sum(axis=2)  # [images, L]
    classes = (true > 0).sum(axis=0) >= FREQUENT
    assert np.isfinite(class_iou(rows["unary"][0].sum(axis=0))[classes]).all()
    solvers = [name for name in SOLVERS if name not in ("unary", "untrained")]
    best = max(solvers, key=lambda name: frequent_iou(rows[name], classes))
    body = []
    for name, counts in rows.items():
        seeds = [f"{frequent_iou(one[None], classes):.2f}" for one in counts]
        body.append(
            (name, f"{frequent_iou(counts, classes):.2f}", ", ".join(seeds) if seeds[1:] else "",
             gain(counts, rows[best], classes), gain(counts, rows["untrained"], classes))
        )  # fmt: skip
    columns = ("labels of", "frequent IoU", "of each seed", f"− {best} (best solver)")
    title = f"VOC val by halves, N = {size}, {KIND}"
    return Table(title, (*columns, "− untrained"), tuple(body))


def main(config: Config) -> None:
    tables = []
    for size in config.sizes:
        tables.append(table_of(size, rows_of(config, size)))
        tables[-1].show()
        told = replace(config, data=Path(config.data.name), work=Path(config.work.name))
        write_tables(config.out, config.name, tables, told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
