"""HOP2: λ_b [#{i ∈ I_b : y_i = l_b} < count_b], the paper's quota (section "Energy Function")."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import (
    as_integers,
    per_clique,
    require_at_least_zero,
    require_labels_in_range,
)
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import SUPPORT, CliquePotential, Fields
from policrf.crf.potentials.box_agreement import box_labels
from policrf.types import FloatArray, IntArray


class BoxSupport(CliquePotential):
    """HOP2: a penalty unless at least `counts` nodes of the clique have the label.

    Parameters
    ----------
    cliques
        The nodes I_b of each box: sequences of any lengths, or another form that `Cliques`
        takes.
    labels
        The wanted label, `[B]`.
    penalties
        λ_b, `[B]` or one number; not negative.
    counts
        |I_b| / C, `[B]` or one number; a fraction is rounded up, which changes nothing, since the
        number of nodes with the label is whole. A count above the clique's size is always
        penalised.
    partial
        What it says while members are unlabeled: "complete": nothing; "lowest": the penalty as soon
        as the count cannot be reached any more.

    >>> BoxSupport([[0, 1, 2]], labels=[4], penalties=10.0, counts=1.5).counts.tolist()
    [2]
    """

    term = "hop2"
    short_name = "hop2"
    kind = SUPPORT

    def __init__(
        self,
        cliques: Any,
        labels: ArrayLike,
        penalties: ArrayLike,
        counts: ArrayLike,
        partial: str = "complete",
    ) -> None:
        self.cliques = Cliques(cliques, group=self.name)
        self.labels: IntArray = box_labels(self.name, labels, len(self.cliques))
        self.penalties: FloatArray = per_clique(
            self.name, "penalties", penalties, len(self.cliques)
        )
        require_at_least_zero(self.name, "penalties", self.penalties)
        wanted = per_clique(self.name, "counts", counts, len(self.cliques))
        require_at_least_zero(self.name, "counts", wanted)
        self.counts: IntArray = as_integers(self.name, "counts", np.ceil(wanted))
        self._set_partial(partial)
        self._seal()

    def columns(self, n_labels: int) -> Fields:
        """Labels, quotas, and the penalties as weights."""
        return {
            "labels": self.labels,
            "weights": self.penalties,
            "counts": self.counts,
            "partial": self._partial_column(),
        }

    def own_fields(self) -> Fields:
        """Labels, penalties and quotas."""
        return {"labels": self.labels, "penalties": self.penalties, "counts": self.counts}

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes and labels that the CRF does not have."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        require_labels_in_range(self.name, self.labels, int(cardinalities.max()))
