"""The reference pages, from the code: every command's help, every public name's docstring."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

GROUPS = {
    "Models": (
        "CRF", "Instance", "grid", "Potts", "BoxAgreement", "BoxSupport", "Tables", "Pairwise",
        "LabelCost", "CountFunction", "CoOccurrence", "RobustPotts", "Connectivity", "LabelOrder",
        "Custom", "Summary",
    ),
    "Solving": ("solve", "describe", "list_solvers", "Solution", "plot_trace"),
    "Policies": ("train", "Policy", "load_policy", "list_policies"),
    "Images": ("Segmenter", "Energy", "prepare", "calibrate", "load_instances", "evaluate"),
}  # fmt: skip
"""Names in the order of a reader; those that are in no group come last."""


def write_commands(path: Path) -> None:
    """The help of every command and of what it chooses between."""
    from policrf.cli import COMMANDS

    parts = ["# Commands\n", "What `--help` says, for every command.\n"]
    for command in COMMANDS:
        parts.append(f"## policrf {command}\n\n```text\n{_help(command)}```\n")
    path.write_text("\n".join(parts), encoding="utf-8")


def _help(command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "policrf", command, "--help"],
        capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "96"},
    )  # fmt: skip
    return done.stdout


def write_api(path: Path) -> None:
    """Signature and docstring of every public name, as they stand."""
    import policrf as pc

    grouped = [name for names in GROUPS.values() for name in names]
    rest = tuple(name for name in sorted(pc.__all__) if name not in grouped and name[:1] != "_")
    parts = ["# Python reference\n", "Everything under `import policrf as pc`.\n"]
    for title, names in {**GROUPS, "Files, scenes and errors": rest}.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, getattr(pc, name)) for name in names if hasattr(pc, name)]
    path.write_text("\n".join(parts), encoding="utf-8")


def _entry(name: str, value: Any) -> str:
    """One name: how it is called, its docstring, and the methods of a class."""
    text = f"### pc.{name}\n\n"
    if callable(value):
        text += f"```python\n{name}{_signature(value)}\n```\n\n"
    text += _literal(inspect.getdoc(value))
    if inspect.isclass(value):
        for method, function in sorted(vars(value).items()):
            documented = inspect.getdoc(getattr(value, method, None))
            if not method.startswith("_") and callable(getattr(function, "__func__", function)):
                call = f"{name}.{method}{_signature(getattr(value, method))}"
                text += f"```python\n{call}\n```\n\n{_literal(documented)}"
    return text


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value)).replace("policrf.", "")
    except (TypeError, ValueError):
        return "(…)"


def _literal(docstring: str | None) -> str:
    return f"```text\n{docstring}\n```\n\n" if docstring else ""
