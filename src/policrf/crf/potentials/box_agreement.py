"""HOP1: w_b · min(#{y_i = l_b}, #{y_i ≠ l_b}) over a box's superpixels (section "Energy Function").

The paper's auxiliary z_b (is the detection valid?) is minimised out: z_b = 1 charges every node
that differs from the box's label, z_b = 0 every node that has it, and the cheaper of the two is
taken.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from policrf.crf.checks import (
    as_integers,
    per_clique,
    require_at_least_zero,
    require_labels_in_range,
)
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import AGREE, CliquePotential, Fields
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class BoxAgreement(CliquePotential):
    """HOP1: the nodes of a clique should all have the box's label, or none of them.

    Parameters
    ----------
    cliques
        The nodes I_b of each box, ragged (see `Cliques`).
    labels
        The box's label l_b, `[B]`.
    weights
        w_b · c_b, `[B]` or one number; not negative.
    partial
        What it says while members are unlabeled: "complete": nothing; "lowest": the least it can
        still come to, w_b · min of the labeled members with the label and of those without.

    >>> BoxAgreement([[0, 1, 2]], labels=[4], weights=[0.5])
    BoxAgreement(1 cliques, sizes 3–3)
    """

    term = "hop1"
    short_name = "hop1"
    kind = AGREE

    def __init__(
        self, cliques: Any, labels: ArrayLike, weights: ArrayLike, partial: str = "complete"
    ) -> None:
        self.cliques = Cliques(cliques, group=self.name)
        self.labels: IntArray = box_labels(self.name, labels, len(self.cliques))
        self.weights: FloatArray = per_clique(self.name, "weights", weights, len(self.cliques))
        require_at_least_zero(self.name, "weights", self.weights)
        self._set_partial(partial)
        self._seal()

    def columns(self, n_labels: int) -> Fields:
        """Labels and weights."""
        partial = self._partial_column()
        return {"labels": self.labels, "weights": self.weights, "partial": partial}

    def own_fields(self) -> Fields:
        """Labels and weights."""
        return {"labels": self.labels, "weights": self.weights}

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes and labels that the CRF does not have."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        require_labels_in_range(self.name, self.labels, int(cardinalities.max()))


def box_labels(group: str, labels: ArrayLike, count: int) -> IntArray:
    """One integer label a box."""
    array = as_integers(group, "labels", labels)
    if array.shape != (count,):
        raise InvalidPotential(
            f"{group}: labels has shape {array.shape}, but there are {count} cliques"
        )
    return array
