"""Executor: where work is spread. Results come in order, whoever does the work and whenever.

Work is a function `work(shared, item, cache)` of a module: what it returns depends on `shared` and
the item alone, so that a call may be made again elsewhere when a worker dies; `cache` is a dict
that lives as long as its process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Shared, Item, dict[str, Any]], Result]
Advance = Callable[[str], None]  # told the name of each item that is done


class Workers(ABC, Generic[Item, Result]):
    """Workers that know their work; they stay for several rounds of items, with their caches."""

    @abstractmethod
    def each(self, items: Sequence[Item]) -> Generator[Result, None, None]:
        """The results of one round, in order; closing it early gives up the rest."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...  # fmt: skip


class Executor(ABC):
    """Who does the work: `Processes` of this machine, or a `RayCluster`."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many items are worked on at a time."""

    @abstractmethod
    def open(
        self, work: Work[Shared, Item, Result], shared: Shared, *, most: int | None = None,
        together: int = 1,
    ) -> Workers[Item, Result]:  # fmt: skip
        """Workers for one kind of work, a context.

        Parameters
        ----------
        work
            A function of a module, so that others can import it.
        shared
            Given to every call; picklable, as are the items and results.
        most
            There will not be more items than this.
        together
            So many items in a row share what they keep in `cache`, or are too small to be sent one
            by one: they stay together where items are sent to other machines.
        """

    def close(self) -> None:
        """Let go of what was opened."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def each(
    work: Work[Shared, Item, Result], shared: Shared, items: Sequence[Item], executor: Executor, *,
    together: int = 1,
) -> Generator[Result, None, None]:  # fmt: skip
    """work(shared, item, cache) for every item, in order (`Executor.open`)."""
    with executor.open(work, shared, most=len(items), together=together) as workers:
        yield from workers.each(items)
