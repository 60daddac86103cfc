"""A mixed-integer linear program put together from blocks of columns and rows.

minimise  constant + cost · values   subject to   lower ≤ A values ≤ upper,  0 ≤ values ≤ ceiling
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.types import BoolArray, FloatArray, IntArray


class Milp(NamedTuple):
    """K columns, R rows with Z entries in all."""

    constant: float
    cost: FloatArray  # [K]
    ceiling: FloatArray  # [K]; 1, or 0 for a column that is forbidden
    integer: BoolArray  # [K]
    start: FloatArray  # [K]; a first solution
    lower: FloatArray  # [R]
    upper: FloatArray  # [R]
    row_ptr: IntArray  # [R + 1]
    row_column: IntArray  # [Z]
    row_value: FloatArray  # [Z]
    active: int  # how many columns a whole solution has at 1, at most

    def without_expensive_columns(self, upper: float, margin: float) -> Milp:
        """Hold at 0 what alone costs more than a solution of value `upper`: one scale for the rest.

        All columns are between 0 and 1, so no solution is below the constant and the negative
        costs; and in some optimum each is 0 or 1. `margin` is what `upper` and the costs may be off
        by, so that a solution of just that value stays one.
        """
        room = upper - self.constant - float(np.minimum(self.cost, 0.0).sum())
        expensive = self.cost > max(room, 0.0) + 2 * margin
        # No column of a solution that is given can be expensive, whatever the sums round to.
        expensive &= self.start < 0.5
        cost, ceiling = np.where(expensive, 0.0, self.cost), np.where(expensive, 0.0, self.ceiling)
        return self._replace(cost=cost, ceiling=ceiling)


class MilpBuilder:
    """Collects blocks; `finish` joins them."""

    def __init__(self) -> None:
        self.constant = 0.0
        self._count = 0
        self._start = np.zeros(1024)  # the first values so far, and room for more
        self._columns: list[tuple[FloatArray, BoolArray]] = []
        self._extra: list[tuple[IntArray, FloatArray]] = []
        self._forbidden: list[IntArray] = []
        self._rows: list[tuple[FloatArray, FloatArray, IntArray, IntArray, FloatArray]] = []

    def add_columns(
        self, cost: FloatArray, start: FloatArray | BoolArray, *, integer: bool = False
    ) -> IntArray:
        """New columns 0 … 1 with these costs and first values; returns their numbers."""
        number = np.arange(self._count, self._count + len(cost), dtype=np.int64)
        first = np.asarray(start, np.float64)
        self._columns.append((np.asarray(cost, np.float64), np.full(len(cost), integer)))
        self._count += len(cost)
        if self._count > len(self._start):
            self._start = np.append(self._start, np.zeros(self._count))
        self._start[number] = first
        return number

    def value(self, columns: IntArray) -> FloatArray:
        """The first values of some columns."""
        return self._start[columns]

    def add_cost(self, columns: IntArray, cost: FloatArray) -> None:
        """Add to the costs of columns, which may repeat."""
        self._extra.append((columns, cost))

    def forbid(self, columns: IntArray) -> None:
        """Hold columns at 0."""
        self._forbidden.append(columns)

    def add_rows(
        self, lower: float, upper: float, columns: tuple[IntArray, ...], values: tuple[float, ...]
    ) -> None:
        """Row r is lower ≤ Σ_k values[k] · columns[k][r] ≤ upper."""
        count = len(columns[0])
        self._rows.append(
            (
                np.full(count, lower),
                np.full(count, upper),
                np.full(count, len(columns), np.int64),
                np.stack(columns, axis=1).reshape(-1),
                np.tile(np.asarray(values, np.float64), count),
            )
        )

    def add_ragged_rows(
        self, lower: FloatArray, upper: FloatArray, sizes: IntArray, columns: IntArray,
        values: FloatArray | None = None,
    ) -> None:  # fmt: skip
        """Rows of the given sizes, their entries one after the other; values are 1 by default."""
        coefficients = np.ones(len(columns)) if values is None else values
        self._rows.append((lower, upper, sizes, columns, coefficients))

    def finish(self) -> Milp:
        """Join the blocks."""
        cost, integer = (np.concatenate(part) for part in zip(*self._columns, strict=True))
        start = self._start[: self._count].copy()
        for columns, extra in self._extra:
            np.add.at(cost, columns, extra)
        ceiling = np.ones(self._count)
        for columns in self._forbidden:
            ceiling[columns] = 0.0
        lower, upper, sizes, column, value = (
            np.concatenate(part) for part in zip(*self._rows, strict=True)
        )
        row_ptr = np.zeros(len(lower) + 1, np.int64)
        np.cumsum(sizes, out=row_ptr[1:])
        return Milp(
            constant=self.constant, cost=cost, ceiling=ceiling, integer=integer, start=start,
            lower=lower, upper=upper, row_ptr=row_ptr, row_column=column, row_value=value,
            active=self._count,
        )  # fmt: skip
