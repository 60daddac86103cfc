"""What `policrf bench foreign` measures: the models of a folder, the solvers, the limit.

`best.json` in the folder has a mapping for every model's file: `energy`, the lowest that is known;
`family`; and, where they are known, `proven`, `lower_bound` and `origin_path`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from policrf.bench.result_log import Result
from policrf.crf.io.json_text import read_json
from policrf.errors import InvalidFile, InvalidOption

TOULBAR2 = "toulbar2"
SOLVERS = (
    "auto", "exact", "refine", "belief_propagation", "tree_reweighted", "icm", "annealing"
)  # fmt: skip
ROWS = (*SOLVERS, TOULBAR2)


@dataclass(frozen=True)
class ForeignGrid:
    """Models × solvers at one limit."""

    seconds: float = 20.0
    """For every solve, which is a process of its own."""
    solvers: tuple[str, ...] = ROWS
    """Solvers, with options as NAME:option=value,…; toulbar2 is plain pytoulbar2."""
    models: tuple[str, ...] = ()
    """Beginnings of the names of models to take; by default all of best.json."""
    clock: Literal["wall", "cpu"] = "wall"
    """What the seconds are of: cpu where others use the machine too."""
    seed: int = 0
    """Seed of everything random."""


class Model(NamedTuple):
    """A model and what is known of it."""

    name: str
    path: Path
    family: str
    best: float
    proven: bool
    origin: str


def list_models(folder: Path, names: tuple[str, ...] = ()) -> list[Model]:
    """The models of best.json in its order, those that begin with one of `names` if any."""
    file = folder / "best.json"
    if not file.is_file():
        raise InvalidFile(f"{file}: there is no such file; it lists the models and their energies")
    known = read_json(file)
    if not isinstance(known, dict) or not known:
        raise InvalidFile(f"{file}: must hold an object with an entry for every model")
    models = [_model(folder, name, entry) for name, entry in known.items()]
    unknown = [name for name in names if not any(m.name.startswith(name) for m in models)]
    if unknown:
        raise InvalidOption(f"models: no model of {file} begins with {unknown[0]!r}")
    return [m for m in models if not names or m.name.startswith(names)]


def _model(folder: Path, name: str, entry: Any) -> Model:
    energy = entry.get("energy") if isinstance(entry, dict) else None
    if isinstance(energy, bool) or not isinstance(energy, int | float) or not math.isfinite(energy):
        raise InvalidFile(f"{folder / 'best.json'}: {name}.energy must be a finite number")
    path = folder / name
    if not path.is_file():
        raise InvalidFile(f"{path}: there is no such file, but best.json lists it")
    return Model(
        name=name,
        path=path,
        family=str(entry.get("family", "models")),
        best=float(energy),
        proven=bool(entry.get("proven", False)),
        origin=str(entry.get("origin_path", "")),
    )


def rows_of(grid: ForeignGrid) -> list[str]:
    """The solvers of the grid that are installed, each known and its options valid."""
    from policrf.solvers.spec import SolverSpec

    if not grid.seconds > 0:
        raise InvalidOption(f"seconds must be above 0, not {grid.seconds}")
    for row in grid.solvers:
        if row != TOULBAR2:
            SolverSpec.parse(row)
    return [row for row in grid.solvers if row != TOULBAR2 or has_toulbar2()]


def has_toulbar2() -> bool:
    """Whether the peer is installed."""
    return find_spec("pytoulbar2") is not None


def tasks(grid: ForeignGrid, models: list[Model]) -> list[Result]:
    """Every solve of the grid, a model's together."""
    return [{"model": model.name, "row": row} for model in models for row in rows_of(grid)]


def key_of(result: Result) -> tuple[Any, ...]:
    """What tells one result from another."""
    return result["model"], result["row"]
