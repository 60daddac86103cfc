"""How much room is there for better labels: between the energy's minimum and what nodes allow?

    python benchmarks/labels_ceiling.py

No labels of nodes are all right in pixels: superpixels hold several true labels. The best that a
labeling can have is the majority of every node. The policy's gain over alpha-expansion is a share
of that room; where its wrong nodes lie says what is left. Fresh scenes (seeds from 983,000,000).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro

from policrf.crf.instance import Instance
from policrf.evaluation.tables import Table, write_tables
from policrf.metrics import mean_iou, pixel_confusion
from policrf.scenes import make_scene
from policrf.solvers import solve
from policrf.types import IntArray

FRESH = 983_000_000
ROWS = ("alpha_expansion", "exact", "labels", "majority")


@dataclass(frozen=True)
class Config:
    """What to measure."""

    scenes: tuple[str, ...] = ("A:500:6", "C:50:6", "C:250:6", "C:500:6", "C:500:21", "C:500:50")
    """Regimes, nodes and labels."""
    count: int = 20
    seconds: float = 5.0
    """For the proof of a scene's minimum."""
    out: Path = Path("benchmarks/results")
    name: str = "labels-ceiling"


def truth_of(scene: Instance) -> IntArray:
    """Pixels of every true label `[N, L]`."""
    assert scene.truth is not None
    return scene.truth


def at_boundaries(scene: Instance) -> np.ndarray:
    """Nodes with a neighbour of another true label `[N]`."""
    majority = truth_of(scene).argmax(axis=1)
    apart = scene.edges[majority[scene.edges[:, 0]] != majority[scene.edges[:, 1]]]
    found = np.zeros(len(majority), bool)
    found[apart.ravel()] = True
    return found


def row(text: str, config: Config) -> tuple[object, ...]:
    """One kind of scenes: IoU of the whole set by row, and what they tell."""
    regime, nodes, labels = text.split(":")
    confusions: dict[str, list[IntArray]] = {name: [] for name in ROWS}
    proven, wrong, near = 0, 0, 0
    for k in range(config.count):
        scene = make_scene(int(nodes), regime, seed=FRESH + k, n_labels=int(labels))
        truth = truth_of(scene)
        best = solve(scene, "exact", seconds=config.seconds)
        found = {
            "alpha_expansion": solve(scene, "alpha_expansion").labels, "exact": best.labels,
            "labels": solve(scene, "labels").labels, "majority": truth.argmax(axis=1),
        }  # fmt: skip
        for name, its in found.items():
            confusions[name].append(pixel_confusion(truth, its))
        mistaken = found["labels"] != found["majority"]
        proven, wrong = proven + best.optimal, wrong + int(mistaken.sum())
        near += int((mistaken & at_boundaries(scene)).sum())
    ious = {name: 100 * mean_iou(np.sum(some, axis=0)) for name, some in confusions.items()}
    room = ious["majority"] - ious["alpha_expansion"]
    gain = ious["labels"] - ious["alpha_expansion"]
    return (
        f"{regime}, N = {nodes}, L = {labels}", *(f"{ious[name]:.1f}" for name in ROWS),
        f"{gain:+.1f} of {room:.1f}", f"{100 * near / max(1, wrong):.0f} %", f"{proven}",
    )  # fmt: skip


def main(config: Config) -> None:
    rows = []
    for text in config.scenes:
        rows.append(row(text, config))
        print(*rows[-1], sep=" | ", flush=True)
    columns = (
        "scenes", "alpha_expansion", "energy's minimum", "labels", "majority of every node",
        "gain of the room there is", "its wrong nodes at boundaries", "proven",
    )  # fmt: skip
    note = f"IoU in pixels over {config.count} fresh scenes a row."
    table = Table("Room for better labels", columns, tuple(rows), note)
    write_tables(config.out, config.name, [table], config)


if __name__ == "__main__":
    main(tyro.cli(Config, description=__doc__))
