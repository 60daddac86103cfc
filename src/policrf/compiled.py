"""The one place that touches numba: how kernels are compiled, cached and announced.

Kernels are cached on disk beside their source (or elsewhere where that cannot be written, see
`kernel_cache`). numba notices a changed source file, but not a changed file whose kernels are
*called* from another one: after editing a shared kernel, run `make clean-kernels`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

from policrf.ahead.announcement import announce
from policrf.kernel_cache import open_cache
from policrf.linking import LinkedCompiler, QuickFlags

Function = TypeVar("Function", bound=Callable[..., Any])


class _Announcement(event.Listener):
    """Says once that kernels have to be compiled, where no plan has said it."""

    def on_start(self, event: Any) -> None:
        dispatcher = event.data.get("dispatcher")
        module = getattr(getattr(dispatcher, "py_func", None), "__module__", "") or ""
        if module.startswith("policrf."):
            announce()

    def on_end(self, event: Any) -> None:
        pass


class _Watch(event.Listener):
    """Counts the seconds that the compiler is at work, which also loads kernels from disk."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began: list[float] = []  # of a kernel, and of those that it calls

    def on_start(self, event: Any) -> None:
        self._began.append(time.perf_counter())

    def on_end(self, event: Any) -> None:
        began = self._began.pop()
        if not self._began:
            self.seconds += time.perf_counter() - began


_watch = _Watch()
event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
event.register("numba:compiler_lock", _watch)  # type: ignore[no-untyped-call]


def compile_seconds() -> float:
    """Seconds that this process has spent on kernels: clocks of solvers leave them out.

    A kernel is compiled once on a machine and loaded once in a process: the first call takes longer
    than it was given, but its answer is worth what it was given.
    """
    return _watch.seconds


def _compile(function: Function, **options: Any) -> Function:
    # `_nrt` (whether arrays are reference counted) is an option that numba's own types leave out.
    jit: Any = numba.njit
    compiled: Any = jit(nogil=True, error_model="numpy", **options)(function)
    compiled._compiler._customize_flags = QuickFlags
    kept: Function = compiled
    return kept


def _compile_and_keep(function: Function, **options: Any) -> Function:
    compiled: Any = _compile(function, **options)
    compiled._cache = open_cache(function)  # as numba's own cache=True does
    # Kernels that call it link a twin that has no door to Python: it is compiled there only.
    inside: Any = _compile_inside(function, **options)
    compiled.get_call_template, compiled.get_overload = (
        inside.get_call_template,
        inside.get_overload,
    )
    kept: Function = compiled
    return kept


def _compile_inside(function: Function, **options: Any) -> Function:
    return _compile(
        function,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=LinkedCompiler,
        **options,
    )


def kernel(function: Function) -> Function:
    """Compile `function` with numba: cached on disk, releasing the GIL, IEEE division."""
    return _compile_and_keep(function, _nrt=True)


def leaf(function: Function) -> Function:
    """Like `kernel`, for a function that allocates no array and returns none.

    numba counts references to every array that a call passes: with a NamedTuple of 20 arrays that
    is 0.1 µs a call, far more than most of these functions take. A leaf is compiled without
    counting.
    """
    return _compile_and_keep(function, _nrt=False)


def inner(function: Function) -> Function:
    """Like `leaf`, for a function that only other kernels call, never Python (that would crash).

    The door to Python, which unpacks every array, takes five times as long to compile as most of
    these functions. They are compiled and stored with the kernels that call them (`linking`).
    """
    return _compile_inside(function, _nrt=False)


def inner_kernel(function: Function) -> Function:
    """Like `inner`, for a function that allocates arrays."""
    return _compile_inside(function, _nrt=True)


def inlined(function: Function) -> Function:
    """Like `inner`, and always inlined: for a short function with many arrays in an inner loop.

    A call passes every array of its tuples by value, seven words each; that is also paid without
    reference counting. Each call site compiles its own copy.
    """
    return _compile_inside(function, _nrt=False, forceinline=True)
