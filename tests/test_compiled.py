"""How kernels are compiled: inner functions with their callers, and outside a solver's budget."""

from __future__ import annotations

import time

import numpy as np

from policrf import CRF
from policrf.compiled import compile_seconds, inlined, inner, inner_kernel, kernel
from policrf.solvers import solve
from policrf.solvers.run import Run


@inner
def _square(x):
    return x * x


@inlined
def _twice(x):
    return 2 * _square(x)


@inner_kernel
def _squares(count):
    found = np.empty(count)
    for k in range(count):
        found[k] = _twice(k)
    return found


def test_inner_functions_are_compiled_by_their_callers_only():
    total = kernel(lambda count: _squares(count).sum())
    total._cache.disable()  # else the second run of the tests would compile nothing
    before = compile_seconds()
    assert total(4) == 2 * (0 + 1 + 4 + 9)
    assert compile_seconds() > before
    for function in (_square, _twice, _squares):
        (compiled,) = function.overloads.values()
        assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


def test_compiling_is_not_charged_to_a_solver():
    slow = kernel(lambda x: x + 1)
    slow._cache.disable()
    begun, compiled = time.perf_counter(), compile_seconds()

    def solver(run: Run) -> None:
        slow(1)  # compiled here
        run.info["seen"] = run.elapsed()

    found = solve(CRF([[0.0, 1.0]]), solver)
    spent, wall = compile_seconds() - compiled, time.perf_counter() - begun
    assert spent > 0
    assert found.info["seen"] + spent <= wall
