"""Is every shipped policy better than the untrained rule at its goal? What is not goes.

    python benchmarks/shipped_policies.py --policies labels runs/x/best.safetensors=energy
    python benchmarks/shipped_policies.py --prepared tables/half-250-half1 --energy energy.yaml ...

Fresh scenes (seeds from 900,000,000; no training takes those), 21 labels, and prepared images where
they are given. Goal labels: the IoU of single scenes, in points; goal energy: their energy. Both
differences are to the untrained rule on the same scenes, paired, with 95 % intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.crf.instance import Instance
from policrf.datasets.sources import load_instances
from policrf.errors import PolicyMismatch
from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import mean_iou, node_confusion
from policrf.policy.checkpoint import list_policies, load_policy
from policrf.policy.policy import Policy
from policrf.scenes import make_scene
from policrf.solvers import solve

FIRST_SEED = 900_000_000
GOALS = ("labels", "energy")


@dataclass(frozen=True)
class Config:
    """Which policies, which scenes."""

    policies: tuple[str, ...] = ()
    """NAME=GOAL or FILE=GOAL; all of scenes that ship, by the goal of their card, if none."""
    regimes: tuple[str, ...] = ("A", "B", "C")
    sizes: tuple[int, ...] = (50, 250)
    count: int = 40
    """Scenes a cell."""
    prepared: tuple[Path, ...] = ()
    """Prepared images, as further cells."""
    energy: Path | None = None
    """Their energy."""
    out: Path = Path("benchmarks/results")
    name: str = "shipped-policies"


@dataclass(frozen=True)
class Judged:
    """A policy on the scenes of a cell, less the untrained rule."""

    iou: np.ndarray  # [count]
    energy: np.ndarray  # [count]
    gain: np.ndarray  # [count]; IoU, points
    lower: np.ndarray  # [count]; energy

    def better(self, goal: str) -> int:
        """1: better beyond the interval, −1: worse, 0: neither."""
        values = self.gain if goal == "labels" else -self.lower
        mean, half = interval(values)
        return int(np.sign(mean)) if abs(mean) > half else 0


def interval(values: np.ndarray) -> tuple[float, float]:
    """Mean and half of its 95 % interval."""
    return float(values.mean()), float(1.96 * values.std(ddof=1) / np.sqrt(len(values)))


def shown(values: np.ndarray) -> str:
    mean, half = interval(values)
    return f"{mean:+.2f} ± {half:.2f}"


def cells(config: Config) -> Iterator[tuple[str, Sequence[Instance]]]:
    for regime in config.regimes:
        for size in config.sizes:
            seeds = range(FIRST_SEED, FIRST_SEED + config.count)
            yield f"{regime}, N = {size}", [make_scene(size, regime, seed=k) for k in seeds]
    for folder in config.prepared:
        yield folder.name, load_instances(folder, energy=config.energy)


def measured(instances: Sequence[Instance], solver: str | Policy) -> tuple[np.ndarray, np.ndarray]:
    """IoU in points and energy of every instance; true labels are known."""
    found = []
    for instance in instances:
        solution = solve(instance, solver)
        assert instance.truth is not None
        iou = 100 * mean_iou(node_confusion(instance.truth, solution.labels))
        found.append((iou, solution.energy))
    iou, energy = np.array(found).T
    return iou, energy


def goal_of(text: str) -> tuple[str, str]:
    """The policy and its goal."""
    source, _, goal = text.partition("=")
    goal = goal or str(load_policy(source).training.get("card", {}).get("goal", ""))
    if goal not in GOALS:
        raise SystemExit(f"{text}: the goal is {goal!r}; say NAME=labels or NAME=energy")
    return source, goal


def of_scenes() -> list[str]:
    """The policies that ship and were not learned on images; `recipes.py` judges the others."""
    return [name for name in list_policies() if "weights" not in load_policy(name).energy]


def main(config: Config) -> None:
    asked = [goal_of(text) for text in config.policies or of_scenes()]
    rows, verdicts = [], {key: [0, 0, 0] for key in asked}  # better, level, worse
    for cell, instances in cells(config):
        plain_iou, plain_energy = measured(instances, "untrained")
        rows.append((cell, "untrained", "", f"{plain_iou.mean():.1f}", "", plain_energy.mean(), ""))
        for source, goal in asked:
            policy = load_policy(source)
            try:
                iou, energy = measured(instances, policy)
            except PolicyMismatch:
                continue
            judged = Judged(iou, energy, iou - plain_iou, energy - plain_energy)
            verdicts[source, goal][1 - judged.better(goal)] += 1
            row = (cell, policy.name, goal, f"{iou.mean():.1f}", shown(judged.gain), energy.mean())
            rows.append((*row, shown(judged.lower)))
            print(*rows[-1], sep=" | ", flush=True)
    columns = ("scenes", "policy", "goal", "IoU", "− untrained", "energy", "− untrained ")
    decided = tuple(
        (load_policy(source).name, goal, better, level, worse,
         "ships" if better > 0 and worse == 0 else "does not ship")
        for (source, goal), (better, level, worse) in verdicts.items()
    )  # fmt: skip
    summary = Table(
        "Which policies ship", ("policy", "goal", "better", "level", "worse", "verdict"), decided,
        "Cells beyond the paired 95 % interval at the goal. A policy ships if it is better than "
        "the untrained rule in some and worse in none.",
    )  # fmt: skip
    detail = Table(f"On fresh scenes, {config.count} a cell", columns, tuple(rows))
    names = [load_policy(source).name for source, _ in asked]
    told = {"first seed": FIRST_SEED, "count": config.count, "policies": names}
    write_tables(config.out, config.name, [summary, detail], told)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
