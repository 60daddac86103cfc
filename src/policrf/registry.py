"""Names -> factories. Others plug theirs in through entry points (`policrf.solvers`, …)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from policrf.errors import UnknownName


class Registry:
    """Lazily imported objects by name; "module:attribute" strings cost nothing until used."""

    def __init__(self, kind: str, builtin: dict[str, str]) -> None:
        self.kind = kind
        self._targets: dict[str, str | Callable[..., Any]] = dict(builtin)
        self._plugins_loaded = False

    def register(self, name: str, target: str | Callable[..., Any]) -> None:
        """Add or replace a name."""
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
            module, attribute = target.split(":")
            target = getattr(import_module(module), attribute)
            self._targets[name] = target
        return target

    def _load_plugins(self) -> None:
        if not self._plugins_loaded:
            self._plugins_loaded = True
            for entry in entry_points(group=f"policrf.{self.kind}s"):
                self._targets.setdefault(entry.name, entry.value)
