"""`policrf demo`: the main job on embedded data, in under three minutes; a table and a page."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policrf.bench.rows import DEMO


@dataclass(frozen=True)
class Config:
    """Train a policy on scenes that come with the package, and hold it against every solver."""

    solvers: tuple[str, ...] = DEMO
    """Solvers and policies (names or files), with options as NAME:option=value,…"""
    scenes: int = 30
    """Scenes to report on; none of them is trained on."""
    nodes: int = 50
    """Nodes of each scene, 20 to 100,000."""
    out: Path = Path("demo")
    """Folder for the table (Markdown, CSV, JSON), the policy and the page."""
    train_seconds: float = 60.0
    """Time limit of the training; 0 leaves the policy out."""
    picture_nodes: int = 250
    """Nodes of the scene that the page shows."""
    seconds: float = 20.0
    """Budget of each solve; ample, since a kernel may have to be compiled in it."""
    seed: int = 0
    """Seed of the scenes, the training and the solvers."""
    json: bool = False
    """Print JSON instead of the table."""


def run(config: Config) -> None:
    """Train, solve, print the table, write the page."""
    from policrf.crf.io.outputs import claimed
    from policrf.errors import InvalidOption
    from policrf.solvers.spec import SolverSpec

    for row in config.solvers:
        SolverSpec.parse(row)
    if config.scenes < 1:
        raise InvalidOption(f"--scenes is {config.scenes}; it must be at least 1")
    with claimed(config.out):
        _demo(config)


def _demo(config: Config) -> None:
    from policrf.bench import demo
    from policrf.cli.progress import progress_bar
    from policrf.evaluation.tables import write_tables
    from policrf.explore.demo_page import write_demo_page
    from policrf.scenes import make_scene

    scenes = [
        make_scene(config.nodes, demo.REGIME, seed=demo.TEST_SEEDS + config.seed + k)
        for k in range(config.scenes)
    ]
    larger = make_scene(config.picture_nodes, demo.REGIME, seed=demo.PICTURE_SEED + config.seed)
    policy = demo.train_policy(
        nodes=config.nodes, seconds=config.train_seconds, seed=config.seed, report=_say
    )
    if policy is None and config.train_seconds > 0:
        print("policrf: no training, torch is not installed (the extra `learn`)", file=sys.stderr)
    rows = demo.rows_of(config.solvers, policy)
    with progress_bar("solving", len(rows) * (config.scenes + 1)) as advance:
        budget: dict[str, Any] = {"seconds": config.seconds, "seed": config.seed}
        results = demo.solve_scenes(scenes, rows, progress=advance, **budget)
        picture = demo.solve_scenes([larger], rows, progress=advance, **budget)
    table = results.table()
    write_tables(config.out, "demo", [table], config)
    if policy is not None:
        policy.save(config.out / "policy.safetensors")
    page = config.out / "index.html"
    write_demo_page(results, picture, page)
    if config.json:
        print(json.dumps({"title": table.title, "rows": table.records(), "page": str(page)}))
    else:
        table.show()
        print(f"A page to open: {page.resolve()}")


def _say(figures: dict[str, Any]) -> None:
    """One line a validation."""
    if "energy" in figures:
        print(
            f"training: {figures['seconds']:.0f} s, {figures['episodes']} episodes, "
            f"held-out energy {figures['energy']:.4g}, IoU {figures['iou']:.3g} %",
            file=sys.stderr,
            flush=True,
        )
