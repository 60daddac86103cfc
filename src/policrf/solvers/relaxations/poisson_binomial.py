"""The distribution of a count of independent events (Poisson binomial).

    P(k) = (1 − p) Q(k) + p Q(k − 1),   Q the distribution without an event of probability p.

Adding events one by one gives P. Leaving one out solves this for Q, upward where p ≤ ½ and downward
where p > ½, so that an error never grows from one count to the next; it is done once from P, not
repeatedly, because the errors of repeated solutions multiply. Only the window of counts where P is
above `NEGLIGIBLE` is kept, at most some 20 standard deviations ≤ 10 √n wide: n events cost
O(n √n) at worst, and O(n) once their probabilities are near 0 and 1.
"""

from __future__ import annotations

from policrf.compiled import leaf
from policrf.types import FloatArray, IntArray

NEGLIGIBLE = 1e-18


@leaf
def insert_event(pmf: FloatArray, at: int, window: IntArray, c: int, p: float) -> None:
    """Add an event to `pmf[at:]`, of which the counts window[c, 0] … window[c, 1] are kept."""
    low, high = window[c, 0], window[c, 1]
    pmf[at + high + 1] = p * pmf[at + high]
    for k in range(high, low, -1):
        pmf[at + k] = (1 - p) * pmf[at + k] + p * pmf[at + k - 1]
    pmf[at + low] *= 1 - p
    high += 1
    while low < high and pmf[at + low] < NEGLIGIBLE:
        low += 1
    while low < high and pmf[at + high] < NEGLIGIBLE:
        high -= 1
    window[c, 0], window[c, 1] = low, high


@leaf
def leave_one_out(
    pmf: FloatArray, at: int, window: IntArray, c: int, p: float, out: FloatArray
) -> int:
    """Q for an event of probability p that is in P; `out[m]` is Q(first + m), first is returned.

    Q has one entry more than the window: window[c, 1] − window[c, 0] + 2.
    """
    low, high = window[c, 0], window[c, 1]
    first = low - 1
    before = 0.0
    if p <= 0.5:
        out[0] = 0.0
        for k in range(low, high + 1):
            before = max((pmf[at + k] - p * before) / (1 - p), 0.0)
            out[k - first] = before
    else:
        out[high - first] = 0.0
        for k in range(high, low - 1, -1):
            before = max((pmf[at + k] - (1 - p) * before) / p, 0.0)
            out[k - 1 - first] = before
    return int(first)
