"""Tables as they leave the program: on the terminal, and as Markdown, CSV and JSON files."""

from __future__ import annotations

import csv
import io
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policrf._version import __version__
from policrf.crf.io.files import atomic_write, make_folder
from policrf.crf.io.json_text import as_json, to_json


@dataclass(frozen=True)
class Table:
    """Rows of plain values under named columns; formatting happens only when shown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """A Markdown table with its title and note."""
        cells = [[format_value(value) for value in row] for row in self.rows]
        lines = [f"### {self.title}", ""]
        lines += ["| " + " | ".join(self.columns) + " |", "|" + " --- |" * len(self.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in cells]
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Comma-separated values, unrounded."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    def records(self) -> list[dict[str, Any]]:
        """One mapping a row, with None for what is not finite (JSON has no infinities)."""
        return [
            {name: as_json(value) for name, value in zip(self.columns, row, strict=True)}
            for row in self.rows
        ]

    def show(self) -> None:
        """Print it on the terminal."""
        from rich.console import Console
        from rich.table import Table as RichTable

        table = RichTable(title=self.title, title_justify="left", caption=self.note or None)
        for name in self.columns:
            table.add_column(name, justify="left" if name == self.columns[0] else "right")
        for row in self.rows:
            table.add_row(*(format_value(value) for value in row))
        # Row names such as synthetic:A:50 are text, not markup or emoji.
        Console(width=None if _is_terminal() else 160, emoji=False, markup=False).print(table)


def write_tables(
    folder: str | Path,
    name: str,
    tables: Sequence[Table],
    config: Any,
    extra: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write `name`.md, .csv (one a table) and .json with the configuration that gave them.

    Parameters
    ----------
    folder
        Made if it is not there.
    name
        Of the files.
    tables
        What they hold.
    config
        How the figures were made, a dataclass or plain values.
    extra
        More entries of the JSON file.
    """
    target = make_folder(folder)
    written = []
    texts = {f"{name}.md": "\n".join(table.markdown() for table in tables)}
    for k, table in enumerate(tables):
        suffix = f"-{k + 1}" if len(tables) > 1 else ""
        texts[f"{name}{suffix}.csv"] = table.csv()
    document = {
        "policrf": __version__,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "config": config,
        **(extra or {}),
        "tables": [{"title": t.title, "note": t.note, "rows": t.records()} for t in tables],
    }
    texts[f"{name}.json"] = to_json(document, indent=1) + "\n"
    for file_name, text in texts.items():
        with atomic_write(target / file_name) as file:
            file.write(text.encode())
        written.append(target / file_name)
    return written


def format_value(value: Any) -> str:
    """Four significant digits for numbers, an empty cell for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.0f}"
    return str(value)


def _is_terminal() -> bool:
    import sys

    return sys.stdout.isatty()
