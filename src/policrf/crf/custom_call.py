"""Calling a `Custom` function from compiled code through one C function pointer.

Whatever the function, the kernels see an integer address of
`double (const int64 *labels, int64 k, const double *parameters, int64 p)`, so one compiled and
cached energy core serves every potential. A numba function is compiled behind such a pointer; a
plain Python one goes through ctypes, which takes the GIL by itself. An exception cannot cross C
code: it is kept here, the call returns NaN, and `raise_if_failed` raises it once the kernel is
back.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from policrf.crf.potentials import Custom
from policrf.errors import CustomPotentialFailed, InvalidPotential, PolicrfError

_C_SIGNATURE = types.float64(
    types.CPointer(types.int64),  # type: ignore[no-untyped-call]
    types.int64,
    types.CPointer(types.float64),  # type: ignore[no-untyped-call]
    types.int64,
)
_C_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_double,
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int64,
)

# Addresses stay valid as long as the callback object lives: one a function, kept for good.
_callbacks: dict[int, tuple[Any, int, Any]] = {}
_failures: list[PolicrfError] = []


def address_of(group: Custom, function: Any) -> int:
    """The C address of one of the group's functions; compiled once a function."""
    key = id(function)
    if key not in _callbacks:
        make = _compiled if isinstance(function, Dispatcher) else _python
        callback, address = make(str(group.function_name), function)
        _callbacks[key] = (callback, address, function)
    return _callbacks[key][1]


def _compiled(name: str, function: Any) -> tuple[Any, int]:
    def call(labels: Any, k: Any, parameters: Any, p: Any) -> Any:
        try:
            return function(carray(labels, k), carray(parameters, p))
        except Exception:
            return np.nan

    try:
        callback = cfunc(_C_SIGNATURE)(call)
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise InvalidPotential(
            f"Custom: numba cannot compile {name}(labels int64[:], parameters float64[:]) to a "
            f"float: {reason}"
        ) from error
    return callback, int(callback.address or 0)


def _python(name: str, function: Any) -> tuple[Any, int]:
    def call(labels: Any, k: int, parameters: Any, p: int) -> float:
        try:
            label_array = np.ctypeslib.as_array(labels, (k,)).copy()
            values = np.ctypeslib.as_array(parameters, (p,)).copy() if p else np.zeros(0)
            energy = float(function(label_array, values))
            if np.isnan(energy):
                raise ValueError("it returned NaN")
            return energy
        except BaseException as error:
            failure = CustomPotentialFailed(
                f"Custom: {name} failed on the labels {label_array.tolist()}: "
                f"{type(error).__name__}: {error}"
            )
            failure.__cause__ = error
            keep_failure(failure)
            return float("nan")

    callback = _C_TYPE(call)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return callback, address


def keep_failure(failure: PolicrfError) -> None:
    """Keep an error of a function that was called from compiled code, for `raise_if_failed`."""
    _failures.append(failure)


def raise_if_failed() -> None:
    """Raise the first error that a function called from compiled code had since the last call."""
    if _failures:
        first = _failures[0]
        _failures.clear()
        if isinstance(first.__cause__, KeyboardInterrupt):
            raise first.__cause__
        raise first


@intrinsic
def call_custom(
    typing_context: Any, address: Any, labels: Any, k: Any, parameters: Any, p: Any
) -> Any:
    """`call_custom(address, labels, k, parameters, p)` inside a kernel; both arrays contiguous."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address_value, labels_value, k_value, parameters_value, p_value = args
        label_array = context.make_array(signature.args[1])(context, builder, labels_value)
        parameter_array = context.make_array(signature.args[3])(context, builder, parameters_value)
        int64, double = ir.IntType(64), ir.DoubleType()
        function_type = ir.FunctionType(
            double, [int64.as_pointer(), int64, double.as_pointer(), int64]
        )
        pointer = builder.inttoptr(address_value, cgutils.voidptr_t)
        pointer = builder.bitcast(pointer, function_type.as_pointer())
        data = builder.bitcast(label_array.data, int64.as_pointer())
        values = builder.bitcast(parameter_array.data, double.as_pointer())
        return builder.call(pointer, [data, k_value, values, p_value])

    signature = types.float64(types.int64, labels, types.int64, parameters, types.int64)
    return signature, codegen
