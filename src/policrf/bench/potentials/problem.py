"""The CRF of a task, in the ways it may be asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path

import numba
import numpy as np

from policrf.bench.potentials.grid import PotentialGrid
from policrf.crf.instance import Instance
from policrf.crf.model import CRF
from policrf.crf.potentials import Custom, Potential
from policrf.datasets.sources import load_instances
from policrf.errors import InvalidFile
from policrf.scenes import FAMILIES, make_family
from policrf.scenes.superpixel_terms import add_region_terms
from policrf.solvers.refine.refine_start import known_groups
from policrf.types import FloatArray, IntArray

FIRST_SEED = 1000  # seeds of training and tuning are lower
# Prices of labels and sizes are for superpixels, so these count alike, whatever their pixels.
BY_NODE = {"unary": "mean", "alpha": 0.1, "sigma_colour": 10.0, "long_range": 0.0, "band": 0}
MANY_LABELS = 3  # an image is taken if its unaries have as many


class Problem:
    """A CRF that may be asked half-way, and the same one that is asked when complete."""

    def __init__(self, crf: CRF) -> None:
        self.crf = crf

    @cached_property
    def complete(self) -> CRF:
        """The same energy; its custom functions are called on complete cliques only."""
        groups = [_complete(group, self.crf.n_labels) for group in self.crf.potentials]
        return CRF(self.crf.unary, *groups)

    @cached_property
    def known(self) -> CRF:
        """Without the groups of which only values are known, as a user of cuts would have it."""
        return CRF(self.crf.unary, *known_groups(self.crf))


def make_problem(grid: PotentialGrid, family: str, size: int, seed: int) -> Problem:
    """The CRF of a family, size and seed; the same one for the same arguments."""
    if family in FAMILIES:
        return Problem(make_family(family, size, grid.labels, seed=FIRST_SEED + seed))
    assert grid.data is not None
    images = _images(grid.data, grid.energy)
    if seed >= len(images):
        raise InvalidFile(
            f"{grid.data}: {len(images)} images have {MANY_LABELS} labels or more, and --seeds "
            f"asks for {seed + 1}; prepare more images, or give fewer seeds"
        )
    return Problem(superpixel_crf(images[seed]))


def small_problem(family: str, n_labels: int) -> Problem:
    """A CRF of 64 nodes with the family's functions, to load kernels with; needs no data."""
    if family in FAMILIES:
        return Problem(make_family(family, 64, n_labels))
    plain = make_family("parity", 64, n_labels)
    rows, columns = np.divmod(np.arange(64), 8)
    positions = np.stack([columns, rows], 1).astype(float)
    pairs = plain.potentials[0]
    return Problem(add_region_terms(CRF(plain.unary, pairs), plain.arrays.edges, positions))


def superpixel_crf(image: Instance) -> CRF:
    """The image's unaries and pairs, with label cost, size prior and connectivity."""
    assert image.positions is not None
    return add_region_terms(image.crf, image.edges, np.asarray(image.positions, float))


@lru_cache(maxsize=2)
def _images(folder: Path, energy: Path | None) -> list[Instance]:
    """Those images in which the labels are in question: three or more in their unaries."""
    from policrf.vision.energy.weights import Energy

    weights = Energy.load(energy) if energy is not None else Energy.from_dict(BY_NODE)
    found = load_instances(folder, energy=weights, potentials="u+p")
    return [
        image for image in found if len(np.unique(image.crf.unary.argmin(axis=1))) >= MANY_LABELS
    ]


def _complete(group: Potential, n_labels: int) -> Potential:
    if not isinstance(group, Custom):
        return group
    function = group.function
    if group.form == "counts":
        function = _of_labels(function, n_labels)
    ends = group.parameter_ptr[1:-1]
    parameters = np.split(group.parameters, ends) if len(group) else None
    return Custom(list(group), function, parameters, partial="complete", name=group.function_name)


@lru_cache(maxsize=64)
def _of_labels(
    function: Callable[[IntArray, FloatArray], float], n_labels: int
) -> Callable[[IntArray, FloatArray], float]:
    """A function of counts as one of labels: what people write without `of="counts"`."""

    def of_labels(labels: IntArray, parameters: FloatArray) -> float:
        counts = np.zeros(n_labels, np.int64)
        for label in labels:
            counts[label] += 1
        return function(counts, parameters)

    compiled: Callable[[IntArray, FloatArray], float] = numba.njit()(of_labels)
    return compiled
