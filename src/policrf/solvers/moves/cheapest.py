"""The cheapest label but one, and short lists of the cheapest nodes: what many moves choose by."""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner
from policrf.types import FloatArray, IntArray


@inner
def cheapest_other(costs: FloatArray, own: int) -> int:
    """The first label of lowest `costs` [L] but `own`; `own` if all others cost +inf."""
    best, least = own, np.inf
    for label in range(len(costs)):
        if label != own and costs[label] < least:
            best, least = label, costs[label]
    return best


@inner
def rank(ranked: IntArray, prices: FloatArray, i: int, value: float) -> None:
    """Put i where it belongs among the lowest prices so far; +inf is an empty place."""
    if not value < prices[-1]:
        return
    at = len(prices) - 1
    while at > 0 and value < prices[at - 1]:
        ranked[at], prices[at] = ranked[at - 1], prices[at - 1]
        at -= 1
    ranked[at], prices[at] = i, value
