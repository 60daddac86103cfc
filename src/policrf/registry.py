"""Names -> objects. Others plug theirs in through entry points (`policrf.solvers`, …)."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
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
            raise UnknownName(
                f"no {self.kind} is called {name!r}; there are {', '.join(self.names())}"
            )
        target = self._targets[name]
        if isinstance(target, str):
            target = self._targets[name] = self._import(name, target)
        return target

    def _import(self, name: str, target: str) -> Any:
        module, _, attribute = target.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except PolicrfError:
            raise
        except (ImportError, AttributeError) as error:
            raise MissingDependency(
                f"the {self.kind} {name!r} is said to be {target!r}, which cannot be imported "
                f"({error}); update or remove the package that brings it"
            ) from error

    def _load_plugins(self) -> None:
        if not self._plugins_loaded:
            self._plugins_loaded = True
            for entry in entry_points(group=f"policrf.{self.kind}s"):
                self._targets.setdefault(entry.name, entry.value)
