"""Any function of how many nodes of a clique have a label: Σ_l g_l(#{i ∈ c : y_i = l})."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import (
    as_energies,
    as_integers,
    frozen,
    require_label_axis,
    require_labels_in_range,
)
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import COUNTED, CliquePotential, Fields
from policrf.crf.potentials.label_cost import counted_columns
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray

Function = Callable[[IntArray, int], ArrayLike]


class CountFunction(CliquePotential):
    """The sum over labels of a function of the number of members that have the label.

    `size_prior`, `between` and `parity` build the usual ones.

    Parameters
    ----------
    cliques
        The nodes of each clique.
    values
        Entry n is the energy of n members with a label, and the last entry that of all larger
        counts: `[K]` for all labels, `[R, K]` for R of them, `[T, R, K]` for T tables. Or
        `f(counts, size)`, which gets 0 … size as an array and returns as many energies. +inf
        forbids a count.
    labels
        The labels that the rows are for, `[R]`; the others cost nothing. By default all labels.
    which
        The table of every clique, `[C]`; by default clique c has table c, or all have the one.

    >>> even = CountFunction([[0, 1, 2]], lambda counts, size: counts % 2)
    >>> even.values.tolist()
    [[[0.0, 1.0, 0.0, 1.0]]]
    """

    term = "counts"
    short_name = "counts"
    kind = COUNTED

    def __init__(
        self,
        cliques: Any,
        values: ArrayLike | Function,
        labels: ArrayLike | None = None,
        which: ArrayLike | None = None,
    ) -> None:
        self.cliques = Cliques(cliques, group=self.name)
        if callable(values):
            values, which = _tabulated(self.cliques.sizes, values)
        tables = as_energies(self.name, "values", values)
        if tables.ndim not in (1, 2, 3) or 0 in tables.shape[-2:]:
            raise InvalidPotential(
                f"CountFunction: values has shape {tables.shape}; give [K], [R, K] or [T, R, K]"
            )
        self.values: FloatArray = frozen(tables[(None,) * (3 - tables.ndim)])
        self.labels: IntArray | None = None
        if labels is not None:
            self.labels = frozen(np.atleast_1d(as_integers(self.name, "labels", labels)))
            self._check_labels(self.labels)
        self.which: IntArray = self._tables_of_cliques(which)
        self._seal()

    @classmethod
    def size_prior(
        cls, cliques: Any, sizes: ArrayLike | Function, weight: float = 1.0, cap: float = np.inf,
        labels: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """`weight` for every member more or fewer than the nearest of `sizes`, `cap` at most.

        `sizes` are numbers of members, or `f(counts, size)` that returns them for a clique's size.
        """

        def values(counts: IntArray, size: int) -> FloatArray:
            wanted = np.atleast_1d(sizes(counts, size) if callable(sizes) else sizes)
            off = np.abs(counts[:, None] - np.asarray(wanted, float)).min(axis=1)
            return np.asarray(np.minimum(weight * off, cap))

        return cls(cliques, values, labels)

    @classmethod
    def between(
        cls, cliques: Any, low: int, high: int, penalty: float, labels: ArrayLike | None = None
    ) -> Self:
        """`penalty` where fewer than `low` or more than `high` members have the label."""

        def values(counts: IntArray, size: int) -> FloatArray:
            return np.where((counts < low) | (counts > high), float(penalty), 0.0)

        return cls(cliques, values, labels)

    @classmethod
    def parity(
        cls, cliques: Any, penalty: float, *, odd: bool = True, labels: ArrayLike | None = None
    ) -> Self:
        """`penalty` where an odd number of members has the label (an even one: `odd=False`)."""

        def values(counts: IntArray, size: int) -> FloatArray:
            return np.where(counts % 2 == int(odd), float(penalty), 0.0)

        return cls(cliques, values, labels)

    def columns(self, n_labels: int) -> Fields:
        """Tables `[L, K]`; labels without a row cost nothing."""
        tables = self.values
        if self.labels is not None:
            tables = np.zeros((len(self.values), n_labels, self.values.shape[2]))
            tables[:, self.labels] = self.values
        elif tables.shape[1] == 1:
            tables = np.repeat(tables, n_labels, axis=1)
        return counted_columns(tables, self.which)

    def own_fields(self) -> Fields:
        """The tables, their labels and which clique has which."""
        fields: Fields = {"values": self.values, "which": self.which}
        return fields if self.labels is None else {**fields, "labels": self.labels}

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes and labels that the CRF does not have."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        n_labels = int(cardinalities.max())
        if self.labels is not None:
            require_labels_in_range(self.name, self.labels, n_labels)
        elif self.values.shape[1] > 1:
            require_label_axis(self.name, "values", self.values.shape[1], n_labels)

    def _check_labels(self, labels: IntArray) -> None:
        rows = self.values.shape[1]
        if labels.ndim != 1 or rows not in (1, len(labels)):
            raise InvalidPotential(
                f"CountFunction: {rows} rows of values for labels of shape {labels.shape}; "
                "give one row, or one a label"
            )
        if len(np.unique(labels)) != len(labels):
            raise InvalidPotential(f"CountFunction: labels {labels.tolist()} repeat one")

    def _tables_of_cliques(self, which: ArrayLike | None) -> IntArray:
        count, tables = len(self.cliques), len(self.values)
        if which is None:
            if tables not in (1, count):
                raise InvalidPotential(
                    f"CountFunction: {tables} tables for {count} cliques; give one each, or `which`"
                )
            return frozen(np.arange(count) % max(tables, 1))
        chosen = as_integers(self.name, "which", which)
        if chosen.shape != (count,) or ((chosen < 0) | (chosen >= tables)).any():
            raise InvalidPotential(
                f"CountFunction: which must name one of {tables} tables for each of {count} cliques"
            )
        return chosen


def _tabulated(sizes: IntArray, function: Function) -> tuple[FloatArray, IntArray]:
    """The values for every size that occurs, `[T, 1, K]`, and the table of every clique."""
    distinct, which = np.unique(sizes, return_inverse=True)
    rows = []
    for size in distinct.tolist():
        try:
            row = np.asarray(function(np.arange(size + 1), size), np.float64)
        except Exception as error:
            raise InvalidPotential(
                f"CountFunction: the function failed for a clique of {size} nodes: "
                f"{type(error).__name__}: {error}"
            ) from error
        if row.shape != (size + 1,):
            raise InvalidPotential(
                f"CountFunction: the function returned shape {row.shape} for a clique of {size} "
                f"nodes; it must return {size + 1} energies, of 0 … {size} members"
            )
        rows.append(np.pad(row, (0, int(distinct[-1]) - size), mode="edge"))
    return np.array(rows).reshape(len(rows), 1, -1), which.reshape(-1)
