"""HOP2 by Lagrangian relaxation: prices μ_b on all quotas at once, moved by their violation.

λ_b [#{y_i = l_b} < count_b] is the minimum over s ∈ {0, 1} of λ_b s, subject to #{y_i = l_b} +
count_b s ≥ count_b. A multiplier μ_b ≥ 0 on that constraint makes it unary:

    D(μ) = min_y [E₀(y) − Σ_b μ_b #{y_i = l_b}] + Σ_b min(λ_b, μ_b count_b)  ≤  min_y E(y),

with E₀ the energy without the quotas; no price above λ_b / count_b raises it. Each step descends
at the current prices, repairs the labeling (the primal answer), and moves each price along its
subgradient, count_b − #{y_i = l_b}. Where the descent is exact (two labels), D(μ) is a lower
bound, and is reported.
"""

from __future__ import annotations

import numpy as np

from policrf.solvers.quota_repair import QuotaRepair


def ascend(repair: QuotaRepair, iterations: int) -> None:
    """`iterations` subgradient steps from the prices that the repair found."""
    run, arrays = repair.run, repair.arrays
    prices = dict(repair.prices)
    ceiling = {c: arrays.clique_weight[c] / arrays.clique_count[c] for c in repair.quotas}
    step = {c: _typical_cost(repair, c) for c in repair.quotas}
    labels = repair.best.labels
    for t in range(iterations):
        if run.expired():
            return
        labels, _ = repair.descend_at(prices, labels)
        for c in repair.quotas:
            missing = 1.0 - repair.matches(c, labels) / arrays.clique_count[c]
            moved = prices[c] + step[c] * missing / np.sqrt(1.0 + t)
            prices[c] = float(np.clip(moved, 0.0, ceiling[c]))


def _typical_cost(repair: QuotaRepair, c: int) -> float:
    """What one more member costs, roughly: the first step of its price."""
    costs = repair.unpriced[repair.arrays.clique_label[c], repair.members(c)]
    weights = repair.descent.problem.weight
    return float(max(np.median(costs[np.isfinite(costs)]), weights.max(initial=0.0)))
