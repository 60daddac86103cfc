"""Solvers that are exact without cycles, on unaries and one clique of each group."""

import pytest

import policrf as pc
from policrf.testing import random_crf, reference_minimum


@pytest.mark.parametrize("solver", ["belief_propagation", "dual_decomposition", "tree_reweighted"])
@pytest.mark.parametrize("group", ["hop1", "hop2", "tables", "custom"])
def test_one_clique_is_solved_and_proven(solver, group):
    some = (random_crf(seed, n_nodes=5, groups=(group,)) for seed in range(40))
    single = [crf for crf in some if len(crf.arrays.clique_kind) == 1]
    assert len(single) > 5
    for crf in single:
        solution = pc.solve(crf, solver)
        assert solution.lower_bound == pytest.approx(reference_minimum(crf))
        assert solution.energy == pytest.approx(solution.lower_bound)
