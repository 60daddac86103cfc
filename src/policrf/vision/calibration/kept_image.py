"""KeptImage: one image's quantities that no weight changes, computed once for all settings.

What comes out is the CRF of `build.to_instance`, without what only policies look at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Potential, Potts
from policrf.errors import InvalidInstance
from policrf.solvers import solve
from policrf.types import BoolArray, FloatArray, IntArray
from policrf.vision.calibration.scores import label_counts
from policrf.vision.calibration.stages import terms_of
from policrf.vision.energy.band import NO_EDGES, WeightedEdges, free_nodes, pinned
from policrf.vision.energy.build import (
    agreement,
    box_members,
    contrast,
    gated,
    long_range,
    support,
    unary,
)
from policrf.vision.energy.node_features import edge_weights
from policrf.vision.energy.weights import Energy
from policrf.vision.record import Record

Kept = TypeVar("Kept")
LEAST_WEIGHT = 1e-9  # as in `build.weighted_edges`


class Labeled(NamedTuple):
    """Labels `[N]`, and which solver they are from."""

    labels: IntArray
    solver: str


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
        self._kept: dict[tuple[Any, ...], Any] = {}

    def crf(self, energy: Energy) -> CRF:
        """The CRF of one energy."""
        costs, edges = self._unaries(energy), self._edges(energy)
        if energy.band > 0:
            best, free = self._band(energy, costs)
            costs, edges = pinned(costs, edges, best, free)
        groups: list[Potential] = [Potts(*edges)]
        if energy.w > 0 or energy.lambda_ > 0:
            key = "members", energy.foreground
            members = self._once(key, lambda: box_members(self.record, energy.foreground))
            groups += agreement(self.record, members, energy)
            groups += support(self.record, members, energy)
        return CRF(costs, *groups)

    def solved(self, energy: Energy, solver: str, seed: int) -> Labeled:
        """A solver's labels."""
        if terms_of(energy):
            solution = solve(self.crf(energy), solver, seed=seed)
            return Labeled(solution.labels, solution.solver)
        return Labeled(self._unaries(energy).argmin(axis=1), "unary")

    def counts(self, labels: IntArray) -> IntArray:
        """Hits and predicted pixels of labels `[N]`, `[2, L]`."""
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
        key = "unary", energy.unary, energy.floor
        return self._once(key, lambda: unary(self.record, energy))

    def _band(self, energy: Energy, costs: FloatArray) -> tuple[IntArray, BoolArray]:
        """The best label of every single node, and which nodes are variables."""
        key = "band", energy.unary, energy.floor, energy.band, energy.unsure

        def band() -> tuple[IntArray, BoolArray]:
            best = costs.argmin(axis=1)
            return best, free_nodes(self.record, best, energy)

        return self._once(key, band)

    def _edges(self, energy: Energy) -> WeightedEdges:
        """As `build.weighted_edges`."""
        if energy.alpha == energy.long_range == 0:
            return NO_EDGES
        edges, weights = self.record.edges.astype(np.int64), energy.alpha * self._local(energy)
        if energy.long_range > 0 and len(self.record.far_edges):
            far = energy.long_range * self._far(energy)
            edges, at = self._once(("pairs",), self._pairs)
            weights = np.bincount(at, np.concatenate([weights, far])).astype(np.float64)
        chosen = weights > LEAST_WEIGHT
        return WeightedEdges(edges[chosen], weights[chosen])

    def _local(self, energy: Energy) -> FloatArray:
        if energy.gate != "contrast":
            return gated(self.record, energy)
        key = "contrast", energy.sigma_colour, energy.sigma_feature
        return self._once(key, lambda: contrast(self.record, energy))

    def _far(self, energy: Energy) -> FloatArray:
        key = "far", energy.reach, energy.sigma_far
        return self._once(key, lambda: long_range(self.record, energy))

    def _pairs(self) -> tuple[IntArray, IntArray]:
        """All pairs of nodes with an edge, once, and where each edge is among them."""
        record = self.record
        edges = np.concatenate([record.edges, record.far_edges]).astype(np.int64)
        keys, at = np.unique(edges[:, 0] * record.n_nodes + edges[:, 1], return_inverse=True)
        return np.stack(np.divmod(keys, record.n_nodes), axis=1), at

    def _once(self, key: tuple[Any, ...], make: Callable[[], Kept]) -> Kept:
        if key not in self._kept:
            self._kept[key] = make()
        kept: Kept = self._kept[key]
        return kept
