"""Min-sum messages and minimisers of a clique that only counts: f_c(x) = f(#{i : x_i = l}).

HOP1 is f(k) = w · min(k, n − k), HOP2 is f(k) = λ [k < quota], a label cost f(k) = w [k > 0]; any f
will do. Member i costs a_i
with the label and b_i at best without it; what matters is d_i = a_i − b_i. For every count k the
members with the k smallest d are the ones to have the label, so with P(k) the sum of these,

    min over x = Σ b_i + min over k of P(k) + f(k).

Without member i, of rank r, the k smallest of the others sum to P(k) if k ≤ r, else to
P(k + 1) − d_i: a running minimum from the left and one from the right give the messages to all
members after one sort, O(n log n), where a table would have L^n entries.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, kernel, leaf
from policrf.crf.potentials import AGREE
from policrf.types import FloatArray, IntArray


@leaf
def count_cost(kind: int, weight: float, quota: int, size: int, matches: int) -> float:
    """f(matches) of an AGREE or SUPPORT clique of `size` members."""
    if kind == AGREE:
        return weight * min(matches, size - matches)
    return weight if matches < quota else 0.0


@kernel
def counting_messages(
    costs: FloatArray, difference: FloatArray, with_label: FloatArray, without: FloatArray
) -> None:
    """min over the others of f(·) + Σ_{j ≠ i} d_j [x_j = l], with and without i having the label.

    `costs` [n + 1] is f, `difference` [n] is d. Both results [n] leave out Σ_{j ≠ i} b_j, and may
    be shifted by the same amount: only their difference is a message.
    """
    size = len(difference)
    d, order = np.empty(size), np.empty(size, np.int64)
    limit_and_sort(costs, difference, d, order, np.empty(size, np.int64))
    # right_*[r]: the best over k > r of P(k + 1) + f(k + 1), and of P(k + 1) + f(k).
    right_with, right_without = np.empty(size), np.empty(size)
    total = 0.0
    for i in range(size):
        total += d[i]
    best_with, best_without = np.inf, np.inf
    for r in range(size - 1, -1, -1):
        right_with[r], right_without[r] = best_with, best_without
        best_with = min(best_with, total + costs[r + 1])
        best_without = min(best_without, total + costs[r])
        total -= d[order[r]]
    total = 0.0
    best_with, best_without = np.inf, np.inf
    for r in range(size):
        i = order[r]
        best_with = min(best_with, total + costs[r + 1])
        best_without = min(best_without, total + costs[r])
        with_label[i] = min(best_with, right_with[r] - d[i])
        without[i] = min(best_without, right_without[r] - d[i])
        total += d[i]


@kernel
def counting_minimum(costs: FloatArray, difference: FloatArray, matched: IntArray) -> float:
    """min over x of f(·) + Σ d_i [x_i = l]; `matched` [n]: 1 for those with the label, else 0."""
    size = len(difference)
    d, order = np.empty(size), np.empty(size, np.int64)
    limit_and_sort(costs, difference, d, order, np.empty(size, np.int64))
    beyond = 0.0
    for i in range(size):
        beyond += min(difference[i] - d[i], 0.0)
    total, best, count = 0.0, costs[0], 0
    for r in range(size):
        total += d[order[r]]
        if total + costs[r + 1] < best:
            best, count = total + costs[r + 1], r + 1
    for r in range(size):
        matched[order[r]] = 1 if r < count else 0
    return float(best + beyond)


@inner
def limit_and_sort(
    costs: FloatArray, difference: FloatArray, d: FloatArray, order: IntArray, spare: IntArray
) -> None:
    """d clipped to what f could ever outweigh, and the stable order that sorts it.

    A member with |d| above the range of f takes its cheaper side whatever the others do: clipping
    changes no message, and keeps the cost of a forbidden label out of the sums, where it would eat
    the digits of all others.
    """
    low, high = costs[0], costs[0]
    for k in range(len(costs)):
        low, high = min(low, costs[k]), max(high, costs[k])
    reach = 2 * (high - low) if high > low else np.inf
    for i in range(len(d)):
        d[i] = min(max(difference[i], -reach), reach)
        order[i] = i
    run = 1
    while run < len(d):
        merge_runs(difference, order, spare, run)
        run *= 2


@inner
def merge_runs(keys: FloatArray, order: IntArray, spare: IntArray, run: int) -> None:
    """Merge neighbouring sorted runs of `run` entries of `order` into runs of twice the length."""
    size = len(order)
    for start in range(0, size, 2 * run):
        middle, stop = min(start + run, size), min(start + 2 * run, size)
        left, right = start, middle
        for k in range(start, stop):
            if left < middle and (right >= stop or keys[order[left]] <= keys[order[right]]):
                spare[k] = order[left]
                left += 1
            else:
                spare[k] = order[right]
                right += 1
    for k in range(size):
        order[k] = spare[k]
