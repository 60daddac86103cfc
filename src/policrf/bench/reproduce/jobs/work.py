"""One cell in whichever process it falls to: its kind's work, and the result kept at the end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.data_cells import DataCells
from policrf.bench.reproduce.estimates import Estimates, family
from policrf.bench.reproduce.store import Store
from policrf.errors import PolicrfError
from policrf.execution.executor import Executor
from policrf.execution.processes import Processes


@dataclass(frozen=True)
class Shop:
    """What all cells of a call share; travels to worker processes."""

    store: Store
    data: DataCells
    executor: Executor = field(default_factory=Processes)
    """Who does the work of a cell, or of several."""


def work_on(shop: Shop, cell: Cell, cache: dict[str, Any]) -> str:
    """Run a cell and keep its result; returns its key."""
    fresh = not shop.store.folder(cell).exists()
    shop.store.start(cell)
    tell = shop.store.teller(cell)
    start = time.perf_counter()
    try:
        result = _run(shop, cell, tell)
    except PolicrfError as error:
        raise type(error)(f"{cell.kind} {cell.name}: {error}") from error
    spent = time.perf_counter() - start
    # A cell that goes on from what an earlier run left says nothing of how long such cells take.
    expected = Estimates(shop.store).work(cell) if fresh else None
    shop.store.keep(cell, result, spent, expected=expected, family=family(cell))
    return cell.key


def _run(shop: Shop, cell: Cell, tell: Any) -> Any:
    store = shop.store
    match cell.kind:
        case "prepare":
            from policrf.bench.reproduce.jobs.prepare_job import run_prepare

            return run_prepare(cell, store, tell, shop.data, shop.executor)
        case "calibrate":
            from policrf.bench.reproduce.jobs.calibrate_job import run_calibrate

            return run_calibrate(cell, store, tell, shop.executor)
        case "train":
            from policrf.bench.reproduce.jobs.train_job import run_train

            return run_train(cell, store, tell)
        case "score":
            from policrf.bench.reproduce.jobs.score_job import run_score

            return run_score(cell, store, tell, shop.executor)
        case "time":
            from policrf.bench.reproduce.jobs.time_job import run_time

            return run_time(cell, store, tell)
        case _:
            from policrf.bench.reproduce.figures.draw import run_figure

            return run_figure(cell, store, tell)
