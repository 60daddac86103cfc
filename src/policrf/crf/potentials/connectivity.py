"""Connectivity: the nodes of a label in a clique should hang together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import (
    as_integers,
    frozen,
    per_clique,
    require_at_least_zero,
    require_labels_in_range,
)
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import CONNECTED, MARKED, CliquePotential, Fields
from policrf.crf.potentials.potts import checked_edges
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class Connectivity(CliquePotential):
    """A penalty for every part of a label beyond its first, on the graph inside a clique.

    Asked half-way, members without a label may still join two parts: they are ground of every
    label.

    Parameters
    ----------
    cliques
        The nodes of each clique; `[range(n_nodes)]` for one over all nodes.
    edges
        The graph on all nodes, `[E, 2]`; edges with an end outside a clique do not count in it.
    penalties
        Of one part too many, `[C]` or one number; not negative.
    labels
        The labels whose parts count; by default all.

    >>> Connectivity([[0, 1, 2]], [[0, 1], [1, 2]], 5.0)
    Connectivity(1 cliques, sizes 3–3)
    """

    term = "connectivity"
    short_name = "connectivity"
    kind = CONNECTED

    def __init__(
        self,
        cliques: Any,
        edges: ArrayLike,
        penalties: ArrayLike,
        labels: ArrayLike | None = None,
    ) -> None:
        self.cliques = Cliques(cliques, group=self.name)
        self.edges: IntArray = checked_edges(self.name, edges)
        self.penalties: FloatArray = per_clique(
            self.name, "penalties", penalties, len(self.cliques)
        )
        require_at_least_zero(self.name, "penalties", self.penalties)
        self.labels: IntArray | None = None
        if labels is not None:
            self.labels = frozen(np.atleast_1d(as_integers(self.name, "labels", labels)))
            if self.labels.ndim != 1:
                raise InvalidPotential(
                    f"Connectivity: labels has shape {self.labels.shape}; give a list of labels"
                )
        self._seal()

    def columns(self, n_labels: int) -> Fields:
        """Flags of the labels that count, and the graph inside every clique in CSR form.

        Members count from 0 in a clique's own order: pointers `[k + 1]`, then neighbours.
        """
        flags = np.zeros(n_labels)
        flags[slice(None) if self.labels is None else self.labels] = 1.0
        highest = max(self.edges.max(initial=0), self.cliques.nodes.max(initial=0))
        place = np.full(int(highest) + 1, -1)
        both = np.concatenate([self.edges, self.edges[:, ::-1]])
        parts = []
        for members in self.cliques:
            place[members] = np.arange(len(members))
            ends = place[both]
            inside = ends[(ends >= 0).all(axis=1)]
            inside = inside[np.lexsort(inside.T[::-1])]
            degrees = np.bincount(inside[:, 0], minlength=len(members))
            parts.append(np.concatenate([flags, [0], np.cumsum(degrees), inside[:, 1]]))
            place[members] = -1
        return {
            "weights": self.penalties,
            "partial": np.full(len(self), MARKED),
            "data_sizes": np.array([len(part) for part in parts], np.int64),
            "data": frozen(np.concatenate(parts) if parts else np.zeros(0)),
        }

    def own_fields(self) -> Fields:
        """The edges, the penalties and the labels."""
        fields: Fields = {"edges": self.edges, "penalties": self.penalties}
        return fields if self.labels is None else {**fields, "labels": self.labels}

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes and labels that the CRF does not have."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        checked_edges(self.name, self.edges, n_nodes)
        if self.labels is not None:
            require_labels_in_range(self.name, self.labels, int(cardinalities.max()))
