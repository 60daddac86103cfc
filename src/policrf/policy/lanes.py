"""Sixteen float32 at once inside kernels: the arithmetic of the engine's inner loops.

numba has no vector type of its own, and its loop vectoriser pays more for set-up than for work on
rows of 32 numbers. `Lanes` is LLVM's <16 x float>, which every processor gets as the registers it
has. Rows are padded with zeros to whole lanes (`padded`), so that no loop has a remainder.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 16
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_INT32 = ir.IntType(32)


def padded(size: int) -> int:
    """`size` rounded up to whole lanes.

    >>> padded(21), padded(32)
    (32, 32)
    """
    return -(-size // LANES) * LANES


class Lanes(types.Type):
    """The numba type of sixteen float32; for local variables only."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)  # type: ignore[no-untyped-call]


_lanes = Lanes()


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _load(typing_context: Any, array: Any, index: Any) -> Any:
    """array[index : index + 16] of a contiguous float32 array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = builder.load(_address(context, builder, signature.args[0], args[0], args[1]))
        lanes.align = 4
        return lanes

    return _lanes(array, types.int64), codegen


def _store(typing_context: Any, array: Any, index: Any, lanes: Any) -> Any:
    """array[index : index + 16] = lanes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], target).align = 4
        return context.get_dummy_value()

    return types.void(array, types.int64, _lanes), codegen


def _spread(typing_context: Any, value: Any) -> Any:
    """The same number in every lane."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, args[0], ir.Constant(_INT32, 0))
        return builder.shuffle_vector(
            first, undefined, ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES)
        )

    return _lanes(types.float32), codegen


def _multiply_add(typing_context: Any, one: Any, other: Any, added: Any) -> Any:
    """one · other + added."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fmuladd.v{LANES}f32"
        )
        return builder.call(function, args)

    return _lanes(_lanes, _lanes, _lanes), codegen


def _add(typing_context: Any, one: Any, other: Any) -> Any:
    """one + other."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return _lanes(_lanes, _lanes), codegen


def _relu(typing_context: Any, lanes: Any) -> Any:
    """max(lanes, 0)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[0], zero)

    return _lanes(_lanes), codegen


def _total(typing_context: Any, lanes: Any) -> Any:
    """The sum of all lanes, by halves: always in the same order."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, width = args[0], LANES
        while width > 1:
            width //= 2
            undefined = ir.Constant(value.type, ir.Undefined)
            mask = ir.VectorType(_INT32, width)
            low = ir.Constant(mask, list(range(width)))
            high = ir.Constant(mask, list(range(width, 2 * width)))
            value = builder.fadd(
                builder.shuffle_vector(value, undefined, low),
                builder.shuffle_vector(value, undefined, high),
            )
        return builder.extract_element(value, ir.Constant(_INT32, 0))

    return types.float32(_lanes), codegen


# Typed loosely: inside a kernel they take lanes and arrays, which only numba can tell apart.
load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
spread: Any = intrinsic(_spread)
multiply_add: Any = intrinsic(_multiply_add)
add: Any = intrinsic(_add)
relu: Any = intrinsic(_relu)
total: Any = intrinsic(_total)
