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

    def without_expensive_columns(self, upper: float) -> Milp:
        """Hold at 0 what alone costs more than a solution of value `upper`: one scale for the rest.

        All columns are between 0 and 1, so no solution is below the constant and the negative
        costs; and in some optimum each is 0 or 1.
        """
        negative = float(np.minimum(self.cost, 0.0).sum())
        room = upper - self.constant - negative
        rounding = 1e-12 * (abs(upper) + abs(self.constant) - negative)
        expensive = self.cost > room * (1 + 1e-9) + rounding
        cost, ceiling = np.where(expensive, 0.0, self.cost), np.where(expensive, 0.0, self.ceiling)
        return self._replace(cost=cost, ceiling=ceiling)


class MilpBuilder:
    """Collects blocks; `finish` joins them."""

    def __init__(self) -> None:
        self.constant = 0.0
        self._count = 0
        self._start = np.zeros(0)
        self._columns: list[tuple[FloatArray, FloatArray, BoolArray]] = []
        self._extra: list[tuple[IntArray, FloatArray]] = []
        self._forbidden: list[IntArray] = []
        self._rows: list[tuple[FloatArray, FloatArray, IntArray, IntArray, FloatArray]] = []

    def add_columns(
        self, cost: FloatArray, start: FloatArray | BoolArray, *, integer: bool = False
    ) -> IntArray:
        """New columns 0 … 1 with these costs and first values; returns their numbers."""
        number = np.arange(self._count, self._count + len(cost), dtype=np.int64)
        first = np.asarray(start, np.float64)
        self._columns.append((np.asarray(cost, np.float64), first, np.full(len(cost), integer)))
        self._count += len(cost)
        return number

    def value(self, columns: IntArray) -> FloatArray:
        """The first values of some columns."""
        if len(self._start) < self._count:
            self._start = np.concatenate([start for _, start, _ in self._columns])
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
        cost, start, integer = (np.concatenate(part) for part in zip(*self._columns, strict=True))
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
        )  # fmt: skip
