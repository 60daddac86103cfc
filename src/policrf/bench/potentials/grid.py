"""What `policrf bench potentials` measures: families × sizes × seeds × rows × budgets.

A budget is in milliseconds of CPU time for 144 nodes, and grows with their number. Gaps are
measured from the lowest energy of any row, and of a long run where the CRF is small enough for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from policrf.bench.potentials.rows import CP_SAT, Row
from policrf.bench.result_log import Result
from policrf.bench.rows import POTENTIALS
from policrf.errors import InvalidOption, UnknownName
from policrf.scenes import FAMILIES
from policrf.scenes.superpixel_terms import SUPERPIXELS

UNIT = 144  # nodes that a budget is meant for
SUPERPIXEL_NODES = 250  # about as many; images differ
ALL_FAMILIES = FAMILIES | SUPERPIXELS


@dataclass(frozen=True)
class PotentialGrid:
    """Solvers on families of hard potentials, at several budgets; resumes after a kill."""

    families: tuple[str, ...] = tuple(ALL_FAMILIES)
    """Families of potentials."""
    sizes: tuple[int, ...] = (64, 250, 1000, 10_000)
    """Numbers of nodes."""
    seeds: tuple[int, ...] = (4, 3, 3, 1)
    """CRFs of each family, one number a size; the last one holds for all further sizes."""
    labels: int = 6
    """Number of labels; superpixels have their own."""
    budgets: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0)
    """Milliseconds of CPU time of a solve for 144 nodes; N nodes get N / 144 times as many."""
    solvers: tuple[str, ...] = POTENTIALS
    """Rows: solvers with options, "A + B" for one after the other, "complete: A",
    "known: A + B", or cp_sat."""
    large: int = 5000
    """From this number of nodes on, budgets end at --large-budget, and cp_sat is left out."""
    large_budget: float = 10.0
    """The largest budget of large CRFs, in milliseconds for 144 nodes."""
    references: tuple[str, ...] = ("exact", "auto")
    """Solvers of the long runs, unless the minimum is proven by then."""
    reference_factor: float = 20.0
    """Budget of a long run, in units of the largest budget; 0 for no long runs."""
    reference_nodes: int = 250
    """The largest CRF that gets long runs."""
    data: Path | None = None
    """Folder that `policrf prepare` wrote, of about 250 superpixels an image, for superpixels."""
    energy: Path | None = None
    """Weights of that data's energy (energy.yaml); by default contrast edges."""

    def seeds_at(self, size: int) -> int:
        """How many CRFs there are of a size."""
        place = self.sizes.index(size)
        return self.seeds[min(place, len(self.seeds) - 1)]

    def budgets_at(self, size: int) -> list[float]:
        """The budgets of a size, in ascending order."""
        most = self.large_budget if size >= self.large else float("inf")
        return sorted({float(budget) for budget in self.budgets if budget <= most})


def check_grid(grid: PotentialGrid) -> None:
    """Refuse options that make no sense, before anything is measured."""
    for text in (*grid.solvers, *grid.references):
        Row.parse(text)
    for family in grid.families:
        if family not in ALL_FAMILIES:
            raise UnknownName(
                f"no family of potentials is called {family!r}; there are {', '.join(ALL_FAMILIES)}"
            )
    if not grid.budgets or min(grid.budgets) <= 0 or grid.reference_factor < 0:
        raise InvalidOption("budgets are milliseconds above 0; give one or more")
    if not grid.seeds or min(grid.seeds) < 1:
        raise InvalidOption("seeds are numbers of CRFs, 1 or more; give one or more")


def left_out(grid: PotentialGrid) -> dict[str, str]:
    """Families and rows that cannot be measured here, with the reason."""
    found = {}
    for family in SUPERPIXELS:
        if family in grid.families and grid.data is None:
            found[family] = "--data names no folder of prepared images"
        elif family in grid.families and SUPERPIXEL_NODES not in grid.sizes:
            found[family] = f"images are measured at N = {SUPERPIXEL_NODES}"
    if CP_SAT in grid.solvers and find_spec("ortools") is None:
        found[CP_SAT] = "ortools is not installed (pip install 'policrf[peers]')"
    return found


def tasks(grid: PotentialGrid) -> Iterator[Result]:
    """What there is to solve; an instance's tasks follow each other, long runs last."""
    without = left_out(grid)
    rows = [row for row in dict.fromkeys(grid.solvers) if row not in without]
    for family, size, seed in instances(grid):
        instance = {"family": family, "n": size, "seed": seed}
        budgets = grid.budgets_at(size)
        for row in rows:
            if row != CP_SAT or size < grid.large:
                for budget in budgets:
                    yield instance | {"row": row, "budget": budget}
        if grid.reference_factor > 0 and size <= grid.reference_nodes and budgets:
            for row in dict.fromkeys(grid.references):
                budget = grid.reference_factor * budgets[-1]
                yield instance | {"row": row, "budget": budget, "reference": True}


def instances(grid: PotentialGrid) -> Iterator[tuple[str, int, int]]:
    """Family, size and seed of every CRF."""
    without = left_out(grid)
    for size in grid.sizes:
        for family in grid.families:
            if family in without or (family in SUPERPIXELS and size != SUPERPIXEL_NODES):
                continue
            for seed in range(grid.seeds_at(size)):
                yield family, size, seed


def key_of(task: Result) -> tuple[Any, ...]:
    """What tells a task from all others."""
    return (*instance_of(task), task["row"], float(task["budget"]))


def instance_of(task: Result) -> tuple[Any, ...]:
    """The CRF that a task is about."""
    return task["family"], task["n"], task["seed"]


def seconds_of(budget: float, n_nodes: int) -> float:
    """A budget in seconds."""
    return budget / 1000 * n_nodes / UNIT
