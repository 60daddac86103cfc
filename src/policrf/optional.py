"""Optional libraries: imported where first used, with an error that says how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from policrf.errors import MissingDependency


def need(module: str, package: str, extra: str = "vision") -> Any:
    """The module of an optional library, or an error that names the extra which installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependency(
            f"{package} is needed here and cannot be imported ({error}); "
            f"run pip install 'policrf[{extra}]'"
        ) from None
