"""KeptImage: one image's quantities that no weight changes, computed once for all settings.

What comes out is the CRF of `build.to_instance`, without what only policies look at.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Potential, Potts
from policrf.errors import InvalidInstance
from policrf.solvers import solve
from policrf.types import FloatArray, IntArray
from policrf.vision.build import agreement, box_members, contrast, pairwise, support, unary
from policrf.vision.calibration.scores import label_counts
from policrf.vision.calibration.stages import terms_of
from policrf.vision.energy_weights import Energy
from policrf.vision.node_features import Members, edge_weights
from policrf.vision.record import Record


class KeptImage:
    """A record with truth, and what was computed from it."""

    def __init__(self, record: Record, where: str) -> None:
        if record.truth is None:
            raise InvalidInstance(
                f"{where}: {record.name} has no truth, and calibration needs it; "
                "prepare a data set with masks"
            )
        self.record = replace(record, appearance=np.zeros((record.n_nodes, 0), np.float32))
        self.truth: IntArray = record.truth
        self._unary: dict[float, FloatArray] = {}
        self._contrast: dict[tuple[float, float], FloatArray] = {}
        self._members: dict[float, Members] = {}

    def crf(self, energy: Energy) -> CRF:
        """The CRF of one energy."""
        groups: list[Potential] = []
        if energy.alpha > 0:
            groups.append(self._pairwise(energy))
        if energy.w > 0 or energy.lambda_ > 0:
            members = self._boxes(energy.foreground)
            groups += agreement(self.record, members, energy)
            groups += support(self.record, members, energy)
        return CRF(self._unaries(energy), *groups)

    def counts(self, energy: Energy, solver: str, seed: int) -> IntArray:
        """Hits and predicted pixels of a solver's labels, `[2, L]`."""
        if terms_of(energy):
            labels = solve(self.crf(energy), solver, seed=seed).labels
        else:
            labels = self._unaries(energy).argmin(axis=1)
        return label_counts(self.truth, labels)

    def averaged_counts(self, temperature: float) -> IntArray:
        """The same of distributions averaged over neighbours with a temperature's weights."""
        record = self.record
        first, second = record.edges[:, 0], record.edges[:, 1]
        weights = edge_weights(record, temperature)
        mixed = record.distribution.astype(np.float64)
        np.add.at(mixed, first, weights[:, :1] * record.distribution[second])
        np.add.at(mixed, second, weights[:, 1:] * record.distribution[first])
        return label_counts(self.truth, mixed.argmax(axis=1))

    def _unaries(self, energy: Energy) -> FloatArray:
        if energy.floor not in self._unary:
            self._unary[energy.floor] = unary(self.record, energy)
        return self._unary[energy.floor]

    def _pairwise(self, energy: Energy) -> Potts:
        if energy.gate != "contrast":
            return pairwise(self.record, energy)
        key = energy.sigma_colour, energy.sigma_feature
        if key not in self._contrast:
            self._contrast[key] = contrast(self.record, energy)
        weights = energy.alpha * self._contrast[key]
        chosen = weights > 1e-9
        return Potts(self.record.edges[chosen].astype(np.int64), weights[chosen])

    def _boxes(self, foreground: float) -> Members:
        if foreground not in self._members:
            self._members[foreground] = box_members(self.record, foreground)
        return self._members[foreground]
