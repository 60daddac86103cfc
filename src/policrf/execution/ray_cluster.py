"""RayCluster: the same work on a Ray cluster. Ray schedules, retries and moves the data.

Every few items are a task. A task whose worker or node died is run again by Ray, up to `RETRIES`
times; results are fetched in order and handed over by this process alone, so that nothing is lost
and nothing comes twice.
"""

from __future__ import annotations

import os
import uuid
from collections import deque
from collections.abc import Generator, Sequence
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from policrf.argument_types import check_value
from policrf.errors import InvalidOption
from policrf.execution.executor import Executor, Item, Result, Shared, Work, Workers
from policrf.execution.ray_connection import LOCAL, connect, cpus, disconnect
from policrf.execution.ray_failures import plain_errors
from policrf.execution.ray_worker import Place, run_items

RETRIES = 3  # of a task whose worker died; Ray counts those that ran out of memory by itself
AHEAD = 4  # tasks a core, submitted before their turn: results wait in the object store


class RayCluster(Executor):
    """A Ray cluster, reached when it is first used; a context that lets go of it at the end.

    Every node needs policrf with what the work needs, and the files that the work reads under the
    same paths. A process that has called `ray.init` itself is used as it is.

    Parameters
    ----------
    address
        "local": a cluster of this machine's own, on loopback; or "auto", "HOST:6379" from a node of
        the cluster, "ray://HOST:10001" from elsewhere.
    workers
        Cores that a local cluster uses; all of them if not given.
    """

    def __init__(self, address: str = LOCAL, workers: int | None = None) -> None:
        check_value("address", str, address)
        check_value("workers", int | None, workers)
        if workers is not None and workers < 1:
            raise InvalidOption(f"workers is {workers}; it must be at least 1")
        self.address, self._workers = address or LOCAL, workers
        self._own = False

    @cached_property
    def ray(self) -> Any:
        """The module, connected."""
        import sys

        known = sys.modules.get("ray")
        if known is not None and known.is_initialized():
            return known
        ray = connect(self.address, self._workers)
        self._own = True
        return ray

    @property
    def workers(self) -> int:
        """How many items are worked on at a time: the cores of the cluster at present."""
        return max(1, cpus(self.ray))

    def open(
        self, work: Work[Shared, Item, Result], shared: Shared, *, most: int | None = None,
        together: int = 1,
    ) -> Workers[Item, Result]:  # fmt: skip
        """Tasks for one kind of work (`Executor.open`)."""
        return _Tasks(self, work, shared, together)

    def place(self, work: Any, shared: Any) -> Place:
        """Put what workers share into the object store."""
        return Place(uuid.uuid4().hex, os.getcwd(), (self.ray.put((work, shared)),))

    def close(self) -> None:
        """Let go of the cluster, if this reached it; the next use reaches it again."""
        if "ray" in self.__dict__ and self._own:
            disconnect(self.ray)
        self.__dict__.pop("ray", None)
        self._own = False

    def __getstate__(self) -> dict[str, Any]:
        return {"address": self.address, "_workers": self._workers, "_own": False}

    def __repr__(self) -> str:
        return f"RayCluster({self.address!r})"


class _Tasks(Workers[Item, Result]):
    """Tasks of one kind; results of `together` items come at a time."""

    def __init__(
        self, cluster: RayCluster, work: Work[Any, Item, Result], shared: Any, together: int
    ) -> None:
        self.cluster, self.work, self.shared, self.together = cluster, work, shared, together
        self._place: Place | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._place = None  # the object store forgets what nobody refers to

    def each(self, items: Sequence[Item]) -> Generator[Result, None, None]:
        """The results of one round, in order."""
        if not items:
            return
        ray = self.cluster.ray
        self._place = self._place or self.cluster.place(self.work, self.shared)
        task = ray.remote(max_retries=RETRIES, num_cpus=1)(run_items)
        parts = [items[k : k + self.together] for k in range(0, len(items), self.together)]
        waiting: deque[tuple[Any, Sequence[Item]]] = deque()
        try:
            for part in parts:
                waiting.append((task.remote(self._place, part), part))
                if len(waiting) >= AHEAD * self.cluster.workers:
                    yield from self._next(waiting)
            while waiting:
                yield from self._next(waiting)
        finally:
            for reference, _ in waiting:
                ray.cancel(reference, force=True)

    def _next(self, waiting: deque[tuple[Any, Sequence[Item]]]) -> list[Result]:
        reference, part = waiting.popleft()
        with plain_errors(self.cluster.ray, _called(part)):
            found: list[Result] = self.cluster.ray.get(reference)
        return found


def _called(part: Sequence[Any]) -> str:
    """Items in a few words: by their name where they have one."""
    names = [str(getattr(item, "name", item))[:80] for item in part]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
