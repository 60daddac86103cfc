"""Dead-end elimination (Desmet 1992, Goldstein 1994): labels that some optimum does without.

Label a of node i may go if another label b of i is never worse, whatever the other nodes do:

    f_i(a) − f_i(b) + Σ over terms of i of  min over the others' labels of  f(a, ·) − f(b, ·)  ≥  0.

Labels go one at a time, and b stays, so a minimum is always left. For Potts and counting terms the
minimum is a sum of a part that depends on a and one that depends on b; tables need it pair by pair.
The whole state is the mask `alive` [N, L]; a node is fixed when one label is left to it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.checks import BoolArray, FloatArray, IntArray
from policrf.crf.potentials import AGREE, SUPPORT, TABLE
from policrf.solvers.run import Run

WORK = 5_000_000  # comparisons a kernel call makes, some 50 ms
TABLE_WORK = 1 << 22  # table entries times labels that a visit of one node may look at


def allowed_labels(unary: FloatArray) -> BoolArray:
    """The mask to start from, `[N, L]`: what the unaries do not forbid."""
    alive: BoolArray = np.isfinite(unary)
    return alive


def eliminate(run: Run, arrays: Arrays, alive: BoolArray) -> bool:
    """Remove labels from `alive` until none can go; False if a node loses its last one."""
    n_nodes = len(arrays.unary)
    dirty = np.ones(n_nodes, np.bool_)
    ranges = np.empty((len(arrays.clique_kind), 2), np.int64)
    match_ranges(arrays, alive, ranges)
    cuts = _equal_work(arrays)
    while dirty.any():
        for start, stop in pairwise(cuts):
            if run.expired():
                return True
            if not sweep(arrays, alive, dirty, ranges, start, stop):
                return False
    return True


def _equal_work(a: Arrays) -> list[int]:
    """Where to cut the nodes into slices of about the same work, from 0 to N."""
    n_nodes, n_labels = a.unary.shape
    table_size = np.diff(a.data_ptr)[a.node_clique] * (a.clique_kind[a.node_clique] == TABLE)
    owner = np.repeat(np.arange(n_nodes), np.diff(a.node_ptr))
    tables = np.bincount(owner, np.minimum(table_size * n_labels, TABLE_WORK), n_nodes)
    done = np.cumsum(tables + n_labels * (10 + np.diff(a.adj_ptr))) // WORK
    cuts: list[int] = (np.flatnonzero(np.diff(done)) + 1).tolist()
    return [0, *cuts, n_nodes]


@leaf
def match_ranges(a: Arrays, alive: BoolArray, ranges: IntArray) -> None:
    """Least and most members that can have the clique's label, into `ranges` [C, 2]."""
    for c in range(len(a.clique_kind)):
        ranges[c, 0] = ranges[c, 1] = 0
        if a.clique_kind[c] == AGREE or a.clique_kind[c] == SUPPORT:
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                i = a.clique_nodes[m]
                if alive[i, a.clique_label[c]]:
                    ranges[c, 1] += 1
                    ranges[c, 0] += count_alive(alive, i) == 1


@inner
def count_alive(alive: BoolArray, i: int) -> int:
    """Labels left to node i."""
    count = 0
    for label in range(alive.shape[1]):
        count += alive[i, label]
    return count


@inner
def only_label(alive: BoolArray, i: int) -> int:
    """The label of a fixed node, −1 of another."""
    found = -1
    for label in range(alive.shape[1]):
        if alive[i, label]:
            if found >= 0:
                return -1
            found = label
    return found


@kernel
def sweep(
    a: Arrays, alive: BoolArray, dirty: BoolArray, ranges: IntArray, start: int, stop: int
) -> bool:
    """Visit the dirty nodes of start … stop − 1; False if a node has no label left."""
    n_labels = a.unary.shape[1]
    lower, upper = np.empty(n_labels), np.empty(n_labels)
    pairs = np.empty((n_labels, n_labels))
    for i in range(start, stop):
        if not dirty[i]:
            continue
        dirty[i] = False
        if count_alive(alive, i) < 2:
            continue
        has_tables = advantage(a, alive, ranges, i, lower, upper, pairs)
        for label in range(n_labels):
            if alive[i, label] and dominated(alive, i, label, lower, upper, pairs, has_tables):
                remove_label(a, alive, ranges, dirty, i, label)
                if count_alive(alive, i) == 0:
                    return False
    return True


@inner
def dominated(
    alive: BoolArray, i: int, label: int, lower: FloatArray, upper: FloatArray,
    pairs: FloatArray, has_tables: bool,
) -> bool:  # fmt: skip
    """Whether some other label of node i is never worse than `label`, or `label` is impossible."""
    if lower[label] == np.inf:
        return True
    for other in range(len(lower)):
        if other != label and alive[i, other] and upper[other] < np.inf:
            difference = lower[label] - upper[other]
            if has_tables:
                difference += pairs[label, other]
            if difference >= 0:
                return True
    return False


