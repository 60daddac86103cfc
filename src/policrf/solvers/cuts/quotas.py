"""The HOP2 quotas of a CRF as one table of entries, and prices on them that the moves can see.

A price μ_q for every member of quota q with its label lowers that label's unary by μ_q there; with
prices, expansion moves minimise the Lagrangian of the quotas (see `quota_lagrangian`).
"""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.potentials import SUPPORT
from policrf.types import BoolArray, FloatArray, IntArray


class Quotas:
    """The Q quotas that cost something and can be met; M members in all."""

    def __init__(self, arrays: Arrays, costs: FloatArray) -> None:
        sizes = np.diff(arrays.clique_ptr)
        matters = (arrays.clique_kind == SUPPORT) & (arrays.clique_weight > 0)
        matters &= arrays.clique_count > 0
        self._costs: FloatArray = costs.reshape(-1)  # [N, L], which the moves see
        self._unpriced: FloatArray = self._costs.copy()

        nodes = arrays.clique_nodes[np.repeat(matters, sizes)]
        cliques = np.flatnonzero(matters)
        owner = np.repeat(np.arange(len(cliques)), sizes[cliques])
        at = nodes * arrays.unary.shape[1] + arrays.clique_label[cliques][owner]
        possible = np.bincount(owner[np.isfinite(self._costs[at])], minlength=len(cliques))
        reachable = possible >= arrays.clique_count[cliques]

        self.cliques: IntArray = cliques[reachable]  # [Q]  their rows in `Arrays`
        self.labels: IntArray = arrays.clique_label[self.cliques]
        self.counts: IntArray = arrays.clique_count[self.cliques]
        self.penalties: FloatArray = arrays.clique_weight[self.cliques]
        self.nodes: IntArray = nodes[reachable[owner]]  # [M]
        self.owner: IntArray = np.repeat(np.arange(len(self)), sizes[self.cliques])  # [M]
        self._at: IntArray = at[reachable[owner]]
        self._start: IntArray = np.searchsorted(self.owner, np.arange(len(self) + 1))

    def __len__(self) -> int:
        return len(self.cliques)

    def matches(self, labels: IntArray) -> IntArray:
        """How many members of every quota have its label, `[Q]`."""
        has_it = labels[self.nodes] == self.labels[self.owner]
        return np.bincount(self.owner[has_it], minlength=len(self))

    def members(self, q: int) -> IntArray:
        """The nodes of quota q."""
        nodes: IntArray = self.nodes[self._start[q] : self._start[q + 1]]
        return nodes

    def touched(self, changed: BoolArray) -> IntArray:
        """The quotas with a member among the `changed` nodes [N]."""
        return np.unique(self.owner[changed[self.nodes]])

    def member_costs(self, q: int) -> FloatArray:
        """The unpriced costs of the label at the members of quota q, +inf where it is forbidden."""
        costs: FloatArray = self._unpriced[self._at[self._start[q] : self._start[q + 1]]]
        return costs

    def set_prices(self, prices: FloatArray) -> None:
        """Let the moves to come see `prices` [Q]."""
        self._costs[self._at] = self._unpriced[self._at]
        np.subtract.at(self._costs, self._at, prices[self.owner])

    def dual_value(self, prices: FloatArray, labels: IntArray, energy: float) -> float:
        """D(μ), if `labels` of that energy are the minimum at `prices`."""
        matches = self.matches(labels)
        charged = self.penalties[matches < self.counts].sum()
        constant = np.minimum(self.penalties, prices * self.counts).sum()
        return float(energy - charged - (prices * matches).sum() + constant)
