"""What a call leaves under --out: tables as Markdown, CSV and LaTeX, figures, energies, a page.

Every file says with which versions, when and by which command it was made.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from policrf.bench.reproduce.cells import Cell, in_order
from policrf.bench.reproduce.jobs.calibrate_job import energy_file
from policrf.bench.reproduce.latex import latex
from policrf.bench.reproduce.presets import TERMS
from policrf.bench.reproduce.store import Store
from policrf.crf.io.files import atomic_write, make_folder
from policrf.evaluation.tables import Table
from policrf.vision.recipe import library_versions


@dataclass(frozen=True)
class Made:
    """Of what a report is."""

    preset: str
    command: str
    date: str
    versions: dict[str, str]

    @staticmethod
    def now(preset: str, command: str) -> Made:
        """At this moment, with what is installed."""
        date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        return Made(preset, command, date, library_versions())

    def lines(self) -> list[str]:
        """One line each."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return [f"`{self.command}`", f"preset {self.preset}, {self.date}", versions]


def write_tables(folder: Path, name: str, tables: Sequence[Table], made: Made) -> None:
    """NAME.md, NAME-k.csv and NAME.tex."""
    target = make_folder(folder)
    head = "".join(f"{line}  \n" for line in made.lines())
    _write(target / f"{name}.md", head + "\n" + "\n".join(table.markdown() for table in tables))
    told = "".join(f"% {line.strip('`')}\n" for line in made.lines())
    _write(target / f"{name}.tex", told + "\n".join(latex(table) for table in tables))
    for k, table in enumerate(tables):
        suffix = f"-{k + 1}" if len(tables) > 1 else ""
        _write(target / f"{name}{suffix}.csv", table.csv())


def copy_figures(folder: Path, cells: Sequence[Cell], store: Store) -> list[Path]:
    """The pictures of finished figure cells."""
    target, copied = make_folder(folder), []
    for cell in cells:
        for name in (store.result(cell) or {}).get("files", ()):
            with atomic_write(target / name) as file:
                file.write((store.folder(cell) / name).read_bytes())
            copied.append(target / name)
    return copied


def copy_energies(folder: Path, cells: Sequence[Cell], store: Store) -> None:
    """The weights behind the tables: energy-DATASET-N.TERMS.yaml."""
    for cell in in_order(cells):
        if cell.kind != "calibrate" or not store.finished(cell):
            continue
        target = make_folder(folder)
        for terms in TERMS:
            source = energy_file(store, cell, terms)
            if source.is_file():
                shutil.copyfile(
                    source, target / f"energy-{cell.name.replace(' ', '-')}.{terms}.yaml"
                )


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode())
