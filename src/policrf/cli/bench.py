"""`policrf bench energy|solvers|runtime|potentials|foreign|large`: figures of README and docs."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from policrf.bench import runtime
from policrf.bench.foreign.grid import ForeignGrid
from policrf.bench.large.grid import LargeGrid
from policrf.bench.potentials.grid import PotentialGrid
from policrf.bench.runtime import Runtime
from policrf.bench.solver_grid import SolverGrid, count_tasks, run_grid, tabulate
from policrf.cli.spread import Ray, executor_for
from policrf.evaluation.tables import Table, write_tables


@dataclass(frozen=True)
class Energy:
    """The energy core: energies, relabels, building, compiling."""

    nodes: int = 10_000
    """Nodes of the scene to measure on."""
    out: Path | None = None
    """Folder for the table as Markdown, CSV and JSON."""
    json: bool = False
    """Print JSON instead of a table."""


@dataclass(frozen=True)
class Solvers(SolverGrid):
    """Every solver on synthetic scenes, with gaps to proven optima; resumes after a kill."""

    out: Path = Path("bench-solvers")
    """Folder for results, Markdown, CSV and JSON."""
    ray: Ray = ""
    json: bool = False
    """Print JSON instead of tables."""


@dataclass(frozen=True)
class RunTime(Runtime):
    """Seconds to label an instance: the paper's Table 4, its figures beside ours."""

    growth: bool = True
    """Also measure growth to 100,000 nodes, and two threads against one."""
    out: Path = Path("bench-runtime")
    """Folder for Markdown, CSV and JSON."""
    json: bool = False
    """Print JSON instead of tables."""


@dataclass(frozen=True)
class Potentials(PotentialGrid):
    """Solvers on families of hard potentials, at several budgets; resumes after a kill."""

    out: Path = Path("bench-potentials")
    """Folder for results, Markdown, CSV, JSON and pictures."""
    plan: bool = False
    """Only say how many solves are left, and about how long they take."""
    json: bool = False
    """Print JSON instead of tables."""


@dataclass(frozen=True)
class Foreign(ForeignGrid):
    """Solvers on models that other people made, with best known energies; resumes after a kill."""

    folder: Annotated[Path, tyro.conf.Positional] = Path(".")
    """Folder with the models and best.json."""
    out: Path = Path("bench-foreign")
    """Folder for results, Markdown, CSV and JSON."""
    json: bool = False
    """Print JSON instead of tables."""


@dataclass(frozen=True)
class Large(LargeGrid):
    """Solvers and peers on large frustrated fields, at several budgets; resumes after a kill."""

    out: Path = Path("bench-large")
    """Folder for results, Markdown, CSV, JSON and pictures."""
    minutes: float = math.inf
    """By the clock, after which no solve begins: tables say what was not run."""
    growth: tuple[int, ...] = ()
    """Instead, measure how a sweep's cost and memory grow over these numbers of nodes."""
    thread_trials: int = 0
    """Instead, measure so many times, in turns, how much two threads do more than one."""
    plan: bool = False
    """Only say how many solves are left, and about how long they take."""
    json: bool = False
    """Print JSON instead of tables."""


Config = (
    Annotated[Energy, tyro.conf.subcommand("energy")]
    | Annotated[Solvers, tyro.conf.subcommand("solvers")]
    | Annotated[RunTime, tyro.conf.subcommand("runtime")]
    | Annotated[Potentials, tyro.conf.subcommand("potentials")]
    | Annotated[Foreign, tyro.conf.subcommand("foreign")]
    | Annotated[Large, tyro.conf.subcommand("large")]
)


def run(config: Energy | Solvers | RunTime | Potentials | Foreign | Large) -> None:
    """Measure, print, and write."""
    match config:
        case Energy():
            tables = _energy(config)
        case Solvers():
            tables = _solvers(config)
        case RunTime():
            tables = _runtime(config)
        case Potentials():
            tables = _potentials(config)
        case Foreign():
            tables = _foreign(config)
        case Large():
            tables = _large(config)
    for table in tables:
        if config.json:
            print(json.dumps({"title": table.title, "note": table.note, "rows": table.records()}))
        else:
            table.show()


def _energy(config: Energy) -> list[Table]:
    from policrf.bench.energy_core import bench_energy

    tables = [bench_energy(n_nodes=config.nodes)]
    if config.out is not None:
        write_tables(config.out, "energy", tables, config)
    return tables


def _solvers(config: Solvers) -> list[Table]:
    from policrf.cli.progress import progress_bar

    with (
        executor_for(1, config.ray) as executor,
        progress_bar("solving", count_tasks(config)) as advance,
    ):
        results = run_grid(
            config, config.out, lambda result: advance(f"{result['row']} N={result['n']}"), executor
        )
    tables = tabulate(results, config)
    write_tables(config.out, "solvers", tables, config)
    return tables


