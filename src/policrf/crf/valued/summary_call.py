"""Calling the `update` of a custom potential's summary from compiled code, through a C pointer.

The kernels see an integer address of `double (double *summary, int64 size, const double
*parameters, int64 p, int64 member, int64 label, int64 sign)`. It returns 0, or NaN after an
exception, which is kept as a failure as in `custom_call`.
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

from policrf.crf.valued.callbacks import Callback, Callbacks, pinned
from policrf.crf.valued.custom_call import first_reason
from policrf.crf.valued.failures import keep_failure
from policrf.errors import CustomPotentialFailed, InvalidPotential

_NUMBERS = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
_INTEGER, _NUMBER = types.int64, types.float64
_C_SIGNATURE = _NUMBER(_NUMBERS, _INTEGER, _NUMBERS, _INTEGER, _INTEGER, _INTEGER, _INTEGER)
_C_NUMBERS = ctypes.POINTER(ctypes.c_double)
_C_ARGUMENTS = (_C_NUMBERS, ctypes.c_int64, _C_NUMBERS, *(ctypes.c_int64,) * 4)
_C_TYPE = ctypes.CFUNCTYPE(ctypes.c_double, *_C_ARGUMENTS)
_C_COMPLAINT = ctypes.CFUNCTYPE(None, *(ctypes.c_int64,) * 3)

_callbacks = Callbacks()


def update_callback(update: Any, name: str) -> Callback:
    """An update function behind a C address; compiled once a function."""
    make = _compiled if isinstance(update, Dispatcher) else _python
    return _callbacks.get(update, (name,), lambda: make(update, name))


def _keep(name: str, member: int, label: int, sign: int, error: BaseException | None) -> None:
    what = "raised an exception" if error is None else f"{type(error).__name__}: {error}"
    failure = CustomPotentialFailed(
        f"Custom: {name} failed for member {member} with label {label} and sign {sign}: {what}"
    )
    failure.__cause__ = error
    keep_failure(failure)


def _compiled(update: Any, name: str) -> tuple[int, Any]:
    complaint = _C_COMPLAINT(lambda member, label, sign: _keep(name, member, label, sign, None))

    def call(summary: Any, s: Any, parameters: Any, p: Any, m: Any, label: Any, sign: Any) -> Any:
        done = np.nan
        try:
            update(carray(summary, s), m, label, sign, carray(parameters, p))
            done = 0.0
        except Exception:
            complaint(m, label, sign)
        return done

    try:
        callback = cfunc(_C_SIGNATURE)(call)
    except Exception as error:
        raise InvalidPotential(
            f"Custom: numba cannot compile {name}(summary float64[:], member, label, sign, "
            f"parameters float64[:]): {first_reason(error)}"
        ) from error
    return int(callback.address or 0), (callback, complaint)


def _python(update: Any, name: str) -> tuple[int, Any]:
    def call(summary: Any, s: int, parameters: Any, p: int, m: int, label: int, sign: int) -> float:
        values = np.ctypeslib.as_array(parameters, (p,)).copy() if p else np.zeros(0)
        try:
            update(np.ctypeslib.as_array(summary, (s,)), m, label, sign, values)
            return 0.0
        except BaseException as error:
            _keep(name, m, label, sign, error)
            return float("nan")

    return pinned(_C_TYPE(call))


@intrinsic
def call_update(
    typing_context: Any, address: Any, summary: Any, parameters: Any, p: Any, m: Any, label: Any,
    sign: Any,
) -> Any:  # fmt: skip
    """`call_update(address, summary, parameters, p, member, label, sign)` in a kernel."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        int64, double = ir.IntType(64), ir.DoubleType()
        numbers = double.as_pointer()
        function_type = ir.FunctionType(double, [numbers, int64, numbers, *[int64] * 4])
        pointer = builder.inttoptr(args[0], cgutils.voidptr_t)
        pointer = builder.bitcast(pointer, function_type.as_pointer())
        summary_array = context.make_array(signature.args[1])(context, builder, args[1])
        parameter_array = context.make_array(signature.args[2])(context, builder, args[2])
        size = builder.extract_value(summary_array.shape, 0)
        data = builder.bitcast(summary_array.data, numbers)
        values = builder.bitcast(parameter_array.data, numbers)
        return builder.call(pointer, [data, size, values, *args[3:]])

    integer = types.int64
    signature = types.float64(integer, summary, parameters, integer, integer, integer, integer)
    return signature, codegen
