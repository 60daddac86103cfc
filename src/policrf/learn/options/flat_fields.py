"""Options by their flat names: the fields of nested dataclasses as if there were one of them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from policrf.errors import InvalidOption

Options = TypeVar("Options")
# Declared type of a field -> the Python types it takes, and how a message calls them.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "bool": ((bool,), "true or false"),
    "int": ((int,), "a whole number"),
    "float": ((float, int), "a number"),
    "str": ((str,), "text"),
    "tuple[str, ...]": ((tuple, list), "a list of names"),
}


def flat(options: Any) -> dict[str, Any]:
    """Every field by its name, those of groups among them.

    >>> from policrf.learn.options import DQN
    >>> flat(DQN())["epsilon"]
    0.5
    """
    found: dict[str, Any] = {}
    for name in (field.name for field in fields(options)):
        value = getattr(options, name)
        found |= flat(value) if is_dataclass(value) else {name: value}
    return found


def groups(options: Any) -> dict[str, Any]:
    """The groups of options, nested ones included."""
    found: dict[str, Any] = {}
    for name in (field.name for field in fields(options)):
        value = getattr(options, name)
        if is_dataclass(value):
            found |= {name: value} | groups(value)
    return found


def with_fields(options: Options, changes: dict[str, Any], what: str) -> Options:
    """The options with some fields or whole groups replaced, by name.

    Parameters
    ----------
    options
        A frozen dataclass, whose fields may be such dataclasses.
    changes
        New values by flat name; a group is replaced before the fields that it holds.
    what
        What the options are of, for the message about a name that is none.

    >>> from policrf.learn.options import DQN
    >>> with_fields(DQN(), {"width": 16, "rounds": 5}, "dqn").network.width
    16
    """
    whole = groups(options)
    types = _flat_types(options)
    names = [*types, *whole]
    for name, value in changes.items():
        if name not in names:
            raise InvalidOption(f"{what} has no option {name!r}; {_suggestion(name, names)}")
        if name in whole and not isinstance(value, type(whole[name])):
            wanted = type(whole[name]).__name__
            raise InvalidOption(f"{name} is {value!r}; give {wanted}(...), or its fields by name")
        if name not in whole:
            _check_type(name, value, types[name])
    changed: Options = _replaced(options, changes)
    return changed


def _flat_types(options: Any) -> dict[str, str]:
    """The declared type of every field by its flat name, as it stands in the source."""
    found: dict[str, str] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        found |= _flat_types(value) if is_dataclass(value) else {field.name: str(field.type)}
    return found


def _check_type(name: str, value: Any, declared: str) -> None:
    """Refuse a value of another type than the declared one; a whole number is a number too."""
    wanted = declared.removesuffix(" | None")
    if wanted not in _TYPES or (value is None and wanted != declared):
        return
    kinds, words = _TYPES[wanted]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise InvalidOption(f"{name} is {value!r}; it must be {words}")


def _replaced(options: Any, changes: dict[str, Any]) -> Any:
    own = {}
    for name in (field.name for field in fields(options)):
        value = changes.get(name, getattr(options, name))
        own[name] = _replaced(value, changes) if is_dataclass(value) else value
    return replace(options, **own)


def _suggestion(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, 3, 0.5)
    return f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(names)}"
