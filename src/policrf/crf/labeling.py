"""A labeling that changes one node at a time, with its partial energy kept up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf import changes
from policrf.crf.energy import label_costs
from policrf.crf.state import new_state, total_energy
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.errors import InvalidLabeling
from policrf.types import FloatArray, IntArray

if TYPE_CHECKING:
    from policrf.crf.model import CRF


class Labeling:
    """Incremental view of `CRF` for interactive use; solvers call the kernels directly.

    >>> import policrf as pc
    >>> y = pc.CRF([[0.0, 1.0], [1.0, 0.0]], pc.Potts([[0, 1]], 0.5)).labeling()
    >>> y.assign(0, 0), y.assign(1, 1), y.energy
    (0.0, 0.5, 0.5)
    >>> y.costs(1).tolist()
    [1.0, 0.5]
    """

    def __init__(self, crf: CRF, labels: ArrayLike | None = None) -> None:
        self.crf = crf
        self.state = new_state(crf.arrays)
        if labels is not None:
            changes.load_labels(crf.arrays, self.state, crf.checked_labels(labels, partial=True))
            raise_if_failed()

    @property
    def labels(self) -> IntArray:
        """A copy of the labels `[N]`, −1 where unlabeled."""
        return self.state.labels.copy()

    @property
    def energy(self) -> float:
        """E_t: the energy of the terms whose nodes are all labeled; O(1)."""
        return total_energy(self.state)

    def assign(self, node: int, label: int) -> float:
        """Label or relabel a node; returns the change in energy when it was unlabeled before."""
        self._check(node, label)
        if self.state.labels[node] >= 0:
            changes.unassign(self.crf.arrays, self.state, node)
        added = changes.assign(self.crf.arrays, self.state, node, label)
        raise_if_failed()
        return float(added)

    def unassign(self, node: int) -> None:
        """Take a node's label away."""
        self._check(node, 0)
        if self.state.labels[node] >= 0:
            changes.unassign(self.crf.arrays, self.state, node)
            raise_if_failed()

    def costs(self, node: int) -> FloatArray:
        """The energy of the node's own terms for each of its labels `[L]`, given the rest."""
        self._check(node, 0)
        out = np.empty(self.crf.n_labels)
        label_costs(self.crf.arrays, self.state, node, out)
        raise_if_failed()
        return out

    def _check(self, node: int, label: int) -> None:
        if not 0 <= node < self.crf.n_nodes:
            raise InvalidLabeling(f"node {node} is outside 0 … {self.crf.n_nodes - 1}")
        if not 0 <= label < self.crf.cardinalities[node]:
            raise InvalidLabeling(
                f"label {label} of node {node} is outside 0 … {self.crf.cardinalities[node] - 1}"
            )
