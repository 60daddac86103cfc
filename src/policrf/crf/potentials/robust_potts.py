"""Robust P^n Potts (Kohli, Ladicky and Torr, CVPR 2008): most of a clique should agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policrf.crf.checks import as_floats, frozen, per_clique, require_finite, require_label_axis
from policrf.crf.cliques import Cliques
from policrf.crf.potentials.base import DOMINANT, SUBSET, CliquePotential, Fields
from policrf.errors import InvalidPotential
from policrf.types import FloatArray, IntArray


class RobustPotts(CliquePotential):
    """min(γ, min over labels l of γ_l + (γ − γ_l) · N_l / Q), N_l = members with another label.

    Parameters
    ----------
    cliques
        The nodes of each clique.
    penalties
        γ, what a clique without a dominant label costs, `[C]` or one number; not negative.
    truncations
        Q, how many members may differ before the whole penalty is due, `[C]` or one number, above
        0. With 1 it is the P^n Potts model: γ as soon as one member differs.
    label_costs
        γ_l, what a clique of one label costs, `[L]` or one number, at most γ.

    >>> RobustPotts([[0, 1, 2]], 4.0, truncations=2)
    RobustPotts(1 cliques, sizes 3–3)
    """

    term = "robust_potts"
    short_name = "robust_potts"
    kind = DOMINANT

    def __init__(
        self, cliques: Any, penalties: ArrayLike, truncations: ArrayLike = 1.0,
        label_costs: ArrayLike = 0.0,
    ) -> None:  # fmt: skip
        self.cliques = Cliques(cliques, group=self.name)
        count = len(self.cliques)
        self.penalties: FloatArray = per_clique(self.name, "penalties", penalties, count)
        self.truncations: FloatArray = per_clique(self.name, "truncations", truncations, count)
        bad = np.flatnonzero(self.truncations <= 0)
        if bad.size:
            raise InvalidPotential(
                f"RobustPotts: truncations[{bad[0]}] is {self.truncations[bad[0]]}; it must be "
                "above 0"
            )
        self.label_costs: FloatArray = as_floats(self.name, "label_costs", label_costs)
        require_finite(self.name, "label_costs", np.atleast_1d(self.label_costs))
        if self.label_costs.ndim > 1:
            raise InvalidPotential(
                f"RobustPotts: label_costs has shape {self.label_costs.shape}; give one number or "
                "[L]"
            )
        self._check_costs()
        self._seal()

    def _check_costs(self) -> None:
        highest = float(self.label_costs.max(initial=-np.inf))
        bad = np.flatnonzero(self.penalties < max(highest, 0.0))
        if bad.size:
            raise InvalidPotential(
                f"RobustPotts: penalties[{bad[0]}] is {self.penalties[bad[0]]}; it must be at "
                f"least 0 and every label cost (up to {highest:g})"
            )

    def columns(self, n_labels: int) -> Fields:
        """γ as weight; Q and the label costs as data."""
        ones = np.ones(len(self), np.int64)
        data = np.empty((len(self), n_labels + 1))
        data[:, 0] = self.truncations
        data[:, 1:] = self.label_costs
        return {
            "weights": self.penalties,
            "partial": ones * SUBSET,
            "counted": ones,
            "data_sizes": ones * (n_labels + 1),
            "data": frozen(data.reshape(-1)),
        }

    def own_fields(self) -> Fields:
        """Penalties, truncations and label costs."""
        return {
            "penalties": self.penalties,
            "truncations": self.truncations,
            "label_costs": self.label_costs,
        }

    def check(self, n_nodes: int, cardinalities: IntArray) -> None:
        """Refuse nodes and labels that the CRF does not have."""
        self.cliques.require_nodes_below(n_nodes, self.name)
        if self.label_costs.ndim:
            n_labels = int(cardinalities.max())
            require_label_axis(self.name, "label_costs", len(self.label_costs), n_labels)
