"""The demo: scenes that come with the package, every solver that takes them, one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from policrf.crf.checks import IntArray
from policrf.crf.instance import Instance
from policrf.crf.synthetic import make_scene
from policrf.evaluate.report import Table
from policrf.solvers import solve

SOLVERS = (
    "unary",
    "icm",
    "highest_confidence_first",
    "mean_field",
    "belief_propagation",
    "dual_decomposition",
    "lazy_flipper",
    "alpha_expansion",
    "refine",
    "exact",
)


@dataclass(frozen=True)
class Scored:
    """One solver on one scene."""

    labels: IntArray
    energy: float
    optimal: bool
    seconds: float
    accuracy: float


@dataclass
class Demo:
    """All scenes and what every solver made of them."""

    scenes: list[Instance]
    results: dict[str, list[Scored]] = field(default_factory=dict)

    def reference(self, scene: int) -> float:
        """The lowest energy that any solver found for a scene."""
        return min(row[scene].energy for row in self.results.values())

    @property
    def proven(self) -> int:
        """Scenes whose reference is a proven optimum."""
        return sum(
            any(row[k].optimal for row in self.results.values()) for k in range(len(self.scenes))
        )

    def table(self) -> Table:
        """Mean energy, gap, accuracy and time of every solver."""
        rows = []
        for name, row in self.results.items():
            gaps = [
                100 * (scored.energy - self.reference(k)) / abs(self.reference(k))
                for k, scored in enumerate(row)
            ]
            rows.append(
                (
                    name,
                    float(np.mean([s.energy for s in row])),
                    float(np.mean(gaps)),
                    100 * float(np.mean([s.accuracy for s in row])),
                    1e3 * float(np.median([s.seconds for s in row])),
                )
            )
        count, size = len(self.scenes), self.scenes[0].crf.n_nodes
        title = f"{count} scenes of {size} nodes, 21 labels, U+P+HOP1+HOP2 (regime B)"
        note = f"gap: to the lowest energy found, proven optimal on {self.proven} of {count} scenes"
        columns = ("solver", "energy", "gap %", "accuracy %", "median ms")
        return Table(title, columns, tuple(rows), note)


def run_demo(
    *, scenes: int, nodes: int, seed: int, seconds: float, progress: Callable[[str], None]
) -> Demo:
    """Solve every scene with every solver; kernels are warmed up before anything is timed."""
    demo = Demo([make_scene(nodes, "B", seed=10_000 + seed + k) for k in range(scenes)])
    small = make_scene(30, "B", seed=seed)
    for name in SOLVERS:
        solve(small, name, seconds=seconds, seed=seed)
        demo.results[name] = []
        for scene in demo.scenes:
            demo.results[name].append(_score(scene, name, seconds, seed))
            progress(name)
    return demo


def _score(scene: Instance, solver: str, seconds: float, seed: int) -> Scored:
    solution = solve(scene, solver, seconds=seconds, seed=seed)
    truth = scene.true_labels
    known = truth >= 0
    accuracy = float((solution.labels == truth)[known].mean())
    return Scored(solution.labels, solution.energy, solution.optimal, solution.seconds, accuracy)
