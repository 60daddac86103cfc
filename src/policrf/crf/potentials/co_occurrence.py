"""Co-occurrence: a price for each pair of labels that are both used (Ladicky et al., ECCV 2010)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import require_label_axis, square_prices
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import SUBSET, TOGETHER, CliquePotential, Fields
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class CoOccurrence(CliquePotential):
    """Σ over pairs of labels that both occur in a clique of their price.

    Parameters
    ----------
    cliques
        The nodes of each clique.
    prices
        Of labels a and b, `[L, L]`, the same both ways, zeros on the diagonal (a price of one label
        is a `LabelCost`); +inf forbids a pair. One table for all cliques.

    >>> CoOccurrence([[0, 1, 2]], [[0.0, 3.0], [3.0, 0.0]])
    CoOccurrence(1 cliques, sizes 3–3)
    """

    term = "co_occurrence"
    short_name = "co_occurrence"
    kind = TOGETHER

    def __init__(self, cliques: Any, prices: ArrayLike) -> None:
        self.cliques = Cliques(cliques, group=self.name)
        self.prices: FloatArray = square_prices(self.name, prices)
        if not np.array_equal(self.prices, self.prices.T):
            a, b = np.argwhere(self.prices != self.prices.T)[0].tolist()
            raise InvalidPotential(
                f"CoOccurrence: prices[{a}, {b}] is {self.prices[a, b]} and prices[{b}, {a}] "
                f"{self.prices[b, a]}; a pair has one price"
            )
        if self.prices.diagonal().any():
            at = int(np.flatnonzero(self.prices.diagonal())[0])
            raise InvalidPotential(
                f"CoOccurrence: prices[{at}, {at}] is {self.prices[at, at]}; it must be 0 (a "
                "LabelCost prices a single label)"
            )
        self._seal()

    def columns(self, n_labels: int) -> Fields:
        """One table for all cliques."""
        ones = np.ones(len(self), np.int64)
        return {"partial": ones * SUBSET, "counted": ones, **shared_data(self.prices, ones)}

    def own_fields(self) -> Fields:
        """The prices."""
        return {"prices": self.prices}

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes that the CRF does not have, and a table of other labels."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        require_label_axis(self.name, "prices", len(self.prices), int(cardinalities.max()))


def shared_data(table: FloatArray, ones: IntArray) -> Fields:
    """The columns that let all cliques read one table; `ones` is `[C]`."""
    return {
        "data_sizes": ones * table.size,
        "data_starts": np.zeros(len(ones), np.int64),  # takes no memory unless written to
        "data": table.reshape(-1),
    }
