"""Where the nodes of an instance are drawn: on a map of pixels, or as a graph.

A map tells the node of every pixel: superpixels of a photo, or, for nodes that only have a
position, the nearest node. Without positions the graph itself is laid out (Fruchterman and Reingold
1991): neighbours attract, all nodes repel each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from policrf.crf.instance import Instance
from policrf.plots.mosaic import Mosaic
from policrf.types import FloatArray, IntArray, LabelMap, Pixels

LARGEST_SIDE = 640  # pixels of a map: more is not seen, and takes space
MOSAIC_WIDTH = 560
SPREAD_NODES = 1500  # up to here all pairs of nodes repel each other; above, a sample
ROUNDS = 120


@dataclass(frozen=True, eq=False)
class Drawing:
    """A map `[H, W]` of node numbers with its photo, or positions `[N, 2]` in the unit square."""

    nodes: LabelMap | None = None
    photo: Pixels | None = None
    positions: FloatArray | None = None


def draw_image(segments: LabelMap, photo: Pixels) -> Drawing:
    """Superpixels of a photo, both `[H, W]`, at a size that a page can hold."""
    step = -(-max(segments.shape) // LARGEST_SIDE)
    return Drawing(nodes=segments[::step, ::step], photo=photo[::step, ::step])


def draw_instance(instance: Instance) -> Drawing:
    """By the positions of the nodes, or by the graph where they have none."""
    if instance.positions is not None and len(np.unique(instance.positions, axis=0)) > 1:
        return Drawing(nodes=np.asarray(Mosaic(instance, MOSAIC_WIDTH).nearest, np.int32))
    return Drawing(positions=lay_out(instance.crf.n_nodes, np.asarray(instance.edges)))


def lay_out(n_nodes: int, edges: IntArray) -> FloatArray:
    """Positions `[N, 2]` in the unit square; the same for the same graph."""
    generator = np.random.default_rng(0)
    at = generator.random((n_nodes, 2))
    if n_nodes < 2:
        return np.full((n_nodes, 2), 0.5)
    length = 1.0 / np.sqrt(n_nodes)
    for round in range(ROUNDS):
        push = _repulsion(at, length, generator)
        if len(edges):
            along = at[edges[:, 0]] - at[edges[:, 1]]
            pull = along * (np.linalg.norm(along, axis=1, keepdims=True) / length)
            np.subtract.at(push, edges[:, 0], pull)
            np.add.at(push, edges[:, 1], pull)
        size = np.maximum(np.linalg.norm(push, axis=1, keepdims=True), 1e-12)
        at += push / size * np.minimum(size, 0.1 * (1 - round / ROUNDS))
    return _packed(at, edges)


def _repulsion(at: FloatArray, length: float, generator: np.random.Generator) -> FloatArray:
    """length² / distance away from every other node; from a sample of them where they are many."""
    others, factor = at, 1.0
    if len(at) > SPREAD_NODES:
        others = at[generator.choice(len(at), 300, replace=False)]
        factor = len(at) / 300
    away = at[:, None] - others[None]
    square = np.maximum((away**2).sum(axis=2, keepdims=True), 1e-9)
    return np.asarray(factor * length**2 * (away / square).sum(axis=1))


def _packed(at: FloatArray, edges: IntArray) -> FloatArray:
    """Connected parts on shelves, the largest first, each in a square of its size's root."""
    n_nodes = len(at)
    pairs = (np.ones(len(edges)), (edges[:, 0], edges[:, 1]))
    part = connected_components(coo_array(pairs, shape=(n_nodes, n_nodes)), directed=False)[1]
    sizes = np.bincount(part)
    sides = np.sqrt(sizes) + 0.5
    wide = max(float(sides.max()), float(np.sqrt((sides**2).sum())))
    out, x, y, shelf = np.empty_like(at), 0.0, 0.0, 0.0
    for p in np.argsort(-sizes, kind="stable"):
        if x + sides[p] > wide + 1e-9:
            x, y, shelf = 0.0, y + shelf, 0.0
        own, side = at[part == p], float(sides[p])
        low, span = own.min(axis=0), np.maximum(np.ptp(own, axis=0), 1e-9)
        inside = (own - low) / span if len(own) > 1 else np.full((1, 2), 0.5)
        out[part == p] = np.array([x, y]) + side * (0.04 + 0.92 * inside)
        x, shelf = x + side, max(shelf, side)
    return np.asarray(out / np.array([wide, max(y + shelf, wide / 2)]))
