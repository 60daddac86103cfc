"""The options of a solver: read from its signature, checked by name, typed when given as text."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import textwrap
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from policrf.argument_types import alternatives, check_value, type_hints
from policrf.errors import InvalidOption

FURTHER = "further_options"  # attribute of a solver that takes **options: which ones


class Option(NamedTuple):
    """One keyword option."""

    name: str
    type: Any
    """The annotation; None where there is none and the default does not tell."""
    default: Any
    text: str
    """What it does, from the docstring."""


def options_of(solver: Callable[..., Any]) -> dict[str, Option]:
    """The keyword options of a solver by name, in order.

    A solver that takes further ones as `**options` says which in its attribute `further_options`.
    """
    function = solver if inspect.isroutine(solver) else type(solver).__call__
    return _signature(function).options | getattr(solver, FURTHER, {})


class _Signature(NamedTuple):
    options: dict[str, Option]
    open_ended: bool


@lru_cache(maxsize=256)
def _signature(function: Callable[..., Any]) -> _Signature:
    """Read once a function: every call of `solve` asks for it."""
    hints = type_hints(inspect.unwrap(function))
    texts = parameter_texts(inspect.getdoc(function) or "")
    found, open_ended = {}, False
    for parameter in inspect.signature(function).parameters.values():
        open_ended |= parameter.kind is parameter.VAR_KEYWORD
        if parameter.kind is parameter.KEYWORD_ONLY:
            name, default = parameter.name, parameter.default
            kind = hints.get(name, type(default) if default is not None else None)
            found[name] = Option(name, kind, default, texts.get(name, ""))
    return _Signature(found, open_ended)


def dataclass_options(options: type, *, without: Sequence[str] = ()) -> dict[str, Option]:
    """The fields of a dataclass of options, as those of a signature."""
    return {name: option for name, option in _fields(options).items() if name not in without}


@lru_cache(maxsize=16)
def _fields(options: type) -> dict[str, Option]:
    """Read once a class: its source is parsed, which takes milliseconds."""
    hints, texts = typing.get_type_hints(options), field_texts(options)
    return {
        field.name: Option(field.name, hints[field.name], field.default, texts.get(field.name, ""))
        for field in dataclasses.fields(options)
    }


def check_options(
    name: str, solver: Callable[..., Any], given: Mapping[str, Any]
) -> dict[str, Option]:
    """The solver's options; one that was given and is not among them is an error."""
    known = options_of(solver)
    function = solver if inspect.isroutine(solver) else type(solver).__call__
    if _signature(function).open_ended and not hasattr(solver, FURTHER):
        return known
    for option in given:
        if option not in known:
            near = get_close_matches(option, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            takes = ", ".join(known) or "none"
            raise InvalidOption(f"{name} has no option {option!r}{hint}; it takes {takes}")
    return known


def checked_values(
    name: str, known: Mapping[str, Option], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The values, if they are of the options' types; a whole number for a number becomes one.

    Kernels are compiled for the types they are called with: there is one of each.
    """
    values = dict(given)
    for option, value in given.items():
        if option in known and known[option].type is not None:
            check_value(f"{name}: {option}", known[option].type, value)
            kinds = alternatives(known[option].type)
            if float in kinds and int not in kinds and isinstance(value, int | np.number):
                values[option] = float(value)
    return values


def read_value(where: str, option: Option, text: str) -> Any:
    """A value given as text, by the option's type.

    >>> read_value("icm", Option("sweeps", int, 10, ""), "3")
    3
    """
    kinds = alternatives(option.type)
    if type(None) in kinds and text.lower() in ("none", "null"):
        return None
    for kind in kinds:
        try:
            return _read(kind, text)
        except ValueError:
            continue
    wanted = " or ".join(filter(None, (_in_words(kind) for kind in kinds)))
    raise InvalidOption(f"{where}: {option.name} is {text!r}; it must be {wanted}")


def _read(kind: Any, text: str) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError
        return text.lower() == "true"
    if kind is int:
        return int(text)
    if kind is float:
        value = float(text)
        if value != value:
            raise ValueError
        return value
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise ValueError
        return text
    if kind is type(None):
        raise ValueError
    if kind is None or get_origin(kind) is not None:  # unannotated, or a sequence
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            if kind is None:
                return text
            raise ValueError from None
        if kind is not None and not isinstance(value, list):
            raise ValueError
        return value
    return text


def _in_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    if kind is type(None):
        return "none"
    return words.get(kind, "a JSON list such as [1,2]")


def type_text(kind: Any) -> str:
    """An annotation for people: `int`, `float | None`, the choices of a Literal."""
    if get_origin(kind) is Literal:
        return " | ".join(map(str, get_args(kind)))
    if get_origin(kind) in (Union, types.UnionType):
        return " | ".join(type_text(part) for part in get_args(kind))
    if kind is type(None):
        return "none"
    if get_origin(kind) is not None:
        return "list"
    return getattr(kind, "__name__", str(kind)) if kind is not None else "any"


def parameter_texts(docstring: str) -> dict[str, str]:
    """The parameters of a NumPy-style docstring: name -> text on one line.

    >>> parameter_texts("Sums up.\\n\\nParameters\\n----------\\nhow\\n    Which way.\\n")
    {'how': 'Which way.'}
    """
    _, found, section = docstring.partition("Parameters\n----------\n")
    texts: dict[str, str] = {}
    names: Sequence[str] = ()
    for line in section.splitlines() if found else ():
        if line.strip("-") == "" and line:
            break
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(":")[0].split(",")]
            texts |= dict.fromkeys(names, "")
        elif line.strip():
            for name in names:
                texts[name] = f"{texts[name]} {line.strip()}".strip()
    return texts


def field_texts(cls: type) -> dict[str, str]:
    """The docstrings below a dataclass's fields: name -> text on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    texts = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            texts[field.target.id] = " ".join(str(text.value.value).split())
    return texts
