"""Arguments of public calls, held against their annotations: one typed sentence for a wrong one.

Whole numbers, numbers, truth values, texts, paths, choices, functions, sequences, mappings and
classes are told apart; arrays (`ArrayLike`) are not, since whoever takes them converts and checks
them. A union is met by any of its parts. Nothing is converted here.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, wraps
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from policrf.errors import InvalidFile, InvalidOption, PolicrfError, TooLarge

Function = TypeVar("Function", bound=Callable[..., Any])
Kind = type[PolicrfError]
_LARGEST_FLOAT = 2**1023  # a whole number beyond cannot become one
_LARGEST = 2**63 - 1
_LONGEST_NAME = 255  # bytes of one part of a path
_WORDS = {
    int: "a whole number", float: "a number", bool: "true or false", str: "text", Path: "a path",
    type(None): "none",
}  # fmt: skip


def typed(error: Kind = InvalidOption) -> Callable[[Function], Function]:
    """A decorator: arguments that do not fit the function's annotations raise `error`."""

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters.values()
        # Those behind *arguments are given by name only.
        named_alike = takewhile(lambda one: one.kind is not one.VAR_POSITIONAL, parameters)
        names = [one.name for one in named_alike]
        kinds: dict[str, Any] = {}

        @wraps(function)
        def checked(*arguments: Any, **named: Any) -> Any:
            if not kinds:  # read at the first call: annotations may name what is imported later
                kinds.update({"": None} | type_hints(function))
            for name, value in (*zip(names, arguments, strict=False), *named.items()):
                if name in kinds:
                    check_value(name, kinds[name], value, error)
            try:
                return function(*arguments, **named)
            except MemoryError as lack:
                if isinstance(lack, PolicrfError):
                    raise
                raise TooLarge(
                    f"{function.__name__}: there is not enough memory ({str(lack) or 'anywhere'})"
                ) from lack

        return typing.cast(Function, checked)

    return decorate


def check_fields(thing: Any, error: Kind = InvalidOption) -> None:
    """The same for the fields of a dataclass, from its `__post_init__`."""
    kinds = _field_hints(type(thing))  # type: ignore[arg-type]
    for field in dataclasses.fields(thing):
        if field.name in kinds:
            check_value(field.name, kinds[field.name], getattr(thing, field.name), error)


def check_value(name: str, kind: Any, value: Any, error: Kind = InvalidOption) -> None:
    """Refuse a value that is of none of the annotation's types."""
    kinds = alternatives(kind)
    if not any(_fits(one, value) for one in kinds):
        wanted = " or ".join(dict.fromkeys(map(_in_words, kinds)))
        raise error(f"{name} must be {wanted}, not {shown(value)}")
    if name == "seed" and isinstance(value, int | np.integer) and value < 0:
        raise error(f"seed must be a whole number ≥ 0, not {value}")
    if isinstance(value, str | Path) and any(one is Path for one in kinds):
        _check_path(name, os.fspath(value))


def _check_path(name: str, path: str) -> None:
    if "\0" in path:
        raise InvalidFile(f"{name} is {shown(path)}; a path has no null character")
    longest = max((len(os.fsencode(part)) for part in Path(path).parts), default=0)
    if longest > _LONGEST_NAME:
        raise InvalidFile(f"{name} is {shown(path)}: the name is too long for a file")


def shown(value: Any) -> str:
    """A value for a message: as it is where that is short, else its type."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"a {type(value).__name__}"


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The parts of a union."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _fits(kind: Any, value: Any) -> bool:
    if kind is Any:
        return True
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        return whole and -_LARGEST <= int(value) <= _LARGEST
    if kind is float:
        number = isinstance(value, int | float | np.integer | np.floating)
        if not number or isinstance(value, bool) or value != value:
            return False
        return not isinstance(value, int) or abs(value) <= _LARGEST_FLOAT
    if kind is str:
        return isinstance(value, str)
    if kind is Path:
        return isinstance(value, str | Path)
    if kind is type(None):
        return value is None
    origin = get_origin(kind)
    if origin is Literal:
        return isinstance(value, str | int) and value in get_args(kind)
    if origin is Callable:
        return callable(value)
    if origin is Mapping or origin is dict:
        return isinstance(value, Mapping)
    if origin is Sequence or origin is tuple or origin is list:
        return _fits_sequence(get_args(kind), value)
    if isinstance(kind, type) and origin is None and not getattr(kind, "_is_protocol", False):
        return isinstance(value, kind)
    return True  # an array, Any, or something that only its user can tell


def _fits_sequence(kinds: tuple[Any, ...], value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0 and str not in kinds
    if isinstance(value, str | bytes | bytearray | memoryview | Mapping):
        return False
    if not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        return False
    # Instances may be read from disk one by one: only what is there already is looked at.
    if kinds and kinds[0] in (str, int, float) and isinstance(value, Sequence):
        return all(_fits(kinds[0], part) for part in value)
    return True


def _in_words(kind: Any) -> str:
    if kind in _WORDS:
        return _WORDS[kind]
    origin = get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if origin is Callable:
        return "a function"
    if origin is Mapping or origin is dict:
        return "a dictionary"
    if origin in (Sequence, tuple, list):
        plural = {str: " of texts", int: " of whole numbers", float: " of numbers"}
        return "a list" + "".join(plural.get(part, "") for part in get_args(kind)[:1])
    return f"a {kind.__name__}" if isinstance(kind, type) else "something else"


@lru_cache(maxsize=256)
def _field_hints(cls: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        module = inspect.getmodule(base)
        own = vars(base).get("__annotations__", {})  # not those that it inherits
        found |= _resolved(own, {} if module is None else vars(module))
    return found


def type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations as types; those with names that only a type checker imports are left out."""
    annotations = getattr(function, "__annotations__", {})
    return _resolved(annotations, getattr(function, "__globals__", {}))


def _resolved(annotations: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for name, annotation in annotations.items():
        one = types.SimpleNamespace(__annotations__={name: annotation})
        with suppress(NameError, TypeError):
            hints |= typing.get_type_hints(one, globalns=dict(names))
    return hints
