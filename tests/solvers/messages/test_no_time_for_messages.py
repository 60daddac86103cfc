"""A graph that cannot be laid out in time: search gets all of it, and the answer says so."""

import numpy as np
import pytest

import policrf as pc
from policrf.evaluation.cpu_time import cpu_budgets

SOLVERS = ["tree_reweighted", "belief_propagation", "mean_field", "dual_decomposition"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_search_takes_the_time_that_messages_would_need_to_begin(solver):
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(39_999), np.arange(1, 40_000)], axis=1)
    crf = pc.CRF(rng.normal(size=(40_000, 2)), pc.Potts(edges, rng.normal(size=39_999)))
    assert "messages" not in pc.solve(crf, solver, iterations=1).info
    pc.solve(crf, "annealing", seconds=0.01)  # kernels are loaded
    with cpu_budgets():
        solution = pc.solve(crf, solver, seconds=0.06)
    assert solution.info["messages"] == "none: no time to lay out the graph"
    assert solution.energy < crf.energy(np.argmin(crf.unary, axis=1))
