"""`policrf reproduce table1|table2|table3|table4|figures|robustness|all`: the paper's results."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from policrf.bench.reproduce.options import TABLES, TARGETS, Reproduce
from policrf.cli.spread import Ray, executor_for
from policrf.errors import InvalidOption

if TYPE_CHECKING:
    from policrf.bench.reproduce.run import Planned
    from policrf.evaluation.tables import Table


@dataclass(frozen=True, kw_only=True)
class Request(Reproduce):
    """The paper's tables and figures, cell by cell; a run that was stopped goes on."""

    target: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="|".join(TARGETS))]
    """Which of them."""
    ray: Ray = ""
    json: bool = False
    """Print JSON instead of tables."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target not in TARGETS:
            raise InvalidOption(f"there is no {self.target!r}; there are {', '.join(TARGETS)}")


Config = tyro.conf.OmitArgPrefixes[Request]


def run(config: Request) -> None:
    """Run the cells that are missing, then write tables and figures."""
    from policrf.bench.reproduce.catalogue import Catalogue
    from policrf.bench.reproduce.jobs.work import Shop
    from policrf.bench.reproduce.other_cells import wanted
    from policrf.bench.reproduce.run import plan
    from policrf.bench.reproduce.store import Store
    from policrf.crf.io.outputs import claimed

    catalogue, store = Catalogue(config), Store(config.work)
    catalogue.data.check()
    shop = Shop(store, catalogue.data, executor_for(config.jobs, config.ray))
    cells = wanted(catalogue, config.target)
    planned = plan(cells, shop, config.longest, config.only)
    if config.plan:
        _print([_plan_table(planned)], config.json)
        return
    with claimed(config.work), shop.executor:
        _run(planned, shop)
    tables = _written(config, catalogue, store)
    _print(tables, config.json)


def _run(planned: list[Planned], shop: object) -> None:
    from policrf.bench.reproduce.jobs.work import Shop
    from policrf.bench.reproduce.run import run as run_cells
    from policrf.cli.reproduce_progress import CellBars

    assert isinstance(shop, Shop)
    todo = [entry for entry in planned if not entry.finished and not entry.left_out]
    with CellBars(shop.store, len(planned), len(planned) - len(todo)) as watch:
        run_cells(planned, shop, watch)


def _written(config: Request, catalogue: object, store: object) -> list[Table]:
    from policrf.bench.reproduce.catalogue import Catalogue
    from policrf.bench.reproduce.pages import write_all
    from policrf.bench.reproduce.report import Made
    from policrf.bench.reproduce.store import Store

    assert isinstance(catalogue, Catalogue)
    assert isinstance(store, Store)
    command = shlex.join(["policrf", *sys.argv[1:]])
    targets = (*TABLES, "figures", "robustness") if config.target == "all" else (config.target,)
    return write_all(config.out, targets, catalogue, store, Made.now(config.preset, command))


def _plan_table(planned: list[Planned]) -> Table:
    from policrf.bench.reproduce.tables.lookup import duration
    from policrf.evaluation.tables import Table

    rows = []
    for entry in planned:
        state = "finished" if entry.finished else entry.left_out or "to run"
        rows.append(
            (entry.cell.kind, entry.cell.name, entry.cell.key, duration(entry.seconds), state)
        )
    left = [entry for entry in planned if not entry.finished and not entry.left_out]
    total = duration(sum(entry.seconds for entry in left))
    note = f"{len(left)} of {len(planned)} cells to run, {total} in one process."
    return Table("Cells", ("kind", "cell", "key", "time", "state"), tuple(rows), note)


def _print(tables: list[Table], as_json: bool) -> None:
    import json

    for table in tables:
        if as_json:
            print(json.dumps({"title": table.title, "note": table.note, "rows": table.records()}))
        else:
            table.show()
