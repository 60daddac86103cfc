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

from policrf.solvers.cuts.quota_repair import QuotaRepair
from policrf.types import FloatArray


def ascend(repair: QuotaRepair, iterations: int) -> None:
    """`iterations` subgradient steps from the prices that the repair found."""
    quotas, prices, labels = repair.quotas, repair.prices, repair.best.labels
    step = np.array([_typical_cost(quotas.member_costs(q)) for q in range(len(quotas))])
    step = np.maximum(step, repair.descent.problem.steepest)
    for t in range(iterations):
        if repair.run.expired():
            return
        labels, _ = repair.descend_at(prices, labels)
        missing = 1.0 - quotas.matches(labels) / quotas.counts
        moved = prices + step * missing / np.sqrt(1.0 + t)
        moved = np.clip(moved, 0.0, quotas.penalties / quotas.counts)
        if (moved == prices).all():
            return
        prices = moved


def _typical_cost(costs: FloatArray) -> float:
    """What one more member costs, roughly: the first step of a price."""
    return float(np.median(costs[np.isfinite(costs)]))
