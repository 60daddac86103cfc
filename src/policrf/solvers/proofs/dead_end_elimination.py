"""Dead-end elimination (Desmet 1992, Goldstein 1994): labels that some optimum does without.

Label a of node i may go if another label b of i is never worse, whatever the other nodes do:

    f_i(a) − f_i(b) + Σ over terms of i of  min over the others' labels of  f(a, ·) − f(b, ·)  ≥  0.

Labels go one at a time, and b stays, so a minimum is always left. For Potts and counting terms the
minimum is a sum of a part that depends on a and one that depends on b; tables need it pair by pair.
The groups of `elimination_ranges` have bounds of both parts. Of any other kind nothing is known,
and the nodes of such a clique keep their labels.
The whole state is the mask `alive` [N, L]; a node is fixed when one label is left to it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import AGREE, SUPPORT, TABLE
from policrf.solvers.proofs.elimination_doubt import comparison_doubts
from policrf.solvers.proofs.elimination_ranges import ROW, add_group_range
from policrf.solvers.run import Run
from policrf.types import BoolArray, FloatArray, IntArray

WORK = 300_000  # comparisons a kernel call makes, some milliseconds
SHARE = 0.5  # of the time left
TABLE_WORK = 1 << 22  # table entries times labels that a visit of one node may look at


def allowed_labels(unary: FloatArray) -> BoolArray:
    """The mask to start from, `[N, L]`: what the unaries do not forbid."""
    alive: BoolArray = np.isfinite(unary)
    return alive


def eliminate(run: Run, arrays: Arrays, alive: BoolArray, lost: FloatArray | None = None) -> bool:
    """Remove labels from `alive` until none can go; False if a node loses its last one.

    It leaves a share of the time to others. `lost` [1] gets what rounding may have raised the
    minimum by (`elimination_doubt`).
    """
    n_nodes = len(arrays.unary)
    dirty = np.ones(n_nodes, np.bool_)
    only = only_labels(alive)
    ranges = np.empty((len(arrays.clique_kind), 2), np.int64)
    match_ranges(arrays, alive, only, ranges)
    cuts, doubt = _equal_work(arrays), comparison_doubts(arrays)
    possible, kept = True, 0.0 if run.seconds is None else (1 - SHARE) * run.remaining()
    while dirty.any() and possible and run.remaining() > kept:
        for start, stop in pairwise(cuts):
            if run.remaining() <= kept:
                break
            possible = sweep(arrays, alive, only, dirty, ranges, doubt, np.array([start, stop]))
            if not possible:
                break
    if lost is not None:
        lost[0] = doubt[n_nodes, 0]
    return possible


def only_labels(alive: BoolArray) -> IntArray:
    """The label of every node that has one left, `[N]`; −1 where there are more."""
    only: IntArray = np.where(alive.sum(axis=1) == 1, np.argmax(alive, axis=1), -1)
    return only


def _equal_work(a: Arrays) -> list[int]:
    """Where to cut the nodes into slices of about the same work, from 0 to N."""
    n_nodes, n_labels = a.unary.shape
    if not len(a.data) and n_labels * (10 * n_nodes + len(a.adj_node)) < WORK:
        return [0, n_nodes]
    kind, size = a.clique_kind[a.node_clique], a.data_size[a.node_clique]
    table_size = np.where(kind == TABLE, size, np.minimum(size, max(n_labels, ROW)))
    owner = np.repeat(np.arange(n_nodes), np.diff(a.node_ptr))
    tables = np.bincount(owner, np.minimum(table_size * n_labels, TABLE_WORK), n_nodes)
    done = np.cumsum(tables + n_labels * (10 + np.diff(a.adj_ptr))) // WORK
    cuts: list[int] = (np.flatnonzero(np.diff(done)) + 1).tolist()
    return [0, *cuts, n_nodes]


@leaf
def match_ranges(a: Arrays, alive: BoolArray, only: IntArray, ranges: IntArray) -> None:
    """Least and most members that can have the clique's label, into `ranges` [C, 2]."""
    for c in range(len(a.clique_kind)):
        ranges[c, 0] = ranges[c, 1] = 0
        if a.clique_kind[c] == AGREE or a.clique_kind[c] == SUPPORT:
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                i = a.clique_nodes[m]
                if alive[i, a.clique_label[c]]:
                    ranges[c, 1] += 1
                    ranges[c, 0] += only[i] >= 0


