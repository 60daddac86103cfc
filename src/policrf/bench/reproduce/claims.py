"""The paper's claims held against finished cells: holds, does not hold, or not run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from policrf.bench.reproduce.cells import Cell
from policrf.bench.reproduce.comparisons import CLASSES, Compared, compared
from policrf.bench.reproduce.other_cells import timings
from policrf.bench.reproduce.presets import FULL, TERMS
from policrf.bench.reproduce.tables.lookup import Lookup
from policrf.evaluation.tables import Table

CLOSE = 0.5  # points of IoU: by how much a row may be below another one and count as at it
ABOUT = 1.0  # points of IoU: what counts as about equal
WIDE = 10  # times more nodes in the largest than in the smallest of the sizes that are compared
LINEAR = 1.25  # the power of N that still counts as linear
REPAIR = "α-Exp + repair"


class Test(NamedTuple):
    """One comparison behind a verdict."""

    where: str
    rows: str
    left: float
    right: float
    difference: str
    """With its interval, where it has one."""
    holds: bool | None
    """None: no sure difference."""


def tables_of_claims(lookup: Lookup) -> list[Table]:
    """A line a claim, and a line a comparison."""
    claims: dict[str, Callable[[Lookup], Iterator[Test]]] = {
        "R2 learns better than R1": _rewards,
        "higher-order terms help": _terms,
        "policies are at or above the solvers": _policies,
        "DQN and MCTS are about equal": _learners,
        "policies hold at other numbers of superpixels": _sizes,
        "run time is linear in N": _linear,
    }
    found = {claim: list(tests(lookup)) for claim, tests in claims.items()}
    verdicts = tuple((claim, *verdict(tests)) for claim, tests in found.items())
    note = (
        "From pixel IoU over all classes and over the frequent ones, mean over seeds. A row is "
        "above or below another one beyond the paired 95 % interval over images; at or above: the "
        f"interval begins at −{CLOSE:g} or higher; about equal: it lies within ±{ABOUT:g}; linear: "
        f"a power of N up to {LINEAR:g}."
    )
    if lookup.catalogue.preset.small:
        note += " This preset shows that everything runs; what it finds means nothing."
    words = {True: "yes", False: "no", None: "no sure difference"}
    lines = tuple(
        (claim, *test[:-1], words[test.holds]) for claim, tests in found.items() for test in tests
    )
    columns = ("claim", "where", "rows", "first", "second", "difference", "holds")
    return [
        Table("The paper's claims", ("claim", "here", "comparisons"), verdicts, note),
        Table("Comparisons behind the claims", columns, lines),
    ]


def verdict(tests: Sequence[Test]) -> tuple[str, str]:
    """One word, and how many comparisons say what."""
    if not tests:
        return "not run", ""
    held, unsure = (sum(t.holds is value for t in tests) for value in (True, None))
    against = len(tests) - held - unsure
    told = f"{held} for it, {against} against it, {unsure} without a sure difference"
    if held and not against:
        return "holds" if not unsure else "holds where there is a difference", told
    if against and not held:
        return "does not hold", told
    return ("holds in part" if held else "no sure difference"), told


def at_or_above(found: Compared) -> bool | None:
    """Whether the left row is surely not below by more than CLOSE; no: it is surely below."""
    if found.low >= -CLOSE:
        return True
    return False if found.high < 0 else None


def about_equal(found: Compared) -> bool | None:
    """Whether the difference is surely at most ABOUT; no: it is surely more."""
    if found.low >= -ABOUT and found.high <= ABOUT:
        return True
    return False if found.low > ABOUT or found.high < -ABOUT else None


def _test(where: str, rows: str, found: Compared, holds: bool | None) -> Test:
    difference = f"{found.left - found.right:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"
    return Test(where, rows, found.left, found.right, difference, holds)


def _pairs(
    lookup: Lookup, left: Sequence[Cell], right: Sequence[Cell]
) -> Iterator[tuple[str, Compared]]:
    """Two rows over all and over the frequent classes, where both were run."""
    for classes in CLASSES:
        found = compared(lookup.store, left, right, classes)
        if found is not None:
            yield classes, found


def _learned(lookup: Lookup, first: str, second: str) -> Iterator[tuple[str, Compared]]:
    """Two learners wherever both were run."""
    for found, size in lookup.catalogue.places():
        for terms in TERMS:
            left, right = (lookup.catalogue.seeds(found, size, terms, r) for r in (first, second))
            for classes, pair in _pairs(lookup, left, right):
                yield f"{found.name} {size} {terms}, {classes} classes", pair


def _rewards(lookup: Lookup) -> Iterator[Test]:
    for method in ("DQN", "MCTS"):
        for where, pair in _learned(lookup, f"{method} R2", f"{method} R1"):
            yield _test(where, f"{method} R2, {method} R1", pair, pair.ahead)


def _learners(lookup: Lookup) -> Iterator[Test]:
    for where, pair in _learned(lookup, "DQN R2", "MCTS R2"):
        yield _test(where, "DQN R2, MCTS R2", pair, about_equal(pair))


def _terms(lookup: Lookup) -> Iterator[Test]:
    catalogue = lookup.catalogue
    for found, size in catalogue.places():
        for row in (REPAIR, "DQN R2"):
            if row in catalogue.preset.learners:
                cells = [catalogue.seeds(found, size, terms, row) for terms in (FULL, TERMS[1])]
            else:
                cells = [[catalogue.solver(found, size, t, row)] for t in (FULL, TERMS[1])]
            for classes, pair in _pairs(lookup, *cells):
                where = f"{found.name} {size}, {classes} classes"
                yield _test(where, f"{row}: all terms, U+P", pair, pair.ahead)


def _policies(lookup: Lookup) -> Iterator[Test]:
    """DQN R2 against the solver of the highest IoU."""
    catalogue = lookup.catalogue
    for found, size in catalogue.places():
        for terms in TERMS:
            rows = [row for row in catalogue.preset.solvers if row in catalogue.rows(terms)]
            policy = catalogue.seeds(found, size, terms, "DQN R2")
            for classes in CLASSES:
                path = f"pixels_{classes}", "iou"
                cells = {row: [catalogue.solver(found, size, terms, row)] for row in rows}
                known = {row: v for row, c in cells.items() if (v := lookup.values(c, *path))}
                if not known:
                    continue
                best = max(known, key=lambda row: known[row])
                pair = compared(lookup.store, policy, cells[best], classes)
                if pair is not None:
                    where = f"{found.name} {size} {terms}, {classes} classes"
                    yield _test(where, f"DQN R2, {best}", pair, at_or_above(pair))


def _sizes(lookup: Lookup) -> Iterator[Test]:
    for found in lookup.catalogue.preset.data_sets:
        cells = {(size, row): cell for size, row, cell in lookup.catalogue.carried(found)}
        for (size, row), cell in cells.items():
            if row != "DQN R2":
                continue
            for classes, pair in _pairs(lookup, [cell], [cells[size, REPAIR]]):
                where = f"{found.name} {size}, learned at {found.learned_at}, {classes} classes"
                yield _test(where, f"{row}, {REPAIR}", pair, at_or_above(pair))


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
            where = f"{source} {terms}"
            yield Test(where, "DQN: power of N, limit", power, LINEAR, "", power <= LINEAR)
