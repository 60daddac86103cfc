"""Names -> objects. Others plug theirs in through entry points (`policrf.solvers`, …)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, distributions, entry_points
from operator import attrgetter
from typing import Any

from policrf.errors import MissingDependency, PolicrfError, UnknownName


class Registry:
    """Lazily imported objects by name; "module:attribute" strings cost nothing until used.

    Parameters
    ----------
    kind
        What the objects are, in the singular: "solver". Messages say it, and the group of the entry
        points is `policrf.solvers`.
    builtin
        Name -> "module:attribute" of what the package brings; plugins cannot take these names.
    """

    def __init__(self, kind: str, builtin: dict[str, str]) -> None:
        self.kind = kind
        self._targets: dict[str, Any] = dict(builtin)
        self._plugins_loaded = False

    def register(self, name: str, target: Any) -> None:
        """Add or replace a name; `target` is the object itself or "module:attribute"."""
        self._targets[name] = target

    def names(self) -> list[str]:
        """All names, plugins included."""
        self._load_plugins()
        return sorted(self._targets)

    def get(self, name: str) -> Any:
        """The object of that name; an unknown one is an error that lists those there are."""
        if name not in self._targets:
            self._load_plugins()
        if name not in self._targets:
            near = get_close_matches(name, self.names(), 1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise UnknownName(
                f"no {self.kind} is called {name!r}{meant}; there are {', '.join(self.names())}"
            )
        target = self._targets[name]
        if isinstance(target, str):
            target = self._targets[name] = self._import(name, target)
        return target

    def _import(self, name: str, target: str) -> Any:
        module, _, attribute = target.partition("[")[0].partition(":")  # extras are in brackets
        try:
            return attrgetter(attribute.strip())(import_module(module.strip()))
        except PolicrfError:
            raise
        except (Exception, SystemExit) as error:  # whatever somebody else's module does
            raise MissingDependency(
                f"the {self.kind} {name!r} is said to be {target!r}, which cannot be imported "
                f"({type(error).__name__}: {error}); update or remove the package that brings it"
            ) from error

    def _load_plugins(self) -> None:
        if not self._plugins_loaded:
            self._plugins_loaded = True
            for entry in _entries(f"policrf.{self.kind}s"):
                self._targets.setdefault(entry.name, entry.value)


def _entries(group: str) -> Iterator[EntryPoint]:
    """The entry points of all distributions; one whose files are damaged is named and left out."""
    try:
        yield from entry_points(group=group)
        return
    except Exception:  # somebody else's file: find out whose
        pass
    for distribution in distributions():
        try:
            yield from distribution.entry_points.select(group=group)
        except Exception as error:
            where = getattr(distribution, "_path", "a distribution")
            warnings.warn(
                f"the entry points of {where} cannot be read ({error}); its plug-ins are left out",
                stacklevel=2,
            )
