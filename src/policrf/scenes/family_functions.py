"""The functions of the families of hard potentials (`families.py`), compiled.

Functions of counts get how many labeled members of the clique have each label, int64 `[L]`; the
others get labels in the clique's order. All can be asked about a part of a clique.
"""

from __future__ import annotations

import math

import numpy as np

from policrf.compiled import kernel
from policrf.types import FloatArray, IntArray

HIDDEN = 8  # units of the random network
ROUNDS = 150  # of the black box's simulation


@kernel
def two_labels(counts: IntArray, parameters: FloatArray) -> float:
    """5 for every label beyond the second."""
    present = 0
    for count in counts:
        present += count > 0
    return 5.0 * max(0, present - 2)


@kernel
def absent_or_many(counts: IntArray, parameters: FloatArray) -> float:
    """4 for every label that is there fewer than `parameters[0]` times, but is there."""
    short = 0
    for count in counts:
        short += 0 < count < parameters[0]
    return 4.0 * short


@kernel
def label_cost(counts: IntArray, parameters: FloatArray) -> float:
    """A price for every label that is used; `parameters` is `[price]`."""
    present = 0
    for count in counts:
        present += count > 0
    return float(parameters[0] * present)


@kernel
def co_occurrence(counts: IntArray, parameters: FloatArray) -> float:
    """The price of every pair of labels that are both there; `parameters` is the table `[L, L]`."""
    total, n_labels = 0.0, len(counts)
    for a in range(n_labels):
        if counts[a] > 0:
            for b in range(a):
                if counts[b] > 0:
                    total += parameters[a * n_labels + b]
    return total


@kernel
def size_prior(counts: IntArray, parameters: FloatArray) -> float:
    """Every label should have none, a third or all of the `parameters[0]` members."""
    size, total = int(parameters[0]), 0.0
    for count in counts:
        off = min(count, abs(count - size // 3), abs(count - size))
        total += min(4.0, 0.7 * off)
    return total


@kernel
def parity(counts: IntArray, parameters: FloatArray) -> float:
    """1.5 for every label with an odd number of members."""
    odd = 0
    for count in counts:
        odd += count % 2
    return 1.5 * odd


@kernel
def random_network(counts: IntArray, parameters: FloatArray) -> float:
    """A network of one layer on the shares of the labels; weights `[L + 2, HIDDEN]`."""
    n_labels, labeled = len(counts), counts.sum()
    if labeled == 0:
        return 0.0
    total = 0.0
    for unit in range(HIDDEN):
        z = parameters[n_labels * HIDDEN + unit]
        for label in range(n_labels):
            z += counts[label] / labeled * parameters[label * HIDDEN + unit]
        total += parameters[(n_labels + 1) * HIDDEN + unit] * z / (1.0 + abs(z))
    return 20.0 * total


@kernel
def order(labels: IntArray, parameters: FloatArray) -> float:
    """1 for every pair in which the earlier member has the larger label, 15 at most."""
    inverted = 0
    for b in range(len(labels)):
        for a in range(b):
            inverted += labels[a] > labels[b]
    return float(min(15, inverted))


@kernel
def connectivity(labels: IntArray, parameters: FloatArray) -> float:
    """1 for every part of a label beyond its first.

    The members are a rectangle, row by row, of `parameters[0]` columns. Members without a label
    (−1) may still join two parts, and count as ground of every label.
    """
    size, columns, extra = len(labels), int(parameters[0]), 0
    seen, stack = np.empty(size, np.bool_), np.empty(size, np.int64)
    for label in range(labels.max() + 1):
        seen[:] = False
        parts = 0
        for first in range(size):
            if labels[first] != label or seen[first]:
                continue
            parts += 1
            seen[first] = True
            stack[0], height = first, 1
            while height:
                height -= 1
                at = stack[height]
                for side in range(4):
                    to = neighbour(at, side, columns, size)
                    if to >= 0 and not seen[to] and (labels[to] == label or labels[to] < 0):
                        seen[to] = True
                        stack[height] = to
                        height += 1
        extra += max(0, parts - 1)
    return float(extra)


@kernel
def neighbour(at: int, side: int, columns: int, size: int) -> int:
    """The cell left (0), right (1), above (2) or below (3) of `at` in the rectangle; −1: none."""
    if side == 0:
        return at - 1 if at % columns else -1
    if side == 1:
        return at + 1 if (at + 1) % columns and at + 1 < size else -1
    if side == 2:
        return at - columns if at >= columns else -1
    return at + columns if at + columns < size else -1


@kernel
def black_box(labels: IntArray, parameters: FloatArray) -> float:
    """What a simulation says: heat that spreads along the members, some 10 µs for 36 of them.

    `parameters[0]` is the number of labels; each is a temperature between 0 and 1.
    """
    size = len(labels)
    heat, after = np.empty(size), np.empty(size)
    for m in range(size):
        heat[m] = (labels[m] + 0.5) / parameters[0]
    for _ in range(ROUNDS):
        for m in range(size):
            beside = heat[max(m - 1, 0)] + heat[min(m + 1, size - 1)] - 2.0 * heat[m]
            after[m] = heat[m] + 0.2 * beside + 0.02 * heat[m] * (1.0 - heat[m]) * (heat[m] - 0.5)
        heat, after = after, heat
    total = 0.0
    for m in range(size):
        total += 1.0 + math.cos(4.0 * math.pi * heat[m])
    return 10.0 * total / size


@kernel
def small_labels(counts: IntArray, parameters: FloatArray) -> float:
    """Half for every node that a label, where it is used, lacks to 12."""
    total = 0.0
    for count in counts:
        if 0 < count < 12:
            total += 0.5 * (12 - count)
    return total


@kernel
def graph_connectivity(labels: IntArray, parameters: FloatArray) -> float:
    """2 for every part of a label beyond its first; `parameters` are the edges, `[2 · M]`.

    As in `connectivity`, members without a label (−1) count as ground of every label.
    """
    size, extra = len(labels), 0
    root = np.empty(size, np.int64)
    for label in range(labels.max() + 1):
        parts = 0
        for m in range(size):
            root[m] = m
            parts += labels[m] == label
        if parts < 2:
            continue
        for e in range(0, len(parameters), 2):
            a, b = int(parameters[e]), int(parameters[e + 1])
            if labels[a] in (label, -1) and labels[b] in (label, -1):
                a, b = find_root(root, a), find_root(root, b)
                if a != b:
                    # Trees are rooted at a node of the label, if they have one.
                    if labels[a] == label:
                        parts -= labels[b] == label
                        root[b] = a
                    else:
                        root[a] = b
        extra += parts - 1
    return 2.0 * extra


@kernel
def find_root(root: IntArray, at: int) -> int:
    """The root of a node's tree; paths are halved on the way."""
    while root[at] != at:
        root[at] = root[root[at]]
        at = root[at]
    return at
