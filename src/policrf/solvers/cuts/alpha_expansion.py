"""Alpha-expansion (Boykov et al., PAMI 2001): HOP1 exact in every move, HOP2 by repair or prices.

Label costs, robust Potts and metric tables are exact in every move too (`refusals` says which).

A move to α lets every node keep its label or take α, and finds the best of those 2^N labelings by
one minimum cut; labels take turns until none improves. With two labels that is the minimum.

Which local optimum is reached depends on the order of the labels, so the descent is repeated in
another order, and regions where the two answers differ are taken from the better one (`crossover`).
Neither goes to its end: a last descent does, from their mixture.

Why our own cut: a whole expansion on scipy's `maximum_flow` (which takes 32-bit integers only) took
2–10 times as long as gco-wrapper's at N = 500 … 10,000, half of it in the flow itself; one on
`maxflow` takes 0.2–0.4 times as long, and this solver with both orders 0.3–0.8 times.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import BoxSupport, Pairwise
from policrf.solvers.cuts.crossover import Incumbent
from policrf.solvers.cuts.expansion_descent import Descent, seconds_to_begin
from policrf.solvers.cuts.expansion_problem import without_quotas
from policrf.solvers.cuts.pair_crossover import is_of_pairs, pair_mixture
from policrf.solvers.cuts.quota_lagrangian import ascend
from policrf.solvers.cuts.quota_repair import QuotaRepair
from policrf.solvers.cuts.refusals import TAKEN, refuse_what_no_cut_takes
from policrf.solvers.option_checks import require_choice, require_whole_numbers
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import FloatArray, IntArray

Hop2 = Literal["repair", "lagrangian", "ignore"]
POWERS = 100  # steps towards a Perron vector


@declares(
    takes=TAKEN,
    limit="metric tables, weights and label costs ≥ 0, truncations up to half a clique",
    proves="sometimes a bound",
    goes_on=True,
)
def alpha_expansion(
    run: Run, *, hop2: Hop2 = "repair", orders: int = 2, sweeps: int = 100, iterations: int = 30
) -> None:
    """Make the best move to one label after the other, by minimum cuts, until none improves.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Parameters
    ----------
    hop2
        What is done about quotas (HOP2): "repair" meets those that pay, greedily; "lagrangian" then
        also searches over prices for all of them at once, better and slower; "ignore" leaves them
        aside.
    orders
        Number of label orders to descend in: rising, falling, then random ones from the seed.
        Where unaries say little, they start in the middle of the labels of a `Pairwise` table.
    sweeps
        Maximum number of rounds over all labels in each descent.
    iterations
        Number of steps of the prices, with `hop2="lagrangian"`.
    """
    require_choice("hop2", hop2, Hop2)
    require_whole_numbers(orders=orders, sweeps=sweeps, iterations=iterations)
    refuse_what_no_cut_takes(run.crf, run.solver)
    if run.remaining() <= seconds_to_begin(run.crf.arrays):
        return

    descent = Descent(run, sweeps)
    labels = _descend_in_orders(descent, 1 if descent.exact else orders)
    run.info["converged"] = descent.converged
    run.offer(labels)
    if not run.crf.groups(BoxSupport):
        if descent.exact and descent.converged:
            run.bound(run.crf.energy(labels), descent.margin)
        return
    if run.expired():
        return
    repair = QuotaRepair(descent, labels)
    repair.bound_at(repair.prices, labels)
    if hop2 != "ignore":
        repair.repair()
        if not run.expired() and repair.keep(descent.start):
            repair.repair()
    if hop2 == "lagrangian":
        ascend(repair, iterations)


def _descend_in_orders(descent: Descent, orders: int) -> IntArray:
    """The best mixture of descents from the same start in several orders, itself descended."""
    run, rising = descent.run, descent.labels_in_use
    near = _nearness(run.crf, descent.start)
    first, falling = (_nearest_first(near, labels) for labels in (rising, rising[::-1]))
    if orders == 1:
        return descent.descend(descent.start, first, offer=True)
    found = descent.descend(descent.start, first, offer=True, rough=True)
    known, sweeps = descent.remember(), max(1, descent.large_sweeps)
    best = found
    for k in range(1, orders):
        if run.expired():
            break
        order = falling if k == 1 else run.rng.permutation(rising)
        found = descent.descend(descent.start, order, offer=True, rough=True, sweeps=sweeps)
        if run.expired():
            break
        best = _mixture(run.crf, best, found)
    if run.expired():
        return best
    descent.recall(known)  # where most of the labels are from, and few moves are left to make
    return descent.descend(best, first)


def _mixture(crf: CRF, labels: IntArray, other: IntArray) -> IntArray:
    if is_of_pairs(crf.arrays):
        return pair_mixture(crf, labels, other)
    best = Incumbent(without_quotas(crf.arrays), labels)
    best.keep(other)
    return best.labels


def _nearest_first(near: FloatArray, labels: IntArray) -> IntArray:
    return labels[np.argsort(-near[labels], kind="stable")]


def _nearness(crf: CRF, start: IntArray) -> FloatArray:
    """How near labels are to all others in `Pairwise` tables, `[L]`; 0 where unaries say more.

    They do where `start`, every node's cheapest label, costs no more than one label for all nodes.
    Of labels on a line, those in the middle are near to all: from the ends, moves stop too early.
    Truncated tables know near labels only, so that nearness is that of the Perron vector.
    """
    affinity, near = np.zeros((crf.n_labels, crf.n_labels)), np.zeros(crf.n_labels)
    for group in crf.potentials:
        if isinstance(group, Pairwise) and np.isfinite(group.table).all():
            both = group.table + group.table.T
            affinity += max(0.0, float(group.weights.sum())) * (both.max() - both)
    if not affinity.any():
        return near
    total = crf.unary.sum(axis=0)
    if not np.isfinite(total.min()):
        return near
    if crf.energy(np.full(crf.n_nodes, np.argmin(total))) < crf.energy(start):
        near += 1.0
        for _ in range(POWERS):
            near = affinity @ near
            near /= near.max()
    return np.round(near, 6)
