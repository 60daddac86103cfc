"""Every solver keeps the contract of `policrf.testing.check_solver`, and refuses what it must."""

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption, UnknownName
from policrf.testing import check_solver
from policrf.testing.check_solver import cases

EVERYTHING = {name for name, _ in cases()}
SOLVERS = pc.list_solvers()

# The cases that a solver refuses; every solver must take all others.
BOXES_AND_CUSTOM = {
    "HOP1 over all nodes", "HOP2 over all nodes", "HOP1 and HOP2 overlapping",
    "quotas of nothing and of too much", "forbidden labels", "custom potentials",
    "unequal cardinalities, Potts", "everything", "energies of 1e+09", "energies of 1e-09",
}  # fmt: skip
REFUSES = {
    "alpha_beta_swap": BOXES_AND_CUSTOM,
    "fusion": BOXES_AND_CUSTOM,
    "alpha_expansion": {
        "non-metric tables", "tables that forbid pairs", "an order-3 table", "everything",
        "negative Potts weights", "custom potentials", "unequal cardinalities",
    },
}  # fmt: skip


def check_cases(solver, **options):
    outcome = check_solver(solver, options=options)
    assert set(outcome) == EVERYTHING
    refused = {name for name, what in outcome.items() if what != "ok"}
    assert refused == REFUSES.get(solver, set())


@pytest.mark.parametrize("solver", SOLVERS)
def test_solver_keeps_the_contract(solver):
    check_cases(solver)


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("tree_reweighted", {"schedule": "parallel"}),
        ("alpha_expansion", {"hop2": "lagrangian"}),
        ("lazy_flipper", {"size": 3}),
        ("exact", {"backend": "highs"}),
        ("refine", {"start": "icm"}),
    ],
)
def test_solver_variants_keep_the_contract(solver, options):
    check_cases(solver, **options)


def test_an_own_function_is_a_solver():
    def first_label(run):
        run.offer(np.zeros(run.crf.n_nodes, np.int64))

    crf = pc.CRF([[1.0, 0.0], [1.0, 0.0]])
    assert pc.solve(crf, first_label).energy == 2.0
    assert pc.solve(crf, first_label, initial=[1, 1]).energy == 0.0


def test_unknown_names_and_options_are_explained():
    crf = pc.CRF([[1.0, 0.0]])
    with pytest.raises(UnknownName, match="no solver is called 'magic'; there are alpha_beta_swap"):
        pc.solve(crf, "magic")
    with pytest.raises(InvalidOption, match="icm has no option 'sweeps'; it takes none"):
        pc.solve(crf, "icm", sweeps=3)
    with pytest.raises(InvalidOption, match="seconds must be"):
        pc.solve(crf, "icm", seconds=float("nan"))


def test_the_trace_only_improves_and_the_callback_sees_it():
    scene = pc.make_scene(60, "B", seed=1)
    seen = []
    solution = pc.solve(scene, "dual_decomposition", callback=seen.append)
    assert list(solution.trace) == seen
    assert len(seen) > 2
    energies = [line.energy for line in seen]
    bounds = [line.lower_bound for line in seen]
    assert energies == sorted(energies, reverse=True)
    assert bounds == sorted(bounds)
    assert solution.lower_bound <= pc.solve(scene, "exact").energy + 1e-9
