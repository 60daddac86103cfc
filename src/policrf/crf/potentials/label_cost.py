"""Label costs: Σ over the labels used in a clique of their price (Delong et al., IJCV 2012)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_energies, require_label_axis
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import COUNTED, SUBSET, CliquePotential, Fields
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class LabelCost(CliquePotential):
    """Every label that some node of a clique has costs its price once.

    Parameters
    ----------
    cliques
        The nodes of each clique; `[range(n_nodes)]` for one cost over all nodes.
    costs
        One number, or a price for every label, `[L]` or `[C, L]`; +inf forbids a label.

    >>> from policrf import CRF
    >>> crf = CRF(np.zeros((3, 2)), LabelCost([[0, 1, 2]], 2.0))
    >>> crf.energy([0, 0, 0]), crf.energy([0, 1, 0])
    (2.0, 4.0)
    """

    term = "label_cost"
    short_name = "label_cost"
    kind = COUNTED

    def __init__(self, cliques: Any, costs: ArrayLike) -> None:
        self.cliques = Cliques(cliques, group=self.name)
        self.costs: FloatArray = as_energies(self.name, "costs", costs)
        if self.costs.ndim > 2 or (self.costs.ndim == 2 and len(self.costs) != len(self.cliques)):
            raise InvalidPotential(
                f"LabelCost: costs of shape {self.costs.shape} for {len(self.cliques)} cliques; "
                "give one number, [L] or [C, L]"
            )
        self._seal()

    def columns(self, n_labels: int) -> Fields:
        """Tables `[L, 2]`: nothing without a member, the price with one or more."""
        rows = np.atleast_2d(self.costs if self.costs.ndim else np.full(n_labels, self.costs))
        tables = np.stack([np.zeros_like(rows), rows], axis=2)
        return counted_columns(tables, np.arange(len(self)) % len(rows))

    def own_fields(self) -> Fields:
        """The costs."""
        return {"costs": self.costs}

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes and labels that the CRF does not have."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        if self.costs.ndim:
            require_label_axis(self.name, "costs", self.costs.shape[-1], int(cardinalities.max()))


def counted_columns(tables: FloatArray, which: IntArray) -> Fields:
    """The columns of COUNTED cliques; clique c has table `which[c]` of `tables` `[T, L, K]`."""
    size = tables[0].size if len(tables) else 0
    ones = np.ones(len(which), np.int64)
    return {
        "counts": ones * tables.shape[2],
        "partial": ones * SUBSET,
        "counted": ones,
        "data_sizes": ones * size,
        "data_starts": which * size,
        "data": tables.reshape(-1),
    }
