"""Spatial order: prices for labels that come in the wrong order along a sequence of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_floats, frozen, require_label_axis, square_prices
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import ORDERED, SUBSET, CliquePotential, Fields
from policrf.crf.potentials.co_occurrence import shared_data
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class LabelOrder(CliquePotential):
    """min(cap, Σ over pairs of members, i before j, of prices[y_i, y_j]).

    A sequence is a clique whose order counts: a column of an image from top to bottom, a chain from
    left to right. "Sky is never below ground" is a price for (ground, sky).

    Parameters
    ----------
    sequences
        The nodes of each sequence, in order.
    prices
        Of a label a with a label b somewhere after it, `[L, L]`, first index earlier; not negative;
        +inf forbids it. One table for all sequences.
    cap
        The most that a sequence costs, above 0; by default there is no limit.

    >>> LabelOrder([[0, 1, 2]], [[0.0, 0.0], [1.0, 0.0]])
    LabelOrder(1 cliques, sizes 3–3)
    """

    term = "order"
    short_name = "order"
    kind = ORDERED

    def __init__(self, sequences: Any, prices: ArrayLike, cap: float = np.inf) -> None:
        self.cliques = Cliques(sequences, group=self.name)
        self.prices: FloatArray = square_prices(self.name, prices)
        if (self.prices < 0).any():
            a, b = np.argwhere(self.prices < 0)[0].tolist()
            raise InvalidPotential(
                f"LabelOrder: prices[{a}, {b}] is {self.prices[a, b]}; it must not be negative"
            )
        self.cap: FloatArray = as_floats(self.name, "cap", cap)
        if self.cap.ndim or not self.cap > 0:
            raise InvalidPotential(f"LabelOrder: cap must be one number above 0, not {cap!r}")
        self._seal()

    def columns(self, n_labels: int) -> Fields:
        """One table for all sequences, the cap as weight."""
        ones = np.ones(len(self), np.int64)
        weights = frozen(ones * float(self.cap))
        return {"weights": weights, "partial": ones * SUBSET, **shared_data(self.prices, ones)}

    def own_fields(self) -> Fields:
        """The prices and the cap."""
        return {"prices": self.prices, "cap": self.cap}

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes that the CRF does not have, and a table of other labels."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        require_label_axis(self.name, "prices", len(self.prices), int(cardinalities.max()))
