"""Calling anybody's reward from compiled code through one C function pointer.

As for custom potentials (`crf/valued/custom_call.py`): kernels see an integer address of
`void (const double *costs, const double *changes, int64 L, int64 ties, double *out)`. A numba
function is compiled behind such a pointer, a plain Python one goes through ctypes. An exception
cannot cross C code, and no number stands for one: it is kept, the rewards are NaN, and
`raise_if_failed` raises it once the kernel is back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from policrf.crf.valued.callbacks import pinned
from policrf.crf.valued.failures import keep_failure
from policrf.errors import RewardFailed

_NUMBERS = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
_C_SIGNATURE = types.void(_NUMBERS, _NUMBERS, types.int64, types.int64, _NUMBERS)
_C_NUMBERS = ctypes.POINTER(ctypes.c_double)
_C_TYPE = ctypes.CFUNCTYPE(None, _C_NUMBERS, _C_NUMBERS, ctypes.c_int64, ctypes.c_int64, _C_NUMBERS)
_C_COMPLAINT = ctypes.CFUNCTYPE(None)

# Addresses stay valid as long as the objects behind them live: one a function, kept for good.
_callbacks: dict[int, tuple[int, Any]] = {}
_lock = Lock()


def address_of(function: Callable[..., Any], name: str) -> int:
    """The C address of the reward's function; compiled once a function.

    Parameters
    ----------
    function
        `function(costs, changes, ties, out)`, compiled by numba or not.
    name
        What messages call the reward.
    """
    with _lock:
        if id(function) not in _callbacks:
            build = _compiled if isinstance(function, Dispatcher) else _python
            address, alive = build(function, name)
            _callbacks[id(function)] = address, (alive, function)
        return _callbacks[id(function)][0]


def _compiled(function: Any, name: str) -> tuple[int, Any]:
    def complain() -> None:
        keep_failure(RewardFailed(f"the reward {name!r} raised an exception, or gave NaN"))

    complaint = _C_COMPLAINT(complain)

    def call(costs: Any, changes: Any, count: Any, ties: Any, out: Any) -> None:
        rewards = carray(out, count)
        try:
            function(carray(costs, count), carray(changes, count), ties != 0, rewards)
        except Exception:
            rewards[:] = np.nan
        for label in range(count):
            if np.isnan(rewards[label]):
                complaint()
                break

    try:
        callback = cfunc(_C_SIGNATURE)(call)
    except Exception as error:
        lines = [line.strip(" -") for line in str(error).splitlines()]
        reason = next((line for line in lines if line and "pipeline" not in line), lines[0])
        raise RewardFailed(
            f"numba cannot compile the reward {name!r} for (costs float64[:], changes float64[:], "
            f"ties bool, out float64[:]): {reason}"
        ) from error
    return int(callback.address or 0), (callback, complaint)


def _python(function: Callable[..., Any], name: str) -> tuple[int, Any]:
    def call(costs: Any, changes: Any, count: int, ties: int, out: Any) -> None:
        rewards = np.ctypeslib.as_array(out, (count,))
        try:
            known = [
                np.ctypeslib.as_array(pointer, (count,)).copy() for pointer in (costs, changes)
            ]
            function(*known, bool(ties), rewards)
            if np.isnan(rewards).any():
                raise ValueError("it gave NaN")
        except BaseException as error:
            rewards[:] = np.nan
            failure = RewardFailed(f"the reward {name!r} failed: {type(error).__name__}: {error}")
            failure.__cause__ = error
            keep_failure(failure)

    return pinned(_C_TYPE(call))


@intrinsic
def call_reward(
    typing_context: Any, address: Any, costs: Any, changes: Any, count: Any, ties: Any, out: Any
) -> Any:
    """`call_reward(address, costs, changes, count, ties, out)` in a kernel; arrays contiguous."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        int64, numbers = ir.IntType(64), ir.DoubleType().as_pointer()
        function_type = ir.FunctionType(ir.VoidType(), [numbers, numbers, int64, int64, numbers])
        pointer = builder.inttoptr(args[0], cgutils.voidptr_t)
        pointer = builder.bitcast(pointer, function_type.as_pointer())
        data = {}
        for at in (1, 2, 5):
            array = context.make_array(signature.args[at])(context, builder, args[at])
            data[at] = builder.bitcast(array.data, numbers)
        builder.call(pointer, [data[1], data[2], args[3], args[4], data[5]])
        return context.get_dummy_value()

    signature = types.void(types.int64, costs, changes, types.int64, types.int64, out)
    return signature, codegen
