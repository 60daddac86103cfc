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

IOU = ("pixels_frequent", "iou")
ANY_IOU = ("pixels_all", "iou")
CLOSE = 0.005  # of IoU: what counts as the same
WIDE = 10  # times more nodes in the largest than in the smallest of the sizes that are compared
LINEAR = 1.25  # the power of N that still counts as linear


class Test(NamedTuple):
    """One comparison behind a verdict."""

    where: str
    left: float
    right: float
    holds: bool


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
        "Pixel IoU over frequent classes (over all where none is frequent), mean over seeds; "
        f"differences below {100 * CLOSE:g} points count as equal; linear is a power of N up to "
        f"{LINEAR:g}. A claim that was not run is left open."
    )
    if lookup.catalogue.preset.small:
        note += " This preset shows that everything runs; what it finds means nothing."
    return Table("The paper's claims", ("claim", "here", "in", "comparisons"), tuple(rows), note)


def _verdict(tests: Sequence[Test]) -> tuple[str, str, str]:
    if not tests:
        return "not run", "", ""
    held = sum(test.holds for test in tests)
    word = "holds" if held == len(tests) else "does not hold" if held == 0 else "holds in part"
    told = "; ".join(f"{t.where}: {t.left:.4g} against {t.right:.4g}" for t in tests)
    return word, f"{held} of {len(tests)}", told


def _iou(lookup: Lookup, cells: Sequence[Cell]) -> float:
    value = lookup.mean(cells, *IOU)
    return 100 * (lookup.mean(cells, *ANY_IOU) if math.isnan(value) else value)


def _pairs(lookup: Lookup, first: str, second: str) -> Iterator[tuple[str, float, float]]:
    """Two learners wherever both were run."""
    for found, size in lookup.catalogue.places():
        for terms in TERMS:
            left = _iou(lookup, lookup.catalogue.seeds(found, size, terms, first))
            right = _iou(lookup, lookup.catalogue.seeds(found, size, terms, second))
            if not math.isnan(left + right):
                yield f"{found.name} {size} {terms}, {first} and {second}", left, right


def _rewards(lookup: Lookup) -> Iterator[Test]:
    for method in ("DQN", "MCTS"):
        for where, left, right in _pairs(lookup, f"{method} R2", f"{method} R1"):
            yield Test(where, left, right, left >= right - 100 * CLOSE)


def _learners(lookup: Lookup) -> Iterator[Test]:
    for where, left, right in _pairs(lookup, "DQN R2", "MCTS R2"):
        yield Test(where, left, right, abs(left - right) <= 100 * 2 * CLOSE)


def _terms(lookup: Lookup) -> Iterator[Test]:
    catalogue = lookup.catalogue
    for found, size in catalogue.places():
        for row in ("α-Exp + repair", "refine", "DQN R2"):
            if row in catalogue.preset.learners:
                cells = [catalogue.seeds(found, size, terms, row) for terms in (TERMS[1], FULL)]
            else:
                cells = [[catalogue.solver(found, size, t, row)] for t in (TERMS[1], FULL)]
            less, more = (_iou(lookup, part) for part in cells)
            if not math.isnan(less + more):
                where = f"{found.name} {size} {row}, all terms and U+P"
                yield Test(where, more, less, more >= less)


def _policies(lookup: Lookup) -> Iterator[Test]:
    catalogue = lookup.catalogue
    for found, size in catalogue.places():
        for terms in TERMS:
            rows = [row for row in catalogue.preset.solvers if row in catalogue.rows(terms)]
            solvers = [_iou(lookup, [catalogue.solver(found, size, terms, row)]) for row in rows]
            known = [value for value in solvers if not math.isnan(value)]
            policy = _iou(lookup, catalogue.seeds(found, size, terms, "DQN R2"))
            if known and not math.isnan(policy):
                where = f"{found.name} {size} {terms}, DQN R2 and the best solver"
                yield Test(where, policy, max(known), policy >= max(known) - 100 * CLOSE)


def _sizes(lookup: Lookup) -> Iterator[Test]:
    for found in lookup.catalogue.preset.data_sets:
        cells = {(size, row): cell for size, row, cell in lookup.catalogue.carried(found)}
        for (size, row), cell in cells.items():
            if row == "DQN R2":
                base = _iou(lookup, [cells[size, "α-Exp + repair"]])
                policy = _iou(lookup, [cell])
                if not math.isnan(base + policy):
                    where = f"{found.name} {size}, {row} and α-Exp + repair"
                    yield Test(where, policy, base, policy >= base - 100 * CLOSE)


def _linear(lookup: Lookup) -> Iterator[Test]:
    places: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for source, _, terms, cell in timings(lookup.catalogue):
        result = lookup.store.result(cell)
        if result is not None and result["seconds"].get("DQN"):
            point = (result["nodes"], result["seconds"]["DQN"])
            places.setdefault((source, terms), []).append(point)
    for (source, terms), points in places.items():
        sizes = [nodes for nodes, _ in points]
        if len(points) >= 3 and max(sizes) >= WIDE * min(sizes):
            nodes, seconds = np.log(np.asarray(points)).T
            power = float(np.polyfit(nodes, seconds, 1)[0])
            yield Test(f"{source} {terms}, DQN: power of N", power, LINEAR, power <= LINEAR)
