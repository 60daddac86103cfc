"""`gymnasium.make("policrf/Label-v0")`, at no cost to those who do not use Gymnasium.

Gymnasium 1.0 dropped entry points for plugins: an environment is known once somebody registers it.
Importing policrf does, by name only, if Gymnasium is loaded already; otherwise as soon as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

ENVIRONMENT = "policrf/Label-v0"
_REGISTRY = "gymnasium.envs.registration"


def announce() -> None:
    """Register the environment, now or when Gymnasium is imported."""
    if _REGISTRY in sys.modules:
        register(sys.modules[_REGISTRY])
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


def register(registry: ModuleType) -> None:
    """Register by name: nothing is imported until an environment is made."""
    if ENVIRONMENT not in registry.registry:
        registry.register(id=ENVIRONMENT, entry_point="policrf.mdp.env:LabelEnv")


class _Watcher:
    """Waits for the module with the registry, lets the usual finder load it, and is gone."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _REGISTRY:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            load = loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                register(module)

            loader.exec_module = load_and_register
        return spec
