"""Hands out kernels that a first call needs: this process compiles from the front, helpers from
the back of the plan.

`solve` says what runs (`expecting`); the cache of kernels says what it does not have (`missed`).
Nothing happens, and nothing is started, until a kernel is missed that the plan knows. Helpers are
given no more work when `solve` returns; they end with the kernel they are at, or with this process.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from policrf.ahead.announcement import Announcement
from policrf.ahead.plan import Kernel, plans, shape_of
from policrf.ahead.type_texts import UnknownType, to_text

JOBS = "POLICRF_COMPILE_JOBS"  # environment: processes that compile, this one included
MOST_JOBS = 4
_site = threading.local()  # what runs in this thread
_alone: list[bool] = []


def jobs() -> int:
    """How many processes may compile at once; a worker among others has no core to spare."""
    if _alone or multiprocessing.parent_process() is not None:
        return 1
    wanted = os.environ.get(JOBS, "")
    if wanted.isdecimal():
        return max(1, int(wanted))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(MOST_JOBS, cores or 1)


@contextmanager
def alone() -> Iterator[None]:
    """Within, this process compiles what it needs by itself."""
    _alone.append(True)
    try:
        yield
    finally:
        _alone.pop()


@contextmanager
def expecting(solver: str, crf: Any) -> Iterator[None]:
    """Within, kernels that are missed belong to this solver; calls inside it change nothing."""
    if getattr(_site, "solver", None) is not None:
        yield
        return
    _site.solver, _site.crf, _site.foreman = solver, crf, None
    try:
        yield
    finally:
        foreman, _site.solver, _site.crf, _site.foreman = _site.foreman, None, None, None
        if foreman is not None:
            foreman.end()


def missed(function: Any, signature: Any) -> bool:
    """Called for a kernel that is not on disk; True: a helper has put it there by now."""
    foreman = getattr(_site, "foreman", None)
    if foreman is None:
        if getattr(_site, "solver", None) is None:
            return False
        foreman = _site.foreman = Foreman(_site.solver, _site.crf)
    try:
        types = tuple(to_text(kind, dict(plans().tuples)) for kind in signature)
    except UnknownType:
        return False
    name = f"{function.__module__}:{function.__qualname__}"
    return bool(foreman.needs(Kernel(name, types, 0.0).key))


class Foreman:
    """The kernels of one call: nobody's yet, in work by a helper, or done."""

    def __init__(self, solver: str, crf: Any) -> None:
        kernels = plans().of(solver.partition(":")[0], shape_of(crf))
        self._left = {kernel.key: kernel for kernel in kernels}
        self._places = {kernel.key: place for place, kernel in enumerate(plans().kernels)}
        self._in_work: set[str] = set()
        self._own: str | None = None  # what this process compiles
        self._changed = threading.Condition()
        helpers = max(0, min(jobs(), len(kernels)) - 1)
        self._announcement = Announcement(kernels, 1 + helpers)
        for _ in range(helpers):
            threading.Thread(target=self._employ, daemon=True).start()

    def needs(self, key: str) -> bool:
        """This process needs a kernel now; it is in the cache if the answer is True."""
        with self._changed:
            self._finish_own()
            if key in self._in_work:
                self._changed.wait_for(lambda: key not in self._in_work)
                return True
            self._own = key
            self._left.pop(key, None)
            return False

    def end(self) -> None:
        """No more work for anybody."""
        with self._changed:
            self._finish_own()
            self._left.clear()
            self._announcement.end()

    def _finish_own(self) -> None:
        if self._own is not None:
            self._announcement.done(self._own)
            self._own = None

    def _employ(self) -> None:
        """One helper's thread: the last kernel that is left, until none is."""
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "policrf.ahead.helper", str(os.getpid())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        except OSError:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            while (key := self._take()) is not None:
                try:
                    process.stdin.write(f"{self._places[key]}\n")
                    process.stdin.flush()
                    answer = process.stdout.readline()
                except OSError:
                    answer = ""
                self._give_back(key)
                if not answer:  # it has ended
                    return

    def _take(self) -> str | None:
        with self._changed:
            if not self._left:
                return None
            key, _ = self._left.popitem()
            self._in_work.add(key)
            return key

    def _give_back(self, key: str) -> None:
        with self._changed:
            self._in_work.discard(key)
            self._announcement.done(key)
            self._changed.notify_all()
