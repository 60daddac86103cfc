"""Running cells: cheap ones first, each after what it needs, several at a time.

Cells of data use all processes for one cell; trainings, scores and figures take a process each;
timings run alone, last. What is finished is not run again, and a cell that is left out (its data is
not at hand, or it would take too long) takes along those that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from policrf.bench.reproduce.cells import Cell, in_order
from policrf.bench.reproduce.estimates import Estimates
from policrf.bench.reproduce.jobs.work import Shop, work_on
from policrf.bench.reproduce.store import Store
from policrf.errors import InvalidOption
from policrf.execution.executor import each
from policrf.execution.processes import Processes

TOGETHER = ("train", "score", "figure")  # kinds of which several run at a time
# Data for all, then what is quick, then trainings, and timings when nothing else runs.
RANKS = {"prepare": 0, "calibrate": 1, "score": 2, "figure": 2, "train": 3, "time": 4}


class Planned(NamedTuple):
    """A cell with what is known of it before it runs."""

    cell: Cell
    seconds: float
    """An estimate, or what it took."""
    finished: bool
    left_out: str
    """Why it is not run; empty if it is."""


@dataclass(frozen=True)
class Watch:
    """Who is told what goes on."""

    begin: Callable[[Cell], None] = lambda cell: None
    end: Callable[[Cell], None] = lambda cell: None


def plan(
    cells: Sequence[Cell], shop: Shop, longest: float | None = None, only: Sequence[str] = ()
) -> list[Planned]:
    """All cells and what they need, in the order they would run in.

    Left out is what takes longer than `longest` seconds, and what no cell needs whose name has one
    of the texts in `only`.
    """
    named = in_order(cell for cell in cells if any(text in cell.name for text in only))
    if only and not named:
        raise InvalidOption(f"no cell's name has {' or '.join(map(repr, only))}; --plan lists them")
    chosen = {cell.key for cell in named} if only else None
    estimates = Estimates(shop.store, shop.data.counts())
    planned: list[Planned] = []
    out: dict[str, str] = {}
    for cell in in_order(cells):
        finished = shop.store.finished(cell)
        seconds = shop.store.seconds(cell) if finished else estimates.seconds(cell)
        assert seconds is not None
        why = "" if finished else _why_left_out(cell, shop, seconds, longest, out)
        if not (finished or why or chosen is None or cell.key in chosen):
            why = "not asked for"
        out[cell.key] = why
        planned.append(Planned(cell, seconds, finished, why))
    return planned


def _why_left_out(
    cell: Cell, shop: Shop, seconds: float, longest: float | None, out: dict[str, str]
) -> str:
    for need in cell.needs.values():
        if out[need.key]:
            return f"needs {need.kind} {need.name}"
    if cell.kind == "prepare" and (missing := shop.data.missing(cell.about["dataset"])):
        return missing
    if longest is not None and seconds > longest:
        return f"longer than {longest:g} s"
    return ""


def run(planned: Sequence[Planned], shop: Shop, watch: Watch | None = None) -> None:
    """Run what is neither finished nor left out."""
    watch = watch or Watch()
    todo = [entry for entry in planned if not entry.finished and not entry.left_out]
    todo.sort(key=lambda entry: (RANKS[entry.cell.kind], entry.seconds))
    while todo:
        ready = [entry for entry in todo if _is_ready(entry.cell, shop.store)]
        assert ready, "cells wait for each other"
        first = ready[0].cell
        if first.kind in TOGETHER and shop.executor.workers > 1:
            wave = [entry.cell for entry in ready if entry.cell.kind in TOGETHER]
            _run_together(wave, shop, watch)
        else:
            wave = [first]
            watch.begin(first)
            work_on(shop, first, {})
            watch.end(first)
        done = {cell.key for cell in wave}
        todo = [entry for entry in todo if entry.cell.key not in done]


def _run_together(wave: Sequence[Cell], shop: Shop, watch: Watch) -> None:
    """A process or a task each; results come in order, and each is on disk when it comes."""
    alone, workers = replace(shop, executor=Processes()), shop.executor.workers
    for cell in wave[:workers]:
        watch.begin(cell)
    with closing(each(work_on, alone, wave, shop.executor)) as results:
        for k, _ in enumerate(results):
            watch.end(wave[k])
            if k + workers < len(wave):
                watch.begin(wave[k + workers])


def _is_ready(cell: Cell, store: Store) -> bool:
    return all(store.finished(need) for need in cell.needs.values())
