"""Hard terms on the superpixels of an image: label cost, size prior and connectivity.

The graph is irregular: a region is a patch of about 36 superpixels that are near each other, and
its clique's parameters hold the edges inside it.
"""

from __future__ import annotations

import math

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Custom
from policrf.scenes.families import REGION
from policrf.types import FloatArray, IntArray

SUPERPIXELS: dict[str, str] = {
    "superpixels": "On real images, labels have a price, a least size, and connected regions.",
}
"""Families that need data, and what each asks for."""

LABEL_PRICE = 8.0  # of every label that an image has


def add_region_terms(crf: CRF, edges: IntArray, positions: FloatArray) -> CRF:
    """The CRF with three more groups, all asked half-way.

    Parameters
    ----------
    crf
        Unaries and pairwise terms.
    edges
        Which superpixels touch, `[M, 2]`.
    positions
        Where they are, `[N, 2]`: x and y.
    """
    from policrf.scenes.family_functions import graph_connectivity, label_cost, small_labels

    everything = [np.arange(crf.n_nodes)]
    regions = patches(positions)
    inside = [local_edges(region, edges, crf.n_nodes) for region in regions]
    return CRF(
        crf.unary,
        *crf.potentials,
        Custom(everything, label_cost, [[LABEL_PRICE]], of="counts"),
        Custom(everything, small_labels, of="counts"),
        Custom(regions, graph_connectivity, inside, partial=graph_connectivity),
    )


def patches(positions: FloatArray) -> list[IntArray]:
    """Nodes in strips from top to bottom, each cut from left to right, about 36 in a patch."""
    n_nodes = len(positions)
    strips = max(1, round(math.sqrt(n_nodes / REGION)))
    found = []
    for strip in np.array_split(np.argsort(positions[:, 1], kind="stable"), strips):
        across = max(1, round(len(strip) / REGION))
        ordered = strip[np.argsort(positions[strip, 0], kind="stable")]
        found += [np.sort(patch) for patch in np.array_split(ordered, across) if len(patch)]
    return found


def local_edges(region: IntArray, edges: IntArray, n_nodes: int) -> FloatArray:
    """The edges inside a region, flat, by the places of their ends in it."""
    place = np.full(n_nodes, -1)
    place[region] = np.arange(len(region))
    ends = place[edges]
    return np.asarray(ends[(ends >= 0).all(axis=1)].reshape(-1), float)
