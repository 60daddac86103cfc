"""Cell: one piece of work of a table or figure, known by everything that its result depends on.

A cell's key is a digest of its kind, its configuration and the keys of the cells that it needs: a
learner's option, a weight or a net's file that changes gives another cell, and what is finished
under the old key stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from policrf.crf.io.checksums import value_digest
from policrf.crf.io.json_text import as_json

SCHEMA = 1  # changes when the same configuration comes to mean something else
DIGITS = 16  # of a key
KINDS = ("prepare", "calibrate", "train", "score", "time", "figure")


@dataclass(frozen=True, eq=False)
class Cell:
    """One piece of work."""

    kind: str
    """One of KINDS."""
    name: str
    """What people call it; no part of the key."""
    about: Mapping[str, Any]
    """Its configuration, plain values."""
    needs: Mapping[str, Cell] = field(default_factory=dict)
    """The cells whose results it reads, by the part they play."""

    @cached_property
    def key(self) -> str:
        """Equal for two cells if and only if they do the same."""
        content = {
            "schema": SCHEMA,
            "kind": self.kind,
            "about": as_json(self.about, infinity="inf"),
            "needs": {role: cell.key for role, cell in self.needs.items()},
        }
        return value_digest(content)[:DIGITS]

    @property
    def folder(self) -> str:
        """A name for its folder that people can read."""
        plain = re.sub(r"[^A-Za-z0-9+.]+", "-", self.name).strip("-")
        return f"{self.kind}-{plain[:60]}-{self.key}"


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    """These cells and all that they need, each once, after what it needs.

    >>> data = Cell("prepare", "data", {})
    >>> [cell.name for cell in in_order([Cell("score", "unary", {"row": "unary"}, {"data": data})])]
    ['data', 'unary']
    """
    found: dict[str, Cell] = {}

    def visit(cell: Cell) -> None:
        if cell.key in found:
            return
        for need in cell.needs.values():
            visit(need)
        found[cell.key] = cell

    for cell in cells:
        visit(cell)
    return list(found.values())


def everything_below(cell: Cell) -> Iterator[Cell]:
    """All cells that it needs, directly or not."""
    return (other for other in in_order([cell]) if other is not cell)
