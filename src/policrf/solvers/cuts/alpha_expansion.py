"""Alpha-expansion (Boykov et al., PAMI 2001): HOP1 exact in every move, HOP2 by repair or prices.

Label costs, robust Potts and metric tables are exact in every move too (`refusals` says which).

A move to α lets every node keep its label or take α, and finds the best of those 2^N labelings by
one minimum cut; labels take turns until none improves. With two labels that is the minimum.

Which local optimum is reached depends on the order of the labels, so the descent is repeated in
another order, and regions where the two answers differ are taken from the better one (`crossover`).

Why our own cut: a whole expansion on scipy's `maximum_flow` (which takes 32-bit integers only) took
2–10 times as long as gco-wrapper's at N = 500 … 10,000, half of it in the flow itself; one on
`maxflow` takes 0.2–0.4 times as long, and this solver with both orders 0.3–0.8 times.
"""

from __future__ import annotations

from typing import Literal

from policrf.crf.potentials import BoxSupport
from policrf.solvers.cuts.crossover import Incumbent
from policrf.solvers.cuts.expansion_descent import Descent
from policrf.solvers.cuts.expansion_problem import without_quotas
from policrf.solvers.cuts.quota_lagrangian import ascend
from policrf.solvers.cuts.quota_repair import QuotaRepair
from policrf.solvers.cuts.refusals import TAKEN, refuse_what_no_cut_takes
from policrf.solvers.option_checks import require_choice, require_whole_numbers
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import IntArray

Hop2 = Literal["repair", "lagrangian", "ignore"]


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
    sweeps
        Maximum number of rounds over all labels in each descent.
    iterations
        Number of steps of the prices, with `hop2="lagrangian"`.
    """
    require_choice("hop2", hop2, Hop2)
    require_whole_numbers(orders=orders, sweeps=sweeps, iterations=iterations)
    refuse_what_no_cut_takes(run.crf, run.solver)
    if run.expired():
        return

    descent = Descent(run, sweeps)
    labels = _descend_in_orders(descent, 1 if descent.exact else orders)
    run.info["converged"] = descent.converged
    run.offer(labels)
    if not run.crf.groups(BoxSupport):
        if descent.exact and descent.converged:
            run.bound(run.crf.energy(labels), descent.margin)
        return
    repair = QuotaRepair(descent, labels)
    repair.bound_at(repair.prices, labels)
    if hop2 != "ignore":
        repair.repair()
        if repair.keep(descent.start):
            repair.repair()
    if hop2 == "lagrangian":
        ascend(repair, iterations)


def _descend_in_orders(descent: Descent, orders: int) -> IntArray:
    """The best mixture of descents from the same start in several orders, itself descended."""
    run, rising = descent.run, descent.labels_in_use
    found = descent.descend(descent.start, rising, offer=True)
    best = Incumbent(without_quotas(run.crf.arrays), found)
    mixed = False
    for k in range(1, orders):
        if run.expired():
            break
        order = rising[::-1].copy() if k == 1 else run.rng.permutation(rising)
        mixed |= best.keep(descent.descend(descent.start, order, offer=True))
    if mixed:
        best.keep(descent.descend(best.labels, rising))
    return best.labels
