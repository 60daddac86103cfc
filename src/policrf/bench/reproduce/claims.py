"""The paper's claims held against finished cells: holds, does not hold, or not run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.other_cells import timings
from policrf.bench.reproduce.presets import FULL, TERMS
from policrf.bench.reproduce.tables.lookup import Lookup
from policrf.evaluation.tables import Table

MEASURES = {"all classes": ("pixels_all", "iou"), "frequent": ("pixels_frequent", "iou")}
Pair = tuple[str, float, float]
CLOSE = 0.005  # of IoU: what counts as the same
WIDE = 10  # times more nodes in the largest than in the smallest of the sizes that are compared
LINEAR = 1.25  # the power of N that still counts as linear


class Test(NamedTuple):
    """One comparison behind a verdict."""

    where: str
    left: float
    right: float
    holds: bool | None
    """None: no difference worth the name."""


def table_of_claims(lookup: Lookup) -> Table:
    """A line a claim."""
    claims: dict[str, Callable[[Lookup], Iterator[Test]]] = {
        "R2 learns better than R1": _rewards,
        "higher-order terms help": _terms,
        "policies are at or above the solvers": _policies,
        "DQN and MCTS are about equal": _learners,
        "policies hold at other numbers of superpixels": _sizes,
        "run time is linear in N": _linear,
    }
    rows = [(claim, *_verdict(list(tests(lookup)))) for claim, tests in claims.items()]
    note = (
        "Pixel IoU over all classes and over the frequent ones, mean over seeds; differences of up "
        f"to {100 * CLOSE:g} points count as none; linear is a power of N up to "
        f"{LINEAR:g}. A claim that was not run is left open."
    )
    if lookup.catalogue.preset.small:
        note += " This preset shows that everything runs; what it finds means nothing."
    return Table("The paper's claims", ("claim", "here", "in", "comparisons"), tuple(rows), note)


def _verdict(tests: Sequence[Test]) -> tuple[str, str, str]:
    if not tests:
        return "not run", "", ""
    held, equal = sum(t.holds is True for t in tests), sum(t.holds is None for t in tests)
    word = "holds in part"
    if held == len(tests):
        word = "holds"
    elif equal == len(tests):
        word = "no difference"
    elif held == 0:
        word = "does not hold"
    told = "; ".join(f"{t.where}: {t.left:.4g} against {t.right:.4g}" for t in tests)
    counted = f"{held} of {len(tests)}" + (f", {equal} without a difference" if equal else "")
    return word, counted, told


def ahead(left: float, right: float) -> bool | None:
    """Whether the left figure is above the right one; None where they are about the same."""
    return None if abs(left - right) <= 100 * CLOSE else left > right


def _measured(lookup: Lookup, first: Sequence[Cell], second: Sequence[Cell]) -> Iterator[Pair]:
    """The IoUs of two rows by measure, where both were run."""
    for name, path in MEASURES.items():
        left, right = (100 * lookup.mean(cells, *path) for cells in (first, second))
        if not math.isnan(left + right):
            yield name, left, right


def _pairs(lookup: Lookup, first: str, second: str) -> Iterator[Pair]:
    """Two learners wherever both were run."""
    for found, size in lookup.catalogue.places():
        for terms in TERMS:
            rows = (lookup.catalogue.seeds(found, size, terms, row) for row in (first, second))
            for name, left, right in _measured(lookup, *rows):
                yield f"{found.name} {size} {terms}, {first} and {second}, {name}", left, right


def _rewards(lookup: Lookup) -> Iterator[Test]:
    for method in ("DQN", "MCTS"):
        for where, left, right in _pairs(lookup, f"{method} R2", f"{method} R1"):
            yield Test(where, left, right, ahead(left, right))


def _learners(lookup: Lookup) -> Iterator[Test]:
    for where, left, right in _pairs(lookup, "DQN R2", "MCTS R2"):
        yield Test(where, left, right, abs(left - right) <= 100 * 2 * CLOSE)


def _terms(lookup: Lookup) -> Iterator[Test]:
    catalogue = lookup.catalogue
    for found, size in catalogue.places():
        for row in ("α-Exp + repair", "DQN R2"):
            if row in catalogue.preset.learners:
                cells = [catalogue.seeds(found, size, terms, row) for terms in (FULL, TERMS[1])]
            else:
                cells = [[catalogue.solver(found, size, t, row)] for t in (FULL, TERMS[1])]
            for name, more, less in _measured(lookup, *cells):
                where = f"{found.name} {size} {row}, all terms and U+P, {name}"
                yield Test(where, more, less, ahead(more, less))


def _policies(lookup: Lookup) -> Iterator[Test]:
    catalogue = lookup.catalogue
    for found, size in catalogue.places():
        for terms in TERMS:
            rows = [row for row in catalogue.preset.solvers if row in catalogue.rows(terms)]
            solvers = [[catalogue.solver(found, size, terms, row)] for row in rows]
            policy = catalogue.seeds(found, size, terms, "DQN R2")
            for name, path in MEASURES.items():
                known = [100 * v for cells in solvers for v in lookup.values(cells, *path)]
                own = 100 * lookup.mean(policy, *path)
                if known and not math.isnan(own):
                    where = f"{found.name} {size} {terms}, DQN R2 and the best solver, {name}"
                    yield Test(where, own, max(known), own >= max(known) - 100 * CLOSE)


def _sizes(lookup: Lookup) -> Iterator[Test]:
    for found in lookup.catalogue.preset.data_sets:
        cells = {(size, row): cell for size, row, cell in lookup.catalogue.carried(found)}
        for (size, row), cell in cells.items():
            if row != "DQN R2":
                continue
            base = cells[size, "α-Exp + repair"]
            for name, policy, solver in _measured(lookup, [cell], [base]):
                where = f"{found.name} {size}, {row} and α-Exp + repair, {name}"
                yield Test(where, policy, solver, policy >= solver - 100 * CLOSE)


def _linear(lookup: Lookup) -> Iterator[Test]:
    places: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for source, _, terms, cell in timings(lookup.catalogue):
        result = lookup.store.result(cell)
        if result is not None and result["seconds"].get("DQN") and "DQN" not in result["stopped"]:
            point = (result["nodes"], result["seconds"]["DQN"])
            places.setdefault((source, terms), []).append(point)
    for (source, terms), points in places.items():
        sizes = [nodes for nodes, _ in points]
        if len(points) >= 3 and max(sizes) >= WIDE * min(sizes):
            nodes, seconds = np.log(np.asarray(points)).T
            power = float(np.polyfit(nodes, seconds, 1)[0])
            yield Test(f"{source} {terms}, DQN: power of N", power, LINEAR, power <= LINEAR)
