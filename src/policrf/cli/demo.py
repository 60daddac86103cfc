"""`policrf demo`: the main job on embedded data, in a minute or two; a table and a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Config:
    """Solve scenes that come with the package, with every solver."""

    scenes: int = 5
    """How many scenes."""
    nodes: int = 250
    """Nodes of each scene, 20 to 100,000."""
    seed: int = 0
    """Seed of the scenes and of the solvers."""
    seconds: float = 5.0
    """Budget of each solve."""
    out: Path = Path("demo")
    """Folder for the table (Markdown, CSV, JSON) and the page."""
    json: bool = False
    """Print JSON instead of the table."""


def run(config: Config) -> None:
    """Solve, print the table, write the page."""
    from policrf.cli.progress import progress_bar
    from policrf.errors import InvalidOption
    from policrf.evaluate.demo import SOLVERS, run_demo
    from policrf.evaluate.report import write_tables
    from policrf.plots.demo_page import write_demo_page

    if config.scenes < 1:
        raise InvalidOption(f"--scenes is {config.scenes}; it must be at least 1")
    with progress_bar("solving", len(SOLVERS) * config.scenes) as advance:
        demo = run_demo(
            scenes=config.scenes,
            nodes=config.nodes,
            seed=config.seed,
            seconds=config.seconds,
            progress=advance,
        )
    table = demo.table()
    write_tables(config.out, "demo", [table], config)
    page = config.out / "index.html"
    write_demo_page(demo, page)
    if config.json:
        print(json.dumps({"title": table.title, "rows": table.records(), "page": str(page)}))
    else:
        table.show()
        print(f"A page to open: {page.resolve()}")
