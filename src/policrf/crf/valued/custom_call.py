"""Calling a `Custom` function from compiled code through one C function pointer.

Whatever the function, the kernels see an integer address of
`double (const int64 *labels, int64 k, const double *parameters, int64 p, int64 clique)`, so one
compiled and cached energy core serves every potential. A numba function is compiled behind such a
pointer; a plain Python one goes through ctypes, which takes the GIL by itself. The clique's number
in its group is there for messages only. An exception, NaN or −inf is kept as a failure
(`failures.py`), and the call returns NaN.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from policrf.crf.potentials import Custom
from policrf.crf.valued.callbacks import Callback, Callbacks, pinned
from policrf.crf.valued.failures import has_failed, keep_failure
from policrf.crf.valued.failures import raise_if_failed as raise_if_failed
from policrf.errors import CustomPotentialFailed, InvalidPotential
from policrf.types import FloatArray, IntArray

_INTEGERS = types.CPointer(types.int64)  # type: ignore[no-untyped-call]
_NUMBERS = types.CPointer(types.float64)  # type: ignore[no-untyped-call]
_C_SIGNATURE = types.float64(_INTEGERS, types.int64, _NUMBERS, types.int64, types.int64)
# The same in C, where the first pointer is to the numbers of a summary.
_C_OF_SUMMARY = types.float64(_NUMBERS, types.int64, _NUMBERS, types.int64, types.int64)
_C_ARGUMENTS = (
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int64,
    ctypes.c_int64,
)
_C_TYPE = ctypes.CFUNCTYPE(ctypes.c_double, *_C_ARGUMENTS)
_C_COMPLAINT = ctypes.CFUNCTYPE(None, *_C_ARGUMENTS)
_C_SUMMARY_COMPLAINT = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), *_C_ARGUMENTS[1:])

_callbacks = Callbacks()


def callback_of(group: Custom, function: Any) -> Callback:
    """One of the group's functions behind a C address; compiled once a function."""
    name = str(group.function_name)
    if function is not group.function:
        name = getattr(function, "__name__", f"{name} for a part")
    asked = _Asked(name, group.form)
    make = _compiled if isinstance(function, Dispatcher) else _python
    return _callbacks.get(function, asked, lambda: make(asked, function))


def _checked(energy: float) -> float:
    """Refuse what is no energy; +inf forbids, but nothing is infinitely good."""
    if np.isnan(energy):
        raise ValueError("it returned NaN")
    if energy == -np.inf:
        raise ValueError("it returned -inf; energies are finite, or +inf where it forbids")
    return energy


class _Asked(NamedTuple):
    """A function of a group, as messages name it."""

    name: str
    of: str  # "labels", "counts" or "summary": what it is called on

    def keep(self, error: BaseException, clique: int, numbers: IntArray | FloatArray) -> None:
        """Keep what went wrong in a call, for `raise_if_failed`."""
        what = "label counts" if self.of == "counts" else self.of
        failure = CustomPotentialFailed(
            f"Custom: {self.name} failed on clique {clique} with the {what} {numbers.tolist()}: "
            f"{type(error).__name__}: {error}"
        )
        failure.__cause__ = error
        keep_failure(failure)

    def copied(
        self, numbers: Any, k: int, parameters: Any, p: int
    ) -> tuple[IntArray | FloatArray, FloatArray]:
        """The arguments of a call as arrays of their own."""
        values = np.ctypeslib.as_array(parameters, (p,)).copy() if p else np.zeros(0)
        if self.of == "summary":
            numbers = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_double))
        return np.ctypeslib.as_array(numbers, (k,)).copy(), values


def _compiled(asked: _Asked, function: Any) -> tuple[int, Any]:
    def complain(numbers: Any, k: int, parameters: Any, p: int, clique: int) -> None:
        if has_failed():
            return
        # Compiled code knows only that something was raised: the same call from Python tells what.
        found = asked.copied(numbers, k, parameters, p)
        try:
            _checked(float(function(*found)))
            raise RuntimeError("it failed once, and not when it was called again")
        except BaseException as error:
            asked.keep(error, clique, found[0])

    complaint = (_C_SUMMARY_COMPLAINT if asked.of == "summary" else _C_COMPLAINT)(complain)

    def call(numbers: Any, k: Any, parameters: Any, p: Any, clique: Any) -> Any:
        energy = np.nan
        try:
            energy = float(function(carray(numbers, k), carray(parameters, p)))
        except Exception:
            energy = np.nan
        if not energy > -np.inf:
            energy = np.nan
            complaint(numbers, k, parameters, p, clique)
        return energy

    kind = "float64[:]" if asked.of == "summary" else "int64[:]"
    try:
        callback = cfunc(_C_OF_SUMMARY if asked.of == "summary" else _C_SIGNATURE)(call)
    except Exception as error:
        raise InvalidPotential(
            f"Custom: numba cannot compile {asked.name}({asked.of} {kind}, parameters "
            f"float64[:]) to a float: {first_reason(error)}"
        ) from error
    return int(callback.address or 0), (callback, complaint)


def _python(asked: _Asked, function: Any) -> tuple[int, Any]:
    def call(numbers: Any, k: int, parameters: Any, p: int, clique: int) -> float:
        found = asked.copied(numbers, k, parameters, p)
        try:
            value = function(found[0].copy(), found[1])
            return _checked(_number(value))
        except BaseException as error:
            asked.keep(error, clique, found[0])
            return float("nan")

    return pinned(_C_TYPE(call))


def _number(value: Any) -> float:
    """What a function returned, as a float; what is wrong with it in its user's words."""
    if isinstance(value, str | bytes):
        raise TypeError(f"it returned text, {value!r}, not a number")
    if value is None:
        raise TypeError("it returned None, not a number: is there a path without a return?")
    if np.ndim(value):
        raise TypeError(f"it returned an array of shape {list(np.shape(value))}, not a number")
    return float(value)


def first_reason(error: Exception) -> str:
    """The line of numba's message that says what is wrong."""
    lines = [line.strip(" -") for line in str(error).splitlines()]
    return next((line for line in lines if line and "pipeline" not in line), lines[0])


@intrinsic
def call_custom(
    typing_context: Any, address: Any, labels: Any, k: Any, parameters: Any, p: Any, clique: Any
) -> Any:
    """`call_custom(address, labels, k, parameters, p, clique)` in a kernel; arrays contiguous."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        int64, double = ir.IntType(64), ir.DoubleType()
        function_type = ir.FunctionType(
            double, [int64.as_pointer(), int64, double.as_pointer(), int64, int64]
        )
        pointer = builder.inttoptr(args[0], cgutils.voidptr_t)
        pointer = builder.bitcast(pointer, function_type.as_pointer())
        label_array = context.make_array(signature.args[1])(context, builder, args[1])
        parameter_array = context.make_array(signature.args[3])(context, builder, args[3])
        data = builder.bitcast(label_array.data, int64.as_pointer())
        values = builder.bitcast(parameter_array.data, double.as_pointer())
        return builder.call(pointer, [data, args[2], values, args[4], args[5]])

    signature = types.float64(
        types.int64, labels, types.int64, parameters, types.int64, types.int64
    )
    return signature, codegen
