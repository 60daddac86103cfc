"""`policrf evaluate PREPARED --solvers NAME … --energy energy.yaml --potentials u+p+hop1`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from policrf.cli.spread import Ray, executor_for
from policrf.errors import InvalidFile, InvalidOption

if TYPE_CHECKING:
    from policrf.crf.instance import Instance
    from policrf.evaluation.results import Result


@dataclass(frozen=True)
class Config:
    """Solve instances with several solvers and compare them."""

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A folder that policrf prepare has made, a folder of models, or scenes (synthetic:B:250)."""
    solvers: tuple[str, ...] = ("unary", "icm")
    """Solvers and policies (names or files), with options as NAME:option=value,…"""
    energy: Path | None = None
    """The weights (energy.yaml); the defaults without it."""
    potentials: str = "u+p+hop1+hop2"
    """Which terms the energy has, joined by +."""
    features: str = "paper"
    """Node features for policies: paper, appearance, ridden, or several joined by +."""
    pixels: bool = True
    """Decide pixels near the boundaries again, as segment does, where the data keep them."""
    out: Path | None = None
    """Folder for results.jsonl, results.csv and the summary; an earlier run there goes on."""
    compare: tuple[str, ...] = ()
    """Pairs of solvers to compare: first second first second …"""
    seconds: float | None = None
    """Time limit of one solver on one instance."""
    limit: int | None = None
    """Only the first instances, this many (scenes: 300 by default)."""
    seed: int = 0
    """Seed of the solvers and of the bootstrap."""
    jobs: int = os.cpu_count() or 1
    """Processes."""
    ray: Ray = ""
    json: bool = False
    """Print one JSON object instead of tables."""


def run(config: Config) -> None:
    """Evaluate, write the tables if asked, and print the summary."""
    from policrf.crf.io.outputs import claimed
    from policrf.datasets.instances import InstanceSequence
    from policrf.datasets.sources import load_instances
    from policrf.evaluation.judging import REFERENCES

    if len(config.compare) % 2:
        raise InvalidOption("--compare takes pairs of solvers: first second first second …")
    instances = load_instances(
        config.data, energy=config.energy, potentials=config.potentials, features=config.features,
        count=config.limit or 0,
    )  # fmt: skip
    prepared = isinstance(instances, InstanceSequence)
    solvers = [*(REFERENCES if prepared else ()), *config.solvers]
    for row in config.compare:
        if row not in solvers:
            raise InvalidOption(
                f"--compare {row}: it is not among the solvers {', '.join(solvers)}"
            )
    if config.out is None:
        _evaluate(config, instances, solvers)
        return
    with claimed(config.out):
        _begin(config, instances)
        _evaluate(config, instances, solvers)


def _evaluate(config: Config, instances: Sequence[Instance], solvers: Sequence[str]) -> None:
    from policrf.cli.progress import progress_bar
    from policrf.evaluation.runner import evaluate
    from policrf.evaluation.summary_tables import summary_markdown, write_summary

    with (
        executor_for(config.jobs, config.ray) as executor,
        progress_bar("evaluating", len(instances) * len(solvers)) as advance,
    ):
        grid = evaluate(
            instances, solvers, out=config.out, seconds=config.seconds, seed=config.seed,
            pixels=config.pixels, executor=executor, advance=advance,
        )  # fmt: skip
    rows = [grid.row(solver) for solver in grid.solvers()]
    pairs = zip(config.compare[::2], config.compare[1::2], strict=True)
    comparisons = [grid.compare(first, second) for first, second in pairs]
    if config.out is not None:
        write_summary(config.out, rows, grid.labels, comparisons)
        _write_csv(config.out / "results.csv", grid.results)
    if config.json:
        print(json.dumps({"rows": rows, "comparisons": [vars(pair) for pair in comparisons]}))
    else:
        print(summary_markdown(rows, comparisons), end="")


def _begin(config: Config, instances: Sequence[Instance]) -> None:
    """Write the configuration, or check that the folder holds the same evaluation."""
    from policrf.crf.io.json_text import as_json, read_json, write_json
    from policrf.datasets.instances import InstanceSequence

    assert config.out is not None
    content: dict[str, Any] = {"data": Path(config.data).name}
    if isinstance(instances, InstanceSequence):
        content["recipe"] = instances.prepared.recipe.as_dict()
        content["energy"] = as_json(instances.energy.as_dict(), infinity="inf")
        content["pixels"] = config.pixels and instances.prepared.recipe.keep_pixels
    content |= {
        "potentials": config.potentials,
        "features": config.features,
        "seconds": config.seconds,
        "seed": config.seed,
    }
    content = as_json(content)
    file = config.out / "config.json"
    if file.exists():
        there = read_json(file)
        if not isinstance(there, dict):
            raise InvalidFile(f"{file}: not the settings of an evaluation; choose another --out")
        for name, value in content.items():
            if there.get(name) != value:
                raise InvalidOption(
                    f"{config.out} holds another evaluation: its {name} differs; "
                    "choose another --out"
                )
        return
    write_json(file, content)


def _write_csv(path: Path, results: list[Result]) -> None:
    """One line a solver and instance, without the confusion matrices."""
    import csv
    import io

    from policrf.crf.io.files import atomic_write

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    terms = next((list(result.terms) for result in results if result.terms), [])
    header = [
        "solver", "name", "nodes", "energy", "lower_bound", "optimal", "seconds", "cpu_seconds",
        "pixel_cpu_seconds", "failed",
    ]  # fmt: skip
    writer.writerow([*header, *terms])
    for result in results:
        plain = [getattr(result, name) for name in header]
        writer.writerow([*plain, *(result.terms.get(name, "") for name in terms)])
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())
