"""Two bars for `policrf reproduce`: the cells, and how far the present ones are."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.run import Watch
from policrf.bench.reproduce.store import Store

EVERY = 1.0  # seconds between two looks at what cells tell


class CellBars:
    """A context that yields a `Watch`; where stderr is no terminal, a line for every cell.

    Parameters
    ----------
    store
        Where cells tell how far they are.
    total
        All cells.
    done
        Those that are finished, or left out, at the beginning.
    """

    def __init__(self, store: Store, total: int, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self.store = store
        self.console = Console(stderr=True, markup=False, emoji=False)
        columns = (
            TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[text]}", markup=False),
        )  # fmt: skip
        self.progress = Progress(
            *columns, console=self.console, disable=not self.console.is_terminal
        )
        self.all = self.progress.add_task("cells", total=total, completed=done, text="")
        self.present: dict[str, tuple[Cell, Any]] = {}
        self.lock, self.over = threading.Lock(), threading.Event()

    def __enter__(self) -> Watch:
        self.progress.start()
        threading.Thread(target=self._look, daemon=True).start()
        return Watch(self._begin, self._end)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.over.set()
        self.progress.stop()

    def _begin(self, cell: Cell) -> None:
        with self.lock:
            task = self.progress.add_task(f"{cell.kind} {cell.name}", total=100, text="")
            self.present[cell.key] = cell, task

    def _end(self, cell: Cell) -> None:
        with self.lock:
            _, task = self.present.pop(cell.key)
            self.progress.remove_task(task)
            self.progress.update(self.all, advance=1)
        if not self.console.is_terminal:
            seconds = self.store.seconds(cell) or 0.0
            self.console.print(f"{cell.kind} {cell.name}: {seconds:.1f} s", soft_wrap=True)

    def _look(self) -> None:
        while not self.over.wait(EVERY):
            with self.lock:
                for cell, task in self.present.values():
                    share, text = self.store.told(cell)
                    self.progress.update(task, completed=round(100 * share), text=text)