@inner
def advantage(
    a: Arrays, alive: BoolArray, ranges: IntArray, i: int, lower: FloatArray, upper: FloatArray,
    pairs: FloatArray,
) -> bool:  # fmt: skip
    """Fill `lower` [L], `upper` [L] and `pairs` [L, L]; whether the last is needed.

    Replacing label a of node i by b saves at least lower[a] − upper[b] + pairs[a, b].
    """
    n_labels = a.unary.shape[1]
    for label in range(n_labels):
        lower[label] = upper[label] = a.unary[i, label]
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        j, weight = a.adj_node[k], a.adj_weight[k]
        fixed = only_label(alive, j)
        if fixed >= 0:
            lower[fixed] -= weight
            upper[fixed] -= weight
            continue
        for label in range(n_labels):
            if alive[j, label]:
                if weight > 0:
                    lower[label] -= weight
                else:
                    upper[label] -= weight
    has_tables = False
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        kind = a.clique_kind[c]
        if kind == AGREE or kind == SUPPORT:
            label = a.clique_label[c]
            if alive[i, label]:
                least, most = step_range(a, c, ranges[c, 0], ranges[c, 1] - 1)
                lower[label] += least
                upper[label] += most
        else:
            if not has_tables:
                pairs[:, :] = 0.0
                has_tables = True
            compare_table(a, alive, i, c, a.node_entry[k], lower, pairs)
    return has_tables


@inner
def step_range(a: Arrays, c: int, low: int, high: int) -> tuple[float, float]:
    """Least and largest f_c(m + 1) − f_c(m) for m = low … high."""
    weight = a.clique_weight[c]
    if a.clique_kind[c] == AGREE:
        # f_c is concave in the count, so its steps fall from +w to −w.
        size = a.clique_ptr[c + 1] - a.clique_ptr[c]
        first = weight * (min(low + 1, size - low - 1) - min(low, size - low))
        last = weight * (min(high + 1, size - high - 1) - min(high, size - high))
        return last, first
    edge = a.clique_count[c] - 1
    least = -weight if low <= edge <= high else 0.0
    most = -weight if low == edge == high else 0.0
    return least, most


@inner
def compare_table(
    a: Arrays, alive: BoolArray, i: int, c: int, entry: int, lower: FloatArray, pairs: FloatArray
) -> None:
    """Add the table's part of `pairs`; `lower` becomes +inf where it forbids a label altogether.

    A combination that label a forbids says nothing about replacing a; one that only b forbids rules
    out replacing a by b.
    """
    stride, labels = a.clique_stride[entry], a.cardinalities[i]
    size = a.data_ptr[c + 1] - a.data_ptr[c]
    compares = size * labels <= TABLE_WORK
    for first in range(labels):
        if not alive[i, first]:
            continue
        possible = False
        for second in range(labels):
            if second != first and not (alive[i, second] and compares):
                pairs[first, second] = -np.inf
                continue
            least = np.inf
            for block in range(0, size, stride * labels):
                for at in range(block + first * stride, block + (first + 1) * stride):
                    value = a.data[a.data_ptr[c] + at]
                    if value < np.inf and is_alive(a, alive, c, entry, at):
                        possible = True
                        other = a.data[a.data_ptr[c] + at + (second - first) * stride]
                        least = min(least, value - other)
            if second != first:
                pairs[first, second] += least
        if not possible:
            lower[first] = np.inf


@inner
def is_alive(a: Arrays, alive: BoolArray, c: int, entry: int, at: int) -> bool:
    """Whether the members of table c but that of `entry` still have the labels of place `at`."""
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        node = a.clique_nodes[m]
        label = (at // a.clique_stride[m]) % a.cardinalities[node]
        if m != entry and not alive[node, label]:
            return False
    return True


@inner
def remove_label(
    a: Arrays, alive: BoolArray, ranges: IntArray, dirty: BoolArray, i: int, label: int
) -> None:
    """Take the label out, keep `ranges` right and mark the nodes whose comparison it can change."""
    alive[i, label] = False
    fixed = only_label(alive, i)
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        dirty[a.adj_node[k]] = True
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        changed = a.clique_kind[c] == TABLE
        if a.clique_label[c] == label:
            ranges[c, 1] -= 1
            changed = True
        if fixed >= 0 and fixed == a.clique_label[c]:
            ranges[c, 0] += 1
            changed = True
        if changed:
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                dirty[a.clique_nodes[m]] = True
