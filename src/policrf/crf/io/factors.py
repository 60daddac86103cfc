"""Factors of a file <-> a CRF: what the readers and writers of all table formats share.

Order-0 and order-1 factors go to the unaries, Potts-shaped pairs to one `Potts` group (with their
constant in a unary), all others to `Tables`, one table for all factors on the same nodes: the
energy of every labeling is the sum of them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from policrf import limits
from policrf.crf.model import CRF
from policrf.crf.potentials import Potential, Potts, Tables
from policrf.crf.tabulate import group_of, tabulate_clique
from policrf.errors import InvalidFile, PolicrfError, TooLarge
from policrf.limits import free_bytes
from policrf.types import FloatArray, IntArray

TABLE_LIMIT = 2**22  # entries of the largest table that is written
A_CHARACTER = 64  # labels that a character of a file may stand for, in a long file


class Factor(NamedTuple):
    """Energies of the labels of a few nodes."""

    scope: tuple[int, ...]
    table: FloatArray  # one axis a node of the scope


class Room:
    """Counts what a file will need before it is allocated; floats, which cannot overflow.

    Parameters
    ----------
    path
        The file, for errors.
    cardinalities
        Labels of every node `[N]`.
    written
        Characters of the file: a short one cannot ask for much.
    """

    def __init__(self, path: str | Path, cardinalities: IntArray, written: int) -> None:
        self.path, self.cards = path, cardinalities.astype(np.float64)
        self.total, self.largest, self.available = 0.0, 0.0, free_bytes()
        states = float(len(cardinalities)) * float(self.cards.max(initial=1.0))
        if states > max(limits.STATES, A_CHARACTER * written):
            raise TooLarge(
                f"{path}: {len(cardinalities)} nodes of up to {self.cards.max():.0f} labels, in a "
                f"file of {written} characters; it is damaged, or asks for more than the limit of "
                f"{limits.STATES} labels in all"
            )
        self._add(states)

    def add(self, scope: Sequence[int] | IntArray) -> None:
        """Refuse a table over `scope` that does not fit any more."""
        size = float(np.prod(self.cards[np.asarray(scope, np.int64)]))
        self.largest = max(self.largest, size)
        self._add(size)

    def _add(self, size: float) -> None:
        self.total += size
        if self.total * 16 > self.available:
            raise TooLarge(
                f"{self.path}: its factors have {self.total:.3g} entries and more (the largest "
                f"{self.largest:.3g}), which do not fit in the "
                f"{self.available / 2**30:.1f} GiB of memory that are free"
            )


def build_crf(
    path: str | Path, cards: IntArray, factors: Sequence[Factor], *, detect_potts: bool = True,
    groups: Sequence[Potential] = (), observed: Mapping[int, int] | None = None,
) -> CRF:  # fmt: skip
    """The CRF of the factors and of further `groups`, with some nodes `observed`.

    An observed node keeps its labels, all but one forbidden, and leaves the factors it is in.
    """
    unary = np.zeros((len(cards), int(cards.max())))
    unary[np.arange(unary.shape[1]) >= cards[:, None]] = np.inf
    for node, label in (observed or {}).items():
        unary[node, np.arange(unary.shape[1]) != label] = np.inf
    potts: dict[tuple[int, int], float] = {}
    left: dict[tuple[int, ...], FloatArray] = {}  # scopes in order: one table each
    for whole in factors:
        scope, table = _given(whole, observed or {})
        if len(scope) == 0:
            unary[0] += float(table)
        elif len(scope) == 1:
            unary[scope[0], : cards[scope[0]]] += table
        elif detect_potts and (pair := _as_potts(table)) is not None:
            low, high = sorted(scope)
            unary[low] += pair[0]
            potts[low, high] = potts.get((low, high), 0.0) + pair[1]
        else:
            ordered = tuple(sorted(scope))
            turned = table.transpose(np.argsort(scope))
            left[ordered] = left[ordered] + turned if ordered in left else turned
    found: list[Potential] = []
    try:
        if potts:
            found.append(Potts(np.array(list(potts), np.int64), np.array(list(potts.values()))))
        if left:
            found.append(Tables(list(left), list(left.values())))
        return CRF(unary, *found, *groups, cardinalities=cards)
    except PolicrfError as error:
        raise InvalidFile(f"{path}: {error}") from error


def _given(factor: Factor, observed: Mapping[int, int]) -> Factor:
    """The factor on the nodes of its scope that are not observed."""
    if not any(node in observed for node in factor.scope):
        return factor
    at = tuple(observed.get(node, slice(None)) for node in factor.scope)
    scope = tuple(node for node in factor.scope if node not in observed)
    return Factor(scope, np.array(factor.table[at], order="C"))


def _as_potts(table: FloatArray) -> tuple[float, float] | None:
    """(constant, weight) if the table is constant + weight · [y_i ≠ y_j], all finite."""
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        return None
    diagonal = np.diagonal(table)
    off = table[~np.eye(len(table), dtype=bool)]
    if not np.isfinite(table).all() or np.ptp(diagonal) > 0 or np.ptp(off) > 0:
        return None
    return float(diagonal[0]), float(off[0] - diagonal[0])


def check_tables(crf: CRF, path: str | Path, table_limit: int) -> None:
    """Refuse a clique whose table has more than `table_limit` entries, before any is made."""
    arrays = crf.arrays
    for c in range(len(arrays.clique_kind)):
        nodes = arrays.clique_nodes[arrays.clique_ptr[c] : arrays.clique_ptr[c + 1]]
        size = float(np.prod(crf.cardinalities[nodes].astype(np.float64)))
        if size > table_limit:
            name, number = group_of(crf, c)
            raise TooLarge(
                f"{path}: clique {number} of {name} has {len(nodes)} nodes, a table of {size:.3g} "
                f"entries; table_limit is {table_limit}. Save as .npz, which keeps it unchanged"
            )


def factors_of(crf: CRF) -> Iterator[Factor]:
    """Every term of the energy as a table: unaries, edges, cliques of any kind."""
    arrays = crf.arrays
    for i, row in enumerate(crf.unary):
        yield Factor((i,), row[: crf.cardinalities[i]])
    for (i, j), weight in zip(arrays.edges.tolist(), arrays.edge_weights.tolist(), strict=True):
        differ = np.arange(crf.cardinalities[i])[:, None] != np.arange(crf.cardinalities[j])
        yield Factor((i, j), weight * differ)
    for c in range(len(arrays.clique_kind)):
        nodes: IntArray = arrays.clique_nodes[arrays.clique_ptr[c] : arrays.clique_ptr[c + 1]]
        yield Factor(tuple(nodes.tolist()), tabulate_clique(crf, c))
