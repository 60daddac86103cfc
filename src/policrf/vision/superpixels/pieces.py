"""Connected pieces of a map of numbers, and small pieces joined to their neighbours.

Pieces are 4-connected and numbered by the first of their pixels, row by row. A piece below a number
of pixels joins the neighbour with which it shares the longest border, of its own label if there is
one. So a joined piece holds at most one that was large enough, and that one gives it its label.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import inner, inner_kernel, kernel
from policrf.types import IntArray
from policrf.vision.superpixels.adjacency import adjacency

Int32Array = NDArray[np.int32]


class Pieces(NamedTuple):
    """A map of connected pieces."""

    segments: Int32Array
    """The piece of every pixel, `[H, W]`, 0 … N−1."""
    labels: Int32Array
    """`[N]`; the label of each: of all its pixels, except those that came by joining."""


def connected_pieces(segments: Int32Array, labels: Int32Array) -> Pieces:
    """Connected pieces of pixels with equal number and equal label, both `[H, W]`.

    >>> connected_pieces(np.asarray([[0, 0, 1, 0]], np.int32), np.zeros((1, 4), np.int32)).segments
    array([[0, 0, 1, 2]], dtype=int32)
    """
    found, count = _components(segments, labels)
    of_piece = np.zeros(count, np.int32)
    of_piece[found.reshape(-1)] = labels.reshape(-1)
    return Pieces(found, of_piece)


def join_small(pieces: Pieces, smallest: int) -> Pieces:
    """Join pieces until each has `smallest` pixels, or is all there is."""
    while True:
        sizes = np.bincount(pieces.segments.reshape(-1))
        if sizes.min() >= smallest or len(sizes) == 1:
            return pieces
        border = adjacency(pieces.segments)
        number, roots = _join(
            border.edges.astype(np.int64), border.length.astype(np.int64), sizes.astype(np.int64),
            pieces.labels, smallest,
        )  # fmt: skip
        pieces = Pieces(number[pieces.segments], pieces.labels[roots])


@inner
def _root(parent: IntArray, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@inner_kernel
def _numbered(parent: IntArray) -> tuple[Int32Array, IntArray]:
    """The number of every element's set, by first occurrence, and the roots of the sets."""
    number, roots, count = np.full(len(parent), -1, np.int32), np.empty(len(parent), np.int64), 0
    for i in range(len(parent)):
        root = _root(parent, i)
        if number[root] < 0:
            number[root] = count
            roots[count] = root
            count += 1
        number[i] = number[root]
    return number, roots[:count]


@kernel
def _components(segments: Int32Array, labels: Int32Array) -> tuple[Int32Array, int]:
    height, width = segments.shape
    parent = np.arange(height * width)
    for y in range(height):
        for x in range(width):
            at, segment, label = y * width + x, segments[y, x], labels[y, x]
            if x > 0 and segments[y, x - 1] == segment and labels[y, x - 1] == label:
                parent[at] = parent[at - 1]
            if y > 0 and segments[y - 1, x] == segment and labels[y - 1, x] == label:
                here, above = _root(parent, at), _root(parent, at - width)
                parent[max(here, above)] = min(here, above)
    number, roots = _numbered(parent)
    return number.reshape(height, width), len(roots)


@kernel
def _join(
    edges: IntArray, length: IntArray, sizes: IntArray, labels: Int32Array, smallest: int
) -> tuple[Int32Array, IntArray]:
    """One round: the new number of every piece, and which old piece each new one takes after."""
    count = len(sizes)
    parent = np.arange(count)
    border, wanted = np.full(count, -1), np.full(count, -1)
    for e in range(len(edges)):
        for end in range(2):
            i, j = edges[e, end], edges[e, 1 - end]
            # A label in common counts more than any border.
            value = length[e] + ((1 << 40) if labels[i] == labels[j] else 0)
            if value > border[i]:
                border[i], wanted[i] = value, j
    grown = sizes.copy()
    for i in np.argsort(sizes, kind="mergesort"):
        if sizes[i] >= smallest:
            break
        here, there = _root(parent, i), _root(parent, wanted[i])
        if here != there and grown[here] < smallest:
            parent[here] = there
            grown[there] += grown[here]
    return _numbered(parent)
