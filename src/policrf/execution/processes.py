"""Processes: work on all cores of this machine, or in this process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pickle import PicklingError
from types import TracebackType
from typing import Any, Self

from policrf.argument_types import check_value
from policrf.errors import InvalidOption, TooLarge
from policrf.execution.executor import Executor, Item, Result, Shared, Work, Workers

LAST_WORDS = 5.0  # seconds that a terminated process may take to end
AHEAD = 8  # items a process, submitted before their turn: results wait in memory
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_state: dict[str, Any] = {}


class Processes(Executor):
    """Processes of this machine, one thread each; without more than one the work is done here.

    Parameters
    ----------
    jobs
        How many. A script that asks for more than one needs `if __name__ == "__main__":`.
    """

    def __init__(self, jobs: int = 1) -> None:
        check_value("jobs", int, jobs)
        self.jobs = max(1, jobs)

    @property
    def workers(self) -> int:
        """How many items are worked on at a time."""
        return self.jobs

    def open(
        self, work: Work[Shared, Item, Result], shared: Shared, *, most: int | None = None,
        together: int = 1,
    ) -> Workers[Item, Result]:  # fmt: skip
        """Processes for one kind of work; items go one by one (`Executor.open`)."""
        return _Pool(work, shared, self.jobs if most is None else min(self.jobs, most))

    def __repr__(self) -> str:
        return f"Processes({self.jobs})"


def chosen(executor: Executor | None, jobs: int) -> Executor:
    """The executor that was given, or else processes."""
    return Processes(jobs) if executor is None else executor


class _Pool(Workers[Item, Result]):
    """Processes that stay for several rounds of items, with their caches."""

    def __init__(self, work: Work[Any, Item, Result], shared: Any, jobs: int) -> None:
        self.work, self.shared, self.jobs = work, shared, jobs
        self._cache: dict[str, Any] = {}
        self._pool: ProcessPoolExecutor | None = None
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> Self:
        if self.jobs > 1:
            self._before = {name: os.environ.get(name) for name in _THREADS}
            os.environ.update(dict.fromkeys(_THREADS, "1"))
            self._pool = ProcessPoolExecutor(
                self.jobs,
                multiprocessing.get_context("spawn"),
                _begin,
                (self.work, self.shared, os.getpid()),
            )
        return self

    def each(self, items: Sequence[Item]) -> Generator[Result, None, None]:
        """The results of one round, in order."""
        if self._pool is None:
            yield from (self.work(self.shared, item, self._cache) for item in items)
            return
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                with _interrupts_blocked():
                    waiting.append(self._pool.submit(_call, item))
                if len(waiting) >= AHEAD * self.jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise TooLarge(
                "a worker process died, most likely because memory ran out; use fewer with --jobs"
            ) from None
        except (PicklingError, AttributeError, TypeError) as error:
            if "pickle" not in str(error):
                raise
            raise InvalidOption(
                f"this cannot be sent to another process ({error}); define functions at the top of "
                "a module, or use a RayCluster, which takes any"
            ) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._pool is None:
            return
        processes = list((self._pool._processes or {}).values())
        results: Any = getattr(self._pool, "_result_queue", None)
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        for process in processes:
            process.terminate()
        if kind is not None and results is not None:
            # One that was writing leaves half a result: who reads it must see the end of the pipe,
            # or Python waits for its thread for ever when it exits.
            for process in processes:
                process.join(LAST_WORDS)
            results._writer.close()
        self._pool = None
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Processes started here never hear Ctrl-C, not even while they start; the parent hears it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(work: Any, shared: Any, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    _state.update(work=work, shared=shared, cache={})
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """End with the parent, also when it was killed and could not say so."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _call(item: Any) -> Any:
    return _state["work"](_state["shared"], item, _state["cache"])
