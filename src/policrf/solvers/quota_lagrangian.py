"""HOP2 by Lagrangian relaxation: prices μ_b on all quotas at once, moved by their violation.

λ_b [#{y_i = l_b} < count_b] is min over s ∈ {0, 1} of λ_b s with #{y_i = l_b} + count_b s ≥
count_b. A multiplier 0 ≤ μ_b ≤ λ_b / count_b on that constraint makes it unary:

    D(μ) = min_y [E₀(y) − Σ_b μ_b #{y_i = l_b}] + Σ_b μ_b count_b  ≤  min_y E(y),

with E₀ the energy without the quotas. Each step descends at the current prices, repairs the
labeling (the primal answer), and moves each price along its subgradient, count_b − #{y_i = l_b}.
With two labels the descent is exact, so that D(μ) is a lower bound, and is reported.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.checks import IntArray
from policrf.solvers.quota_repair import QuotaRepair


def ascend(repair: QuotaRepair, iterations: int) -> None:
    """`iterations` subgradient steps from the prices that the repair found."""
    run, arrays, descent = repair.run, repair.arrays, repair.descent
    prices = dict(repair.prices)
    ceiling = {c: arrays.clique_weight[c] / arrays.clique_count[c] for c in repair.quotas}
    step = {c: _typical_cost(repair, c) for c in repair.quotas}
    labels = repair.best.labels
    for t in range(iterations):
        if run.expired():
            return
        labels, _ = repair.descend_at(prices, labels)
        if descent.exact and descent.converged:
            run.bound(dual_value(repair, prices, labels))
        for c in repair.quotas:
            missing = 1.0 - repair.matches(c, labels) / arrays.clique_count[c]
            moved = prices[c] + step[c] * missing / np.sqrt(1.0 + t)
            prices[c] = float(np.clip(moved, 0.0, ceiling[c]))


def _typical_cost(repair: QuotaRepair, c: int) -> float:
    """What one more member costs, roughly: the first step of its price."""
    costs = repair.unpriced[repair.arrays.clique_label[c], repair.members(c)]
    return float(np.median(costs[np.isfinite(costs)]))


def dual_value(repair: QuotaRepair, prices: dict[int, float], labels: IntArray) -> float:
    """D(μ), if `labels` are the minimum at these prices; quotas out of reach stay charged."""
    value = repair.run.crf.energy(labels)
    for c in repair.quotas:
        matches, count = repair.matches(c, labels), repair.arrays.clique_count[c]
        value += prices[c] * (count - matches)
        if matches < count:
            value -= repair.arrays.clique_weight[c]
    return float(value)
