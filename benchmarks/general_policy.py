"""One policy for everything: where is it below the untrained rule, and does it pay beside it?

    python benchmarks/general_policy.py --policy runs/general/last.safetensors \
        --prepared tables/half-250-half1 --uai data/uai

Fresh instances (seeds from 982,000,000) of numbers of labels and nodes that it was not trained
with, families that it has not seen (connectivity, black_box), prepared images and models in files.
Differences in percent of the untrained rule's energy: of the policy's labels from the rule's; of
the lower of both, the policy *beside* the rule, from what that time buys otherwise: the lower of
two rules (a second gain), and the rule with refine, as long as both took. Paired, with 95 %
intervals (Student's t). CPU milliseconds of one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import tyro
from scipy.stats import t as student

from policrf.crf.instance import Instance
from policrf.datasets.sources import load_instances
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.evaluation.tables import Table, write_tables
from policrf.policy.checkpoint import load_policy
from policrf.policy.policy import Policy
from policrf.scenes import FAMILIES, make_family, make_scene
from policrf.solvers import solve

FRESH = 982_000_000
OTHER = "untrained:gain=0.2"
UNSEEN = ("connectivity", "black_box")
SLOW = 1000  # nodes from which on the families of expensive functions are left out
NEGLIGIBLE = 1e-9  # percent: rounding
COMPARED = (
    "policy − rule", "beside − rule", "beside − two rules", "beside − rule + refine, equal time"
)  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Which policy, which instances."""

    policy: str
    scenes: tuple[str, ...] = ("100:3", "250:10", "500:50", "10000:21")
    """Nodes and labels of the scenes."""
    families: tuple[str, ...] = ("144:3", "576:10", "144:16", "144:32", "2304:6", "10000:6")
    """Nodes and labels of the families."""
    names: tuple[str, ...] = tuple(FAMILIES)
    prepared: tuple[Path, ...] = ()
    energy: Path | None = None
    images: int = 40
    uai: Path | None = None
    """A folder of .uai models."""
    count: int = 20
    """Instances a cell, fewer of more than 500 nodes."""
    out: Path = Path("benchmarks/results")
    name: str = "general"


def cells(config: Config) -> Iterator[tuple[str, Sequence[Instance]]]:
    for text in config.scenes:
        nodes, labels = map(int, text.split(":"))
        for regime in "ABC":
            made = [make_scene(nodes, regime, seed=FRESH + k, n_labels=labels)
                    for k in range(count_of(config, nodes))]  # fmt: skip
            yield f"{regime}, N = {nodes}, L = {labels}", made
    for folder in config.prepared:
        found = load_instances(folder, energy=config.energy)
        yield folder.name, list(islice(found, config.images))
    if config.uai is not None:
        yield (
            "models in .uai files",
            [
                Instance.from_crf(load_instances(path)[0].crf)
                for path in sorted(config.uai.glob("*.uai"))
            ],
        )
    for text in config.families:
        nodes, labels = map(int, text.split(":"))
        slow = UNSEEN if nodes > SLOW else ()
        for name in (name for name in config.names if name not in slow):
            made = [Instance.from_crf(make_family(name, nodes, labels, FRESH + k))
                    for k in range(count_of(config, nodes))]  # fmt: skip
            new = ", not trained on" if name in UNSEEN else ""
            yield f"{name}, N = {nodes}, L = {labels}{new}", made


def count_of(config: Config, nodes: int) -> int:
    """As many as take a few seconds."""
    return max(3, min(config.count, config.count * 500 // nodes))


def figures(policy: Policy, instances: Sequence[Instance]) -> np.ndarray:
    """Energies of every instance [count, 4], and milliseconds of rule and policy [count, 2]."""
    found = []
    for instance in (instances[0], *instances):  # the first one again: kernels
        with cpu_budgets():
            rule, first = timed(instance, "untrained")
            own, second = timed(instance, policy)
            other, _ = timed(instance, OTHER)
            refined, _ = timed(instance, "untrained:refine=true", seconds=first + second)
        found.append((rule, own, min(rule, other), refined, 1e3 * first, 1e3 * second))
    return np.array(found[1:])


def timed(instance: Instance, solver: str | Policy, **options: float) -> tuple[float, float]:
    """The energy and the seconds."""
    begun = time.perf_counter()
    energy = solve(instance, solver, **options).energy
    return energy, time.perf_counter() - begun


def side_of(less: np.ndarray) -> tuple[str, int]:
    """The mean difference with its interval; −1: below beyond it, 1: above, 0: neither."""
    mean, count = float(less.mean()), len(less)
    half = float(student.ppf(0.975, count - 1) * less.std(ddof=1) / np.sqrt(count))
    beyond = abs(mean) > half and abs(mean) > NEGLIGIBLE
    return f"{mean:+.2f} ± {half:.2f}", int(np.sign(mean)) if beyond else 0


def main(config: Config) -> None:
    policy = load_policy(config.policy)
    rows, sides = [], []
    for cell, instances in cells(config):
        found = figures(policy, instances)
        rule, own, two_rules, refined = found[:, :4].T
        beside = np.minimum(rule, own)
        pairs = ((own, rule), (beside, rule), (beside, two_rules), (beside, refined))
        percent = 100 / np.maximum(np.abs(rule), 1e-9)
        less = [side_of((way - other) * percent) for way, other in pairs]
        sides.append([side for _, side in less])
        ms = " / ".join(f"{value:.3g}" for value in np.median(found[:, 4:], axis=0))
        rows.append((cell, len(instances), *(text for text, _ in less), ms))
        print(*rows[-1], sep=" | ", flush=True)
    counted = np.array(sides)
    summary = tuple(
        (way, *(int((counted[:, k] == side).sum()) for side in (-1, 0, 1)))
        for k, way in enumerate(COMPARED)
    )
    note = "Cells beyond the paired 95 % interval."
    columns = ("instances", "count", *(f"{way}, %" for way in COMPARED), "ms, rule / policy")
    tables = [
        Table(f"{policy.name}, by itself and beside the rule",
              ("energy of", "below", "level", "above"), summary, note),
        Table("By kind of instance", columns, tuple(rows)),
    ]  # fmt: skip
    told = {"first seed": FRESH, "policy": policy.name, "count": config.count}
    write_tables(config.out, config.name, tables, told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
