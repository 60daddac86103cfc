"""One region solved exactly: by toulbar2 in a process that stays, or by HiGHS."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from policrf.crf.potentials import TABLE
from policrf.solvers.neighbourhoods.toulbar2_service import Toulbar2Service
from policrf.solvers.proofs.exact_network import build_network
from policrf.solvers.proofs.exact_subproblem import Subproblem
from policrf.solvers.proofs.exact_toulbar2 import whole_number_task
from policrf.solvers.proofs.program.exact_highs import Limits, solve_milp
from policrf.solvers.proofs.program.exact_model import build_model
from policrf.solvers.run import Run
from policrf.types import IntArray


class Answer(NamedTuple):
    """Of a region."""

    labels: IntArray | None  # [K], of all nodes of the region's subproblem; None if there are none
    finished: bool  # whether nothing below them was left unseen


class RegionSolver(Protocol):
    """Finds labels of a region that cost no more than those it has."""

    def __call__(
        self, region: Subproblem, labels: IntArray, seconds: float, *, upper: float
    ) -> Answer:
        """`labels` [K] are the region's, of energy `upper`; +inf: some of them are not allowed."""


def takes_toulbar2(region: Subproblem) -> bool:
    """Whether all cliques with a member in the region have a form there."""
    return bool((region.arrays.clique_kind <= TABLE).all())


def by_toulbar2(service: Toulbar2Service, run: Run) -> RegionSolver:
    """Networks of whole numbers, one after the other."""
    asked = 0

    def solve(region: Subproblem, labels: IntArray, seconds: float, *, upper: float) -> Answer:
        nonlocal asked
        asked += 1
        network = build_network(region.arrays, region.alive, run.expired)
        if network is None or np.isinf(network.constant):
            return Answer(None, network is not None)
        most = network.constant + network.span() if np.isinf(upper) else upper
        task, _ = whole_number_task(network, most, 4 * region.terms.rounding(most), asked)
        values, finished = service.ask(task | {"vac": 0}, seconds)
        if values is None:
            return Answer(None, finished)
        found = labels.copy()
        found[network.nodes] = network.labels(values)
        return Answer(found, finished)

    return solve


def by_highs(run: Run) -> RegionSolver:
    """Mixed-integer programs."""

    def solve(region: Subproblem, labels: IntArray, seconds: float, *, upper: float) -> Answer:
        model = build_model(region.arrays, region.alive, labels, run.expired)
        if model is None:
            return Answer(None, False)
        margin = 0.0 if np.isinf(upper) else 4 * region.terms.rounding(upper)
        result = solve_milp(
            model.milp, Limits(seconds, 0.0, run.remaining), upper=upper, margin=margin,
            seed=0, on_bound=lambda value, margin: None,
            on_solution=lambda values: None,
        )  # fmt: skip
        if result.values is None:
            return Answer(None, result.finished)
        return Answer(model.labels(result.values), result.finished)

    return solve
