"""Ragged cliques in CSR form: clique c holds `nodes[ptr[c]:ptr[c + 1]]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_integers, frozen
from policrf.errors import InvalidPotential
from policrf.types import IntArray


class Cliques:
    """Node sets of any sizes, flattened once.

    Accepts a sequence of integer sequences, an array `[C, k]` of equal-sized cliques, another
    `Cliques`, or a pair `(ptr [C + 1], nodes [ptr[-1]])`: a tuple of two flat arrays is always
    that.

    >>> c = Cliques([[0, 1, 2], [4, 2]], group="example")
    >>> c.ptr.tolist(), c.nodes.tolist(), len(c)
    ([0, 3, 5], [0, 1, 2, 4, 2], 2)
    """

    def __init__(self, cliques: Any, *, group: str = "cliques") -> None:
        self.ptr, self.nodes = _flatten(cliques, group)
        self._check(group)

    @classmethod
    def of_edges(cls, edges: IntArray) -> Cliques:
        """Cliques of two that share the memory of edges `[E, 2]`, read-only and checked before."""
        cliques = cls.__new__(cls)
        cliques.ptr = frozen(2 * np.arange(len(edges) + 1, dtype=np.int64))
        cliques.nodes = edges.reshape(-1)
        return cliques

    def _check(self, group: str) -> None:
        sizes = self.sizes
        if (sizes <= 0).any():
            raise InvalidPotential(f"{group}: clique {int(np.argmax(sizes <= 0))} is empty")
        if self.nodes.size == 0:
            return
        if self.nodes.min() < 0:
            at = int(np.argmax(self.nodes < 0))
            raise InvalidPotential(
                f"{group}: clique {self.clique_of(at)} names node {self.nodes[at]}; "
                "nodes count from 0"
            )
        owner = np.repeat(np.arange(len(self)), sizes)
        order = np.lexsort((self.nodes, owner))
        same = (np.diff(owner[order]) == 0) & (np.diff(self.nodes[order]) == 0)
        if same.any():
            at = order[int(np.argmax(same))]
            raise InvalidPotential(f"{group}: clique {owner[at]} repeats node {self.nodes[at]}")

    @property
    def sizes(self) -> IntArray:
        """Number of nodes of every clique, `[C]`."""
        return np.diff(self.ptr)

    def clique_of(self, entry: int) -> int:
        """The clique that entry `entry` of `nodes` belongs to."""
        return int(np.searchsorted(self.ptr, entry, side="right") - 1)

    def require_nodes_below(self, n_nodes: int, group: str) -> None:
        """Refuse a node that the CRF does not have, naming the clique."""
        bad = np.flatnonzero(self.nodes >= n_nodes)
        if bad.size:
            raise InvalidPotential(
                f"{group}: clique {self.clique_of(int(bad[0]))} names node {self.nodes[bad[0]]}, "
                f"but the CRF has nodes 0 … {n_nodes - 1}"
            )

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def __getitem__(self, clique: int) -> IntArray:
        if not 0 <= clique < len(self):
            raise IndexError(clique)
        return self.nodes[self.ptr[clique] : self.ptr[clique + 1]]

    def __iter__(self) -> Iterator[IntArray]:
        return (self[c] for c in range(len(self)))


def _flatten(cliques: Any, group: str) -> tuple[IntArray, IntArray]:
    if isinstance(cliques, Cliques):
        return cliques.ptr, cliques.nodes
    if isinstance(cliques, np.ndarray) and cliques.ndim == 2:
        nodes = as_integers(group, "cliques", cliques).reshape(-1)
        return frozen(np.arange(len(cliques) + 1, dtype=np.int64) * cliques.shape[1]), nodes
    if _is_ptr_and_nodes(cliques):
        return _from_pointers(cliques[0], cliques[1], group)
    flat = isinstance(cliques, str | bytes) or getattr(cliques, "ndim", 1) == 0
    if flat or not isinstance(cliques, Sequence | np.ndarray):
        raise InvalidPotential(
            f"{group}: cliques must be a sequence of node sequences, not {type(cliques).__name__}"
        )
    parts: list[IntArray] = []
    for c, clique in enumerate(cliques):
        part = as_integers(group, f"clique {c}", clique)
        if part.ndim != 1:
            raise InvalidPotential(f"{group}: clique {c} must be a flat sequence of nodes")
        parts.append(part)
    ptr = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(p) for p in parts], out=ptr[1:])
    flat = np.concatenate(parts) if parts else np.zeros(0, np.int64)
    return frozen(ptr), frozen(flat)


def _is_ptr_and_nodes(cliques: Any) -> bool:
    """A *tuple* of two flat arrays; lists are always lists of cliques."""
    return (
        isinstance(cliques, tuple)
        and len(cliques) == 2
        and all(isinstance(part, np.ndarray) and part.ndim == 1 for part in cliques)
    )


def _from_pointers(ptr: ArrayLike, nodes: ArrayLike, group: str) -> tuple[IntArray, IntArray]:
    starts, members = as_integers(group, "ptr", ptr), as_integers(group, "nodes", nodes)
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(members):
        raise InvalidPotential(
            f"{group}: a tuple of two arrays is (ptr, nodes), and ptr must run from 0 to the "
            f"{len(members)} nodes; give several cliques as a list"
        )
    if (starts[1:] < starts[:-1]).any():
        raise InvalidPotential(f"{group}: ptr must never decrease")
    return starts, members
