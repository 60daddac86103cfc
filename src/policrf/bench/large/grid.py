"""What `policrf bench large` measures: frustrated fields × seeds × rows × budgets.

A field is said as FAMILY:NODES:DEGREE:LABELS. Budgets are seconds of CPU time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from policrf.bench.result_log import Result
from policrf.crf.model import CRF
from policrf.errors import InvalidOption
from policrf.scenes import FRUSTRATED, make_frustrated
from policrf.solvers.spec import SolverSpec

PEERS = {
    "plain_annealing": "numba",
    "toulbar2": "pytoulbar2",
    "toulbar2_vns": "pytoulbar2",
    "graph_network": "torch",
}
"""Rows that are no solvers of the package, and the library each needs."""
AT_LENGTH = ("toulbar2", "toulbar2_vns", "graph_network")  # peers without an answer in a second


class FieldSpec(NamedTuple):
    """A family with its sizes."""

    family: str
    nodes: int
    degree: float
    labels: int

    @staticmethod
    def parse(text: str) -> FieldSpec:
        """Read FAMILY:NODES:DEGREE:LABELS."""
        try:
            family, nodes, degree, labels = text.split(":")
            field = FieldSpec(family, int(nodes), float(degree), int(labels))
        except ValueError:
            raise InvalidOption(
                f"field {text!r}: write FAMILY:NODES:DEGREE:LABELS, such as random:1000:8:4"
            ) from None
        if family not in FRUSTRATED:
            raise InvalidOption(f"field {text!r}: there are the families {', '.join(FRUSTRATED)}")
        return field


@dataclass(frozen=True)
class LargeGrid:
    """Solvers and peers on large frustrated fields; resumes after a kill."""

    fields: tuple[str, ...] = (
        "random:1000:8:4",
        "random:10000:8:4",
        "glass:1000:8:4",
        "glass:10000:8:4",
        "third_order:1000:8:4",
        "ising:10000:4:2",
        "grid:40000:4:4",
        "random:10000:8:2",
        "glass:10000:8:2",
    )
    """FAMILY:NODES:DEGREE:LABELS, of the families random, glass, third_order, ising and grid."""
    seeds: int = 2
    """CRFs of each field."""
    budgets: tuple[float, ...] = (0.1, 1.0, 10.0)
    """Seconds of CPU time of a solve."""
    solvers: tuple[str, ...] = (
        "auto", "annealing", "plain_annealing", "belief_propagation", "mean_field", "refine",
        "toulbar2", "toulbar2_vns", "graph_network",
    )  # fmt: skip
    """Rows: solvers with options, or the peers plain_annealing, toulbar2, toulbar2_vns and
    graph_network."""
    peer_nodes: int = 12_000
    """The largest field that toulbar2 and the graph network get; they get the largest budget."""


def check_grid(grid: LargeGrid) -> None:
    """Refuse options that make no sense, before anything is measured."""
    for text in grid.fields:
        FieldSpec.parse(text)
    for row in grid.solvers:
        if row not in PEERS:
            SolverSpec.parse(row)
    if not grid.budgets or min(grid.budgets) <= 0 or grid.seeds < 1:
        raise InvalidOption("budgets are seconds above 0, and seeds 1 or more; give one or more")


def left_out(grid: LargeGrid) -> dict[str, str]:
    """Rows that cannot be measured here, with the reason."""
    missing = {row: library for row, library in PEERS.items() if find_spec(library) is None}
    return {
        row: f"{library} is not installed"
        for row, library in missing.items()
        if row in grid.solvers
    }


def tasks(grid: LargeGrid) -> Iterator[Result]:
    """What there is to solve, all fields of a seed before the next seed."""
    without = left_out(grid)
    budgets = sorted({float(budget) for budget in grid.budgets})
    for seed in range(grid.seeds):
        for field in dict.fromkeys(grid.fields):
            nodes = FieldSpec.parse(field).nodes
            for row in dict.fromkeys(grid.solvers):
                if row in without or (row in AT_LENGTH and nodes > grid.peer_nodes):
                    continue
                for budget in budgets[-1:] if row in AT_LENGTH else budgets:
                    yield {"field": field, "seed": seed, "row": row, "budget": budget}


def key_of(task: Result) -> tuple[Any, ...]:
    """What tells a task from all others."""
    return task["field"], task["seed"], task["row"], float(task["budget"])


@lru_cache(maxsize=1)
def make_field(text: str, seed: int) -> CRF:
    """The CRF of a field; the last one is kept."""
    spec = FieldSpec.parse(text)
    return make_frustrated(spec.family, spec.nodes, spec.labels, spec.degree, seed)
