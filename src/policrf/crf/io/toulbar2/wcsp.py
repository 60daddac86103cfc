"""toulbar2's `.wcsp`: whole-numbered costs, forbidden from the file's upper bound (top) on.

    name  N  largest domain  number of cost functions  top
    the N domain sizes
    then each function:  arity  nodes  default cost  number of tuples,  and the tuples with costs

A negative arity lets later functions share the tuples: −k in place of their number means those of
the k-th that can be shared. A default cost of −1 is followed by the name of a predicate or a global
cost function (`cost_functions`). The energy is the cost, divided by the scale that `write_wcsp`
notes in the name where it has written the file.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from policrf.argument_types import typed
from policrf.crf.io.factors import Factor, Room, build_crf
from policrf.crf.io.tokens import Tokens
from policrf.crf.io.toulbar2.cost_functions import (
    ARITHMETIC,
    SUPPORTED,
    Counted,
    TooWide,
    all_different,
    among,
    arithmetic,
    at_most_one,
    cardinality,
    count_groups,
    forbid,
    knapsack,
)
from policrf.crf.io.uai import read_cardinalities, read_scope
from policrf.crf.model import CRF
from policrf.errors import InvalidFile
from policrf.types import FloatArray, IntArray

SCALED = re.compile(r"policrf_scale_([0-9.e+-]+)_shift_([0-9.e+-]+)")
NUMBERS = {"disj": 3, "sdisj": 6}  # that follow the name; 2 for the others of ARITHMETIC


@typed(InvalidFile)
def read_wcsp(path: str | Path) -> CRF:
    """Read a weighted constraint satisfaction problem; its energy is the cost.

    Parameters
    ----------
    path
        The file; `.gz`, `.xz` and `.bz2` are unpacked.
    """
    tokens = Tokens(path, "a wcsp model")
    name = tokens.word("the name")
    n_nodes = tokens.count("the number of variables", 1)
    tokens.count("the largest domain size", 1)
    n_functions = tokens.count("the number of cost functions")
    top = tokens.number("the upper bound")
    if not top > 0:
        raise tokens.error(f"the upper bound is {top}; it must be above 0")
    cards = read_cardinalities(tokens, n_nodes)
    reader = _Functions(tokens, cards, top, Room(path, cards, len(tokens.text)))
    for f in range(n_functions):
        reader.read(f)
    tokens.finish("the last cost function", "the number of cost functions or of tuples is wrong")
    factors, counted = reader.factors, reader.counted
    scaled = SCALED.fullmatch(name)
    if scaled:  # as `write_wcsp` writes it: no function has a name then
        scale, shift = float(scaled[1]), float(scaled[2])
        factors = [Factor(f.scope, f.table / scale) for f in factors]
        factors.append(Factor((), np.array(shift)))
    return build_crf(path, cards, factors, groups=count_groups(counted))


class _Functions:
    """The cost functions of a file, read one after the other."""

    def __init__(self, tokens: Tokens, cards: IntArray, top: float, room: Room) -> None:
        self.tokens, self.cards, self.top, self.room = tokens, cards, top, room
        self.factors: list[Factor] = []
        self.counted: list[Counted] = []
        self.shared: list[FloatArray] = []

    def read(self, f: int) -> None:
        tokens, what = self.tokens, f"cost function {f}"
        arity = tokens.integer(f"the arity of {what}")
        scope = read_scope(tokens, abs(arity), f"the scope of {what}", len(self.cards))
        default = tokens.number(f"the default cost of {what}")
        if default == -1 and arity != 0:
            self._named(f, tuple(scope.tolist()))
            return
        if not default >= 0:
            raise tokens.error(f"the default cost of {what} is {default}; costs are not negative")
        self.room.add(scope)
        tuples = self._tuples(f, scope, tokens.integer(f"the number of tuples of {what}"))
        if arity < 0:
            self.shared.append(tuples)
        table = np.full(tuple(self.cards[scope].tolist()), default)
        if len(scope):
            table[tuple(tuples[:, :-1].astype(np.int64).T)] = tuples[:, -1]
        self.factors.append(Factor(tuple(scope.tolist()), forbid(table, self.top)))

    def _tuples(self, f: int, scope: IntArray, count: int) -> FloatArray:
        """Labels and cost of every tuple, `[count, arity + 1]`."""
        tokens, what = self.tokens, f"the tuples of cost function {f}"
        if count < 0:
            if -count > len(self.shared) or self.shared[-count - 1].shape[1] != len(scope) + 1:
                raise tokens.error(
                    f"{what} are those of shared function {-count}, which there is not, or which "
                    "has another arity"
                )
            rows = self.shared[-count - 1]
        else:
            rows = tokens.numbers(count * (len(scope) + 1), what).reshape(count, len(scope) + 1)
        labels = rows[:, :-1]
        wrong = (labels != np.floor(labels)) | (labels < 0) | (labels >= self.cards[scope])
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            raise tokens.error(
                f"{what}: tuple {row} gives variable {scope[column]} label "
                f"{labels[row, column]:g}, but it has labels 0 … {self.cards[scope[column]] - 1}",
                tokens.at - max(len(rows) - row, 1) * (len(scope) + 1) + column,
            )
        if not (rows[:, -1] >= 0).all():
            row = int(np.argmin(rows[:, -1] >= 0))
            raise tokens.error(f"{what}: tuple {row} costs {rows[row, -1]}; costs are not negative")
        return rows

    def _named(self, f: int, scope: tuple[int, ...]) -> None:
        name = self.tokens.word(f"the name of cost function {f}")
        try:
            found = self._function(name, scope, f"cost function {f} ({name})")
        except TooWide as error:
            raise self.tokens.error(f"cost function {f} ({name}) {error}") from None
        if found is None:
            raise self.tokens.error(
                f"cost function {f} is {name!r} over {len(scope)} variables, which policrf does "
                f"not read; it reads tables and {SUPPORTED}"
            )
        if isinstance(found, Counted):
            self.counted.append(found)
        else:
            self.factors.append(found)

    def _function(self, name: str, scope: tuple[int, ...], what: str) -> Factor | Counted | None:
        tokens, cards, top = self.tokens, self.cards, self.top
        if name in ARITHMETIC and len(scope) == 2:
            self.room.add(scope)
            return arithmetic(
                name, scope, cards, tokens.numbers(NUMBERS.get(name, 2), what).tolist(), top
            )
        if name.startswith("knapsack"):
            capacity = tokens.number(f"the capacity of {what}")
            if name == "knapsack":
                weights = tokens.numbers(len(scope), what).tolist()
                return knapsack(scope, cards, capacity, [{1: weight} for weight in weights])
            if name == "knapsackp":
                return knapsack(scope, cards, capacity, [self._weights(what) for _ in scope])
            return None
        if name == "clique":
            tokens.number(f"the size of {what}")
            return at_most_one(scope, cards, [self._labels(what) for _ in scope])
        if name not in ("salldiff", "salldiffdp", "sgcc", "sgccdp", "samong", "samongdp"):
            return None
        metric = tokens.word(f"the metric of {what}")
        if metric not in ("var", "dec", "decbi"):
            return None
        cost = tokens.number(f"the cost of {what}")
        if name.startswith("salldiff"):
            return all_different(scope, cards, metric, cost, top)
        if name.startswith("sgcc"):
            rows = [tokens.numbers(3, what) for _ in range(tokens.count(f"the labels of {what}"))]
            bounds = {int(row[0]): (float(row[1]), float(row[2])) for row in rows}
            return cardinality(scope, cards, metric, cost, top, bounds)
        low, high = tokens.numbers(2, what).tolist()
        return among(scope, cards, cost, top, low, high, self._labels(what))

    def _labels(self, what: str) -> list[int]:
        count = self.tokens.count(f"the number of labels of {what}")
        return [int(label) for label in self.tokens.integers(count, what)]

    def _weights(self, what: str) -> dict[int, float]:
        count = self.tokens.count(f"the number of labels of {what}")
        rows = self.tokens.numbers(2 * count, what).reshape(count, 2)
        return {int(label): float(weight) for label, weight in rows}
