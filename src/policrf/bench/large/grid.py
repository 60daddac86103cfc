"""What `policrf bench large` measures: frustrated fields × seeds × rows × budgets.

A field is said as FAMILY:NODES:DEGREE:LABELS. Budgets are seconds of CPU time, and those of a
solver with `threads=T` T times as many: what T idle cores give in this time.
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
    "matching": "pymatching",
}
"""Rows that are no solvers of the package, and the library each needs."""
PROOFS = ("matching", "exact")  # rows that are there for their proofs, at the longest budget
LENGTH = 10.0  # seconds of rows that get only one budget
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


def _all_fields() -> Iterator[str]:
    """Three sizes of random graphs, and one or two of everything else; small ones for proofs."""
    for nodes in (1_000, 10_000, 50_000):
        for family in ("random", "glass"):
            for degree in (4, 8):
                for labels in (2, 4):
                    yield f"{family}:{nodes}:{degree}:{labels}"
    yield from ("third_order:1000:8:4", "third_order:10000:8:4")
    yield from ("ising:10000:4:2", "grid:250000:4:4")
    yield from ("random:60:4:4", "glass:60:4:4", "glass:120:4:2")


ALL_FIELDS = tuple(_all_fields())


@dataclass(frozen=True)
class LargeGrid:
    """Solvers and peers on large frustrated fields; resumes after a kill."""

    fields: tuple[str, ...] = ALL_FIELDS
    """FAMILY:NODES:DEGREE:LABELS, of the families random, glass, third_order, ising and grid."""
    seeds: int = 3
    """CRFs of each field."""
    budgets: tuple[float, ...] = (0.1, 1.0, 10.0, 60.0)
    """Seconds of CPU time of a solve."""
    solvers: tuple[str, ...] = (
        "auto", "annealing", "plain_annealing", "belief_propagation", "mean_field", "refine",
        "annealing:replicas=2,threads=2", "toulbar2", "toulbar2_vns", "graph_network", "matching",
        "exact",
    )  # fmt: skip
    """Rows: solvers with options, or the peers plain_annealing, toulbar2, toulbar2_vns,
    graph_network and matching."""
    peer_nodes: int = 12_000
    """The largest field that toulbar2 and the graph network get, at 10 s only."""
    proof_nodes: int = 200
    """The largest field that `exact` gets, at 10 s only."""


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
    """What there is to solve: short budgets of a seed first, and all of a seed before the next."""
    without = left_out(grid)
    budgets = sorted({float(budget) for budget in grid.budgets})
    for seed in range(grid.seeds):
        for budget in budgets:
            for field in dict.fromkeys(grid.fields):
                for row in dict.fromkeys(grid.solvers):
                    if row not in without and _is_measured(grid, field, row, budget):
                        yield {"field": field, "seed": seed, "row": row, "budget": budget}


def _is_measured(grid: LargeGrid, field: str, row: str, budget: float) -> bool:
    """Whether a row gets a field and a budget: what answers late, and proofs, get few."""
    spec = FieldSpec.parse(field)
    if row not in AT_LENGTH and row not in PROOFS:
        return True
    if budget != _length(grid):
        return False
    if row == "matching":
        return spec.family == "ising"
    return spec.nodes <= (grid.proof_nodes if row == "exact" else grid.peer_nodes)


def _length(grid: LargeGrid) -> float:
    """The budget of rows that get only one: 10 s, or the longest below."""
    short = [float(budget) for budget in grid.budgets if budget <= LENGTH]
    return max(short, default=float(min(grid.budgets)))


def key_of(task: Result) -> tuple[Any, ...]:
    """What tells a task from all others."""
    return task["field"], task["seed"], task["row"], float(task["budget"])


@lru_cache(maxsize=1)
def make_field(text: str, seed: int) -> CRF:
    """The CRF of a field; the last one is kept."""
    spec = FieldSpec.parse(text)
    return make_frustrated(spec.family, spec.nodes, spec.labels, spec.degree, seed)


def threads_of(row: str) -> int:
    """How many threads the text of a solver asks for."""
    return 1 if row in PEERS else int(SolverSpec.parse(row).options.get("threads", 1))
