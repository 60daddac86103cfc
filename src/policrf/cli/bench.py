"""`policrf bench energy|solvers|runtime`: the figures of the README and the docs, measured anew."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from policrf.evaluate.report import Table


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
class Solvers:
    """Every solver on synthetic scenes, with gaps to proven optima; resumes after a kill."""

    regimes: tuple[str, ...] = ("A", "B")
    """Presets of the scenes."""
    sizes: tuple[int, ...] = (50, 250, 500, 1000, 2000, 10_000)
    """Numbers of nodes."""
    energies: tuple[str, ...] = ("u+p", "u+p+hop1", "u+p+hop1+hop2")
    """Which terms."""
    seeds: int = 3
    """Scenes for each cell."""
    seconds: float = 60.0
    """Budget of each solve."""
    exact_seconds: float = 60.0
    """Budget of the exact solver."""
    exact_up_to: int = 2000
    """Largest scene that the exact solver is tried on."""
    solvers: tuple[str, ...] = ()
    """Rows of the table; all if empty."""
    peers: bool = True
    """Also measure gco-wrapper and PyMaxflow where they are installed (U+P only)."""
    out: Path = Path("bench-solvers")
    """Folder for results, Markdown, CSV and JSON."""
    json: bool = False
    """Print JSON instead of tables."""


@dataclass(frozen=True)
class RunTime:
    """Seconds to label an instance: the paper's Table 4, its figures beside ours."""

    sizes: tuple[int, ...] = (50, 250, 500, 1000, 2000, 10_000)
    """Numbers of nodes."""
    energies: tuple[str, ...] = ("u+p", "u+p+hop1", "u+p+hop1+hop2")
    """Which terms."""
    preset: str = "B"
    """Synthetic scenes: "A" (easy) or "B" (hard)."""
    repeats: int = 5
    """Each cell is the best of so many."""
    growth: bool = True
    """Also measure growth to 100,000 nodes, and two threads against one."""
    peers: bool = True
    """Also measure gco-wrapper and PyMaxflow where they are installed (U+P only)."""
    out: Path = Path("bench-runtime")
    """Folder for Markdown, CSV and JSON."""
    json: bool = False
    """Print JSON instead of tables."""


Config = (
    Annotated[Energy, tyro.conf.subcommand("energy")]
    | Annotated[Solvers, tyro.conf.subcommand("solvers")]
    | Annotated[RunTime, tyro.conf.subcommand("runtime")]
)


def run(config: Energy | Solvers | RunTime) -> None:
    """Measure, print, and write."""
    match config:
        case Energy():
            tables = _energy(config)
        case Solvers():
            tables = _solvers(config)
        case RunTime():
            tables = _runtime(config)
    for table in tables:
        if config.json:
            print(json.dumps({"title": table.title, "note": table.note, "rows": table.records()}))
        else:
            table.show()


def _energy(config: Energy) -> list[Table]:
    from policrf.bench.energy_core import bench_energy
    from policrf.evaluate.report import write_tables

    tables = [bench_energy(n_nodes=config.nodes)]
    if config.out is not None:
        write_tables(config.out, "energy", tables, config)
    return tables


def _solvers(config: Solvers) -> list[Table]:
    from policrf.bench.solver_grid import ENTRIES, SolverGrid, count_tasks, run_grid, tabulate
    from policrf.cli.progress import progress_bar
    from policrf.errors import UnknownName
    from policrf.evaluate.report import write_tables

    for row in config.solvers:
        if row not in ENTRIES:
            raise UnknownName(
                f"--solvers: no row is called {row!r}; there are {', '.join(ENTRIES)}"
            )
    grid = SolverGrid(
        config.regimes, config.sizes, config.energies, config.seeds, config.seconds,
        config.exact_seconds, config.exact_up_to, config.solvers or tuple(ENTRIES), config.peers,
    )  # fmt: skip
    with progress_bar("solving", count_tasks(grid)) as advance:
        results = run_grid(
            grid, config.out, lambda result: advance(f"{result['row']} N={result['n']}")
        )
    tables = tabulate(results, grid)
    write_tables(config.out, "solvers", tables, config)
    return tables


def _runtime(config: RunTime) -> list[Table]:
    from policrf.bench import runtime
    from policrf.bench.runtime_bars import KINDS, bars
    from policrf.cli.progress import progress_bar
    from policrf.evaluate.report import Table, write_tables

    preset = config.preset
    plan = runtime.Runtime(
        config.sizes, config.energies, preset, repeats=config.repeats, peers=config.peers
    )
    cells = len(config.sizes) * len(config.energies) * len(plan.rows)
    with progress_bar("measuring", cells) as advance:
        results = runtime.measure(plan, lambda result: advance(f"{result['row']} N={result['n']}"))
    tables = runtime.tables(plan, results)
    grown: list[runtime.Result] = []
    shared: list[runtime.Result] = []
    fresh = None
    if config.growth:
        repeats = config.repeats
        for kind in KINDS:
            grown += runtime.measure_growth(kind, repeats=repeats, preset=preset)
            shared.append(runtime.measure_threads(kind, repeats=repeats, preset=preset))
        fresh = runtime.measure_fresh(preset=preset)
        columns = ("kind", "n", "seconds", "us_per_step", "peak_mb")
        rows = tuple(tuple(row[column] for column in columns) for row in grown)
        tables.append(Table("The greedy policy, U+P+HOP1+HOP2: growth and memory", columns, rows))
        names = tuple(shared[0])
        tables.append(Table("Threads", names, tuple(tuple(row.values()) for row in shared)))
    tables.insert(0, bars(results, grown, shared, fresh))
    write_tables(config.out, "runtime" if preset == "B" else f"runtime-{preset}", tables, config)
    return tables
