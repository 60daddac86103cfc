"""Explicit tables of any order, as UAI files hold them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_floats, as_list, frozen
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import TABLE, CliquePotential, Fields
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class Tables(CliquePotential):
    """An explicit energy for every joint labeling of a scope; +inf forbids one.

    Parameters
    ----------
    scopes
        The nodes of each table, ragged or `[T, k]`. Axis m of a table belongs to node m of its
        scope.
    tables
        `[T, card, …, card]`, or a list with one array per scope whose shape is the cardinalities of
        the scope's nodes.
    partial
        What a table says while nodes of its scope are unlabeled: "complete": nothing; "lowest": its
        lowest entry that the labels so far leave, which takes a look at all of them.

    >>> Tables([[0, 1]], [[[0.0, 1.0], [1.0, 0.0]]])
    Tables(1 cliques, sizes 2–2)
    """

    term = "tables"
    short_name = "tables"
    kind = TABLE

    def __init__(
        self, scopes: Any, tables: ArrayLike | Sequence[ArrayLike], partial: str = "complete"
    ) -> None:
        self.cliques = Cliques(scopes, group=self.name)
        if isinstance(tables, np.ndarray) and tables.dtype.kind in "biuf":
            self._store_equal(as_floats(self.name, "tables", tables))
        else:
            listed: Sequence[ArrayLike] = as_list(self.name, "tables", tables)
            self._store_ragged(
                [as_floats(self.name, f"tables[{t}]", table) for t, table in enumerate(listed)]
            )
        self._check_values()
        self._set_partial(partial)
        self._seal()

    def _store_equal(self, stacked: FloatArray) -> None:
        count = len(self.cliques)
        if stacked.ndim < 1 or len(stacked) != count:
            raise InvalidPotential(
                f"Tables: tables of shape {stacked.shape} for {count} scopes; give one each"
            )
        self._check_axes(np.full(count, stacked.ndim - 1))
        size = int(np.prod(stacked.shape[1:]))
        self.table_ptr: IntArray = frozen(np.arange(count + 1, dtype=np.int64) * size)
        self.values: FloatArray = frozen(stacked.reshape(-1))
        self.shapes: IntArray = frozen(np.tile(np.asarray(stacked.shape[1:], np.int64), count))

    def _store_ragged(self, arrays: list[FloatArray]) -> None:
        if len(arrays) != len(self.cliques):
            raise InvalidPotential(
                f"Tables: {len(arrays)} tables for {len(self.cliques)} scopes; give one each"
            )
        self._check_axes(np.asarray([a.ndim for a in arrays], np.int64))
        ptr = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([a.size for a in arrays], out=ptr[1:])
        flat = [a.reshape(-1) for a in arrays]
        shape = [size for a in arrays for size in a.shape]
        self.table_ptr = frozen(ptr)
        self.values = frozen(np.concatenate(flat) if flat else np.zeros(0))
        self.shapes = frozen(np.asarray(shape, np.int64))

    def _check_axes(self, axes: IntArray) -> None:
        sizes = self.cliques.sizes
        bad = np.flatnonzero(axes != sizes)
        if bad.size:
            raise InvalidPotential(
                f"Tables: table {bad[0]} has {axes[bad[0]]} axes, "
                f"but its scope has {sizes[bad[0]]} nodes"
            )

    def _check_values(self) -> None:
        bad = np.flatnonzero(np.isnan(self.values) | np.isneginf(self.values))
        if bad.size:
            t = int(np.searchsorted(self.table_ptr, bad[0], side="right") - 1)
            at = np.unravel_index(int(bad[0] - self.table_ptr[t]), self.table(t).shape)
            raise InvalidPotential(
                f"Tables: table {t} at {[int(k) for k in at]} is {self.values[bad[0]]}; "
                "energies are finite, or +inf where a labeling is forbidden"
            )

    def table(self, t: int) -> FloatArray:
        """Table t, shaped by the cardinalities of its scope."""
        start, stop = self.cliques.ptr[t], self.cliques.ptr[t + 1]
        flat = self.values[self.table_ptr[t] : self.table_ptr[t + 1]]
        return flat.reshape(tuple(self.shapes[start:stop]))

    def strides(self) -> IntArray:
        """Row-major stride of every entry of `cliques.nodes` in its own table."""
        strides = np.ones(len(self.shapes), np.int64)
        sizes, starts = self.cliques.sizes, self.cliques.ptr[:-1]
        for back in range(1, int(sizes.max(initial=1))):
            entry = (starts + sizes - 1 - back)[sizes > back]
            strides[entry] = strides[entry + 1] * self.shapes[entry + 1]
        return strides

    def columns(self, n_labels: int) -> Fields:
        """The tables and the members' strides in them."""
        sizes = np.diff(self.table_ptr)
        return {
            "strides": self.strides(),
            "weights": np.ones(len(self)),
            "partial": self._partial_column(),
            "data_sizes": sizes,
            "data": self.values,
        }

    def own_fields(self) -> Fields:
        """The tables one after the other, and their shapes."""
        return {"table_ptr": self.table_ptr, "values": self.values, "shapes": self.shapes}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """The group whose `fields` these are."""
        ptr, shapes, starts = fields["table_ptr"], fields["shapes"], fields["ptr"]
        tables = [
            fields["values"][ptr[t] : ptr[t + 1]].reshape(shapes[starts[t] : starts[t + 1]])
            for t in range(len(ptr) - 1)
        ]
        return cls((fields["ptr"], fields["nodes"]), tables, str(fields.get("partial", "complete")))

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse unknown nodes, and tables whose shape is not their nodes' cardinalities."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        bad = np.flatnonzero(cardinalities[self.cliques.nodes] != self.shapes)
        if bad.size:
            t = self.cliques.clique_of(int(bad[0]))
            wanted = tuple(cardinalities[self.cliques[t]].tolist())
            raise InvalidPotential(
                f"Tables: table {t} has shape {self.table(t).shape}, "
                f"but the nodes {self.cliques[t].tolist()} have {wanted} labels"
            )
