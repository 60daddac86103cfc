"""numba's types as text and back: what a kernel was compiled for, in a file without pickles.

int64, bool             a number
float64[2C]             an array of two dimensions, contiguous in C order
float64[1C]!            the same, which may not be written to
(3 int64)               a tuple of three
policrf.crf.state:State a NamedTuple; what its fields are stands in a table beside it
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numba.core import types as numba_types

types: Any = numba_types  # numba's stubs leave out most of what is used here
Tuples = dict[str, list[str]]
NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
    "float64", "none",
)  # fmt: skip


class UnknownType(ValueError):
    """A type that has no text; a kernel that takes it is compiled when it is needed."""


def to_text(kind: Any, tuples: Tuples) -> str:
    """The text of a type; fields of NamedTuples are added to `tuples`."""
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        return _tuple_text(kind, tuples)
    if isinstance(kind, types.Array) and kind.aligned:
        mark = "" if kind.mutable else "!"
        return f"{to_text(kind.dtype, tuples)}[{kind.ndim}{kind.layout}]{mark}"
    if isinstance(kind, types.UniTuple):
        return f"({kind.count} {to_text(kind.dtype, tuples)})"
    if str(kind) not in NUMBERS:
        raise UnknownType(str(kind))
    return str(kind)


def _tuple_text(kind: Any, tuples: Tuples) -> str:
    """The class; a number behind it where one class has fields of several types."""
    fields = [to_text(field, tuples) for field in kind]
    name = f"{kind.instance_class.__module__}:{kind.instance_class.__name__}"
    for variant in range(1, len(tuples) + 2):
        text = name if variant == 1 else f"{name}#{variant}"
        if tuples.setdefault(text, fields) == fields:
            return text
    raise UnknownType(name)


def from_text(text: str, tuples: Tuples) -> Any:
    """The type of a text."""
    if ":" in text:
        module, _, name = text.partition("#")[0].partition(":")
        fields = [from_text(field, tuples) for field in tuples[text]]
        return types.BaseTuple.from_types(fields, getattr(import_module(module), name))
    if text.startswith("("):
        count, _, item = text[1:-1].partition(" ")
        return types.UniTuple(from_text(item, tuples), int(count))
    if "[" in text:
        item, _, shape = text.partition("[")
        shape, _, mark = shape.partition("]")
        return types.Array(
            from_text(item, tuples), int(shape[:-1]), shape[-1], readonly=mark == "!"
        )
    if text not in NUMBERS:
        raise UnknownType(text)
    return types.boolean if text == "bool" else getattr(types, text)