def _runtime(config: RunTime) -> list[Table]:
    from policrf.bench.runtime_bars import KINDS, bars
    from policrf.cli.progress import progress_bar

    cells = len(config.sizes) * len(config.energies) * len(config.solvers)
    with progress_bar("measuring", cells) as advance:
        results = runtime.measure(
            config, lambda result: advance(f"{result['row']} N={result['n']}")
        )
    tables = runtime.tables(config, results)
    grown: list[runtime.Result] = []
    shared: list[runtime.Result] = []
    fresh = None
    if config.growth:
        measured: dict[str, Any] = {"repeats": config.repeats, "preset": config.preset}
        for kind in KINDS:
            grown += runtime.measure_growth(kind, **measured)
            shared.append(runtime.measure_threads(kind, **measured))
        fresh = runtime.measure_fresh(preset=config.preset)
        columns = ("kind", "n", "seconds", "us_per_step", "peak_mb")
        rows = tuple(tuple(row[column] for column in columns) for row in grown)
        tables.append(Table("The greedy policy, U+P+HOP1+HOP2: growth and memory", columns, rows))
        names = tuple(shared[0])
        tables.append(Table("Threads", names, tuple(tuple(row.values()) for row in shared)))
    tables.insert(0, bars(results, grown, shared, fresh))
    name = "runtime" if config.preset == "B" else f"runtime-{config.preset}"
    write_tables(config.out, name, tables, config)
    return tables


def _potentials(config: Potentials) -> list[Table]:
    from policrf.bench.potentials.bars import bars
    from policrf.bench.potentials.grid import left_out
    from policrf.bench.potentials.pictures import draw
    from policrf.bench.potentials.run import plan, run_potentials
    from policrf.bench.potentials.summary import Summary
    from policrf.bench.potentials.tables import all_figures, family_tables
    from policrf.cli.progress import progress_bar

    left = plan(config, config.out)
    for name, why in left_out(config).items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    if config.plan:
        row = (left.solves, left.seconds / 60)
        note = "Rows that overrun their budgets take longer."
        return [Table("What is left", ("solves", "minutes"), (row,), note)]
    with progress_bar("solving", left.solves) as advance:
        results = run_potentials(
            config, config.out, lambda result: advance(f"{result['family']} {result['row']}")
        )
    summary = Summary(results)
    tables = [*bars(summary, config), *family_tables(summary, config)]
    write_tables(config.out, "potentials", tables, config)
    write_tables(config.out, "potentials-figures", [all_figures(summary)], config)
    draw(summary, config, config.out)
    return tables


def _foreign(config: Foreign) -> list[Table]:
    from policrf.bench.foreign.grid import list_models, rows_of
    from policrf.bench.foreign.run import count_missing, run_foreign
    from policrf.bench.foreign.tables import all_tables
    from policrf.cli.progress import progress_bar

    models = list_models(config.folder, config.models)
    for row in set(config.solvers) - set(rows_of(config)):
        print(f"{row} is left out: it is not installed", file=sys.stderr)
    with progress_bar("solving", count_missing(config, config.folder, config.out)) as advance:
        results = run_foreign(
            config,
            config.folder,
            config.out,
            lambda result: advance(f"{result['model']} {result['row']}"),
        )
    tables = all_tables(config, models, results)
    shown = replace(config, folder=Path(config.folder.resolve().name), out=Path(config.out.name))
    write_tables(config.out, "foreign", tables, shown)  # whoever reads them has other folders
    return tables


def _large(config: Large) -> list[Table]:
    from policrf.bench.large.grid import left_out
    from policrf.bench.large.growth import measure_growth
    from policrf.bench.large.run import plan, run_large
    from policrf.bench.large.tables import all_solves, draw, tables
    from policrf.bench.large.threads import FIELDS, TRIAL, measure_threads
    from policrf.cli.progress import progress_bar

    shown = replace(config, out=Path(config.out.name))  # whoever reads them has other folders
    if config.growth:
        with progress_bar("measuring", len(config.growth)) as advance:
            grown = [measure_growth(config.growth, advance)]
        write_tables(config.out, "large-growth", grown, shown)
        return grown
    if config.thread_trials > 0:
        with progress_bar("measuring", len(FIELDS)) as advance:
            compared = [measure_threads(config.thread_trials, TRIAL, advance)]
        write_tables(config.out, "large-threads", compared, shown)
        return compared
    left = plan(config, config.out)
    for name, why in left_out(config).items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    if config.plan:
        row = (left.solves, left.seconds / 60)
        return [Table("What is left", ("solves", "minutes of CPU time"), (row,))]
    with progress_bar("solving", left.solves) as advance:
        results = run_large(
            config,
            config.out,
            lambda result: advance(f"{result['field']} {result['row']}"),
            config.minutes,
        )
    found = tables(results, config)
    write_tables(config.out, "large", found, shown)
    write_tables(config.out, "large-solves", [all_solves(results)], shown)
    draw(results, config.out)
    return found
