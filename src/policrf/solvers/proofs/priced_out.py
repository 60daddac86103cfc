"""Labels that a clique of counts forbids outright: they are gone before anything else is looked at.

A label cost of +inf, or a count function that allows no count of a label but 0, says the same as a
forbidden unary at every member; a model that is impossible for this reason is seen at once.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import COUNTED
from policrf.types import BoolArray


def forbid_priced_out(a: Arrays, alive: BoolArray) -> None:
    """Take labels away from `alive` [N, L] of which a node's clique allows no count but 0."""
    n_labels = a.unary.shape[1]
    for c in np.flatnonzero(a.clique_kind == COUNTED).tolist():
        prices = a.data[a.data_start[c] :][: a.data_size[c]].reshape(n_labels, -1)
        members = a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]]
        counts = prices[:, 1 : len(members) + 1] if prices.shape[1] > 1 else prices
        forbidden = ~np.isfinite(counts).any(axis=1)
        alive[np.ix_(members, np.flatnonzero(forbidden))] = False
