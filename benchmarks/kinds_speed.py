"""What a labeling takes: the shared kind beside the residual one, all weights at random.

    python benchmarks/kinds_speed.py

Scenes of regime B, 21 labels, one thread, CPU time, the least of several runs. "Labeling" is an
engine that exists already and loads other weights, as in learning; "solve" is everything from the
instance on. The untrained rule is the residual kind with nothing to add, which looks at no network.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.crf.instance import Instance
from policrf.evaluation.tables import Table, write_tables
from policrf.policy.engine import Engine
from policrf.policy.network import Spec
from policrf.policy.policy import Policy
from policrf.scenes import make_scene
from policrf.solvers import solve

WIDTHS = {"residual": 32, "shared": 16}  # the defaults of the methods that learn them


@dataclass(frozen=True)
class Config:
    """Which sizes."""

    sizes: tuple[int, ...] = (250, 1000, 10_000)
    repeats: int = 15
    out: Path = Path("benchmarks/results")
    name: str = "kinds-speed"


def random_policy(kind: str, scene: Instance) -> Policy:
    """Every tensor at random, so that nothing is left out."""
    spec = Spec(
        kind=kind, n_labels=scene.crf.n_labels, n_features=scene.features.shape[1],
        width=WIDTHS[kind],
    )  # fmt: skip
    rng = np.random.default_rng(0)
    weights = {
        name: (0.3 * rng.normal(size=shape) / np.sqrt(max(1, shape[-1]))).astype(np.float32)
        for name, shape in spec.shapes().items()
    }
    return Policy(spec, weights)


def least(repeats: int, call: Callable[[], object]) -> float:
    """CPU milliseconds of the fastest run; the first one is not counted."""
    call()
    found = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return 1000 * min(found)


def main(config: Config) -> None:
    rows = []
    for size in config.sizes:
        scene = make_scene(size, "B", seed=5)
        repeats = max(3, min(config.repeats, config.repeats * 1000 // size))
        taken = {"untrained": (None, least(repeats, lambda s=scene: solve(s, "untrained")))}
        for kind in WIDTHS:
            policy = random_policy(kind, scene)
            engine = Engine(policy, scene, track=False)

            def label(engine: Engine = engine, policy: Policy = policy) -> None:
                engine.load(policy)
                engine.label_all()

            whole = least(repeats, lambda s=scene, p=policy: solve(s, p))
            taken[kind] = (least(repeats, label), whole)
        for kind, (labeling, whole) in taken.items():
            times = [
                taken[kind][k] / taken["residual"][k] if taken[kind][k] else None for k in (0, 1)
            ]
            shown = ["" if value is None else f"{value:.2f}" for value in times]
            rows.append((size, kind, labeling, shown[0], whole, shown[1]))
            print(*rows[-1], sep=" | ", flush=True)
    columns = ("N", "kind", "labeling, ms", "× residual", "solve, ms", "× residual ")
    tables = [Table("A labeling by kind of network, L = 21", columns, tuple(rows))]
    write_tables(config.out, config.name, tables, {"sizes": config.sizes})


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