@kernel
def sweep(
    a: Arrays, alive: BoolArray, only: IntArray, dirty: BoolArray, ranges: IntArray,
    doubt: FloatArray, part: IntArray,
) -> bool:  # fmt: skip
    """Visit the dirty nodes from part[0] to before part[1]; False if one has no label left.

    Those that it makes dirty are visited again, as long as they are few.
    """
    n_labels, start, stop = a.unary.shape[1], part[0], part[1]
    lower, upper = np.empty(n_labels), np.empty(n_labels)
    pairs, gone = np.empty((n_labels, n_labels)), np.empty(n_labels, np.bool_)
    size = np.empty((2, n_labels))
    last = -1
    visits = 0
    while visits <= stop - start:
        before = visits
        for i in range(start, stop):
            if not dirty[i]:
                continue
            dirty[i] = False
            if only[i] >= 0:
                continue
            visits += 1
            has_tables = advantage(a, alive, only, ranges, i, lower, upper, size, pairs)
            best = least_upper(alive, i, upper)
            left, removed = 0, 0
            for label in range(n_labels):
                gone[label] = False
                if not alive[i, label]:
                    continue
                if lower[label] == np.inf:
                    gone[label] = True
                else:
                    other = best
                    if has_tables:
                        other = dominator(alive, i, label, lower, upper, pairs)
                    elif label == best or lower[label] < upper[best]:
                        other = -1
                    gone[label] = other >= 0
                    if other >= 0:
                        gain = lower[label] - upper[other]
                        gain += pairs[label, other] if has_tables else 0.0
                        note_doubt(doubt, i, size[0, label] + size[1, other], gain)
                alive[i, label] = not gone[label]
                removed += gone[label]
                if alive[i, label]:
                    left += 1
                    last = label
            if left == 0:
                return False
            if left == 1:
                only[i] = last
            if removed > 0:
                mark(a, only, ranges, dirty, i, gone)
        if visits == before:
            break
    return True


@inner
def least_upper(alive: BoolArray, i: int, upper: FloatArray) -> int:
    """The label that others are compared with where that needs no pairs: no other removes more."""
    best = -1
    for label in range(len(upper)):
        if alive[i, label] and (best < 0 or upper[label] < upper[best]):
            best = label
    return best


@inner
def dominator(
    alive: BoolArray, i: int, label: int, lower: FloatArray, upper: FloatArray, pairs: FloatArray
) -> int:
    """The other label of node i that `label` is worse than by most, or equal to; −1 if none."""
    best, most = -1, 0.0
    for other in range(len(lower)):
        if other != label and alive[i, other] and upper[other] < np.inf:
            gain = lower[label] - upper[other] + pairs[label, other]
            if gain > most or (gain == most and best < 0):
                best, most = other, gain
    return best


@inner
def note_doubt(doubt: FloatArray, i: int, size: float, gain: float) -> None:
    """Add what a removal may cost that saves `gain`, a sum of terms of that size and of tables."""
    off = doubt[i, 0] * (size + doubt[i, 1])
    if gain < off:
        doubt[len(doubt) - 1, 0] += off


@inner
def advantage(
    a: Arrays, alive: BoolArray, only: IntArray, ranges: IntArray, i: int, lower: FloatArray,
    upper: FloatArray, size: FloatArray, pairs: FloatArray,
) -> bool:  # fmt: skip
    """Fill `lower` [L], `upper` [L] and `pairs` [L, L]; whether the last is needed.

    Replacing label a of node i by b saves at least lower[a] − upper[b] + pairs[a, b]. `size` [2, L]
    becomes Σ|…| of what lower and upper are sums of.
    """
    n_labels = a.unary.shape[1]
    for label in range(n_labels):
        lower[label] = upper[label] = a.unary[i, label]
        size[0, label] = size[1, label] = abs(a.unary[i, label])
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        j, weight = a.adj_node[k], a.adj_weight[k]
        if only[j] >= 0:
            lower[only[j]] -= weight
            upper[only[j]] -= weight
            size[0, only[j]] += abs(weight)
            size[1, only[j]] += abs(weight)
            continue
        for label in range(n_labels):
            if alive[j, label]:
                if weight > 0:
                    lower[label] -= weight
                    size[0, label] += weight
                else:
                    upper[label] -= weight
                    size[1, label] -= weight
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
                size[0, label] += abs(least)
                size[1, label] += abs(most)
        elif kind != TABLE:
            add_group_range(a, c, lower, upper, size)
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
    size, factor = a.data_size[c], a.clique_weight[c]
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
                    value = factor * a.data[a.data_start[c] + at]
                    if value < np.inf and is_alive(a, alive, c, entry, at):
                        possible = True
                        there = at + (second - first) * stride
                        other = factor * a.data[a.data_start[c] + there]
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
def mark(
    a: Arrays, only: IntArray, ranges: IntArray, dirty: BoolArray, i: int, gone: BoolArray
) -> None:
    """Node i lost the labels `gone` [L]: keep `ranges` right, mark the nodes that it matters to."""
    for k in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
        dirty[a.adj_node[k]] = True
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        # What the other kinds say does not depend on which labels are left.
        wanted, changed = a.clique_label[c], a.clique_kind[c] == TABLE
        if wanted >= 0:
            least, most = step_range(a, c, ranges[c, 0], ranges[c, 1] - 1)
            ranges[c, 0] += wanted == only[i]
            ranges[c, 1] -= gone[wanted]
            now_least, now_most = step_range(a, c, ranges[c, 0], ranges[c, 1] - 1)
            changed = least != now_least or most != now_most
        if changed:
            for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
                dirty[a.clique_nodes[m]] = True
