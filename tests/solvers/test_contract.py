"""Every solver keeps the contract of `policrf.testing.check_solver`, and refuses what it must."""

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption, UnknownName
from policrf.testing import check_solver
from policrf.testing.check_solver import cases

EVERYTHING = {name for name, _ in cases()}

# Cases that a solver may refuse; all others it must answer.
MAY_REFUSE = {
    "alpha_expansion": {
        "non-metric tables", "tables that forbid pairs", "an order-3 table", "everything",
        "negative Potts weights", "custom potentials", "unequal cardinalities",
    },
}  # fmt: skip


@pytest.mark.parametrize("solver", sorted(set(pc.list_solvers()) - {"policy", "tree_search"}))
def test_solver_keeps_the_contract(solver):
    outcome = check_solver(solver)
    refused = {name for name, what in outcome.items() if what != "ok"}
    assert set(outcome) == EVERYTHING
    assert refused <= MAY_REFUSE.get(solver, set())


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
    check_solver(solver, options=options)


def test_an_own_function_is_a_solver():
    def first_label(run):
        run.offer(np.zeros(run.crf.n_nodes, np.int64))

    crf = pc.CRF([[1.0, 0.0], [1.0, 0.0]])
    assert pc.solve(crf, first_label).energy == 2.0
    assert pc.solve(crf, first_label, initial=[1, 1]).energy == 0.0


def test_check_solver_finds_a_liar():
    def worse_than_it_says(run):
        run.offer(run.start_labels())
        run.energy -= 1.0

    with pytest.raises(AssertionError, match="says energy"):
        check_solver(worse_than_it_says)

    def overconfident(run):
        run.offer(run.start_labels())
        run.optimal = True

    with pytest.raises(AssertionError, match="optimal"):
        check_solver(overconfident)

    def deaf(run):
        while run.elapsed() < 1.5:
            pass

    with pytest.raises(AssertionError, match="budget of 0 s"):
        check_solver(deaf)


def test_unknown_names_and_options_are_explained():
    crf = pc.CRF([[1.0, 0.0]])
    with pytest.raises(UnknownName, match="no solver is called 'magic'; there are alpha_expansion"):
        pc.solve(crf, "magic")
    with pytest.raises(InvalidOption, match="icm has no option 'sweeps'; it takes none"):
        pc.solve(crf, "icm", sweeps=3)
    with pytest.raises(InvalidOption, match="seconds must be"):
        pc.solve(crf, "icm", seconds=float("nan"))


def test_the_trace_only_improves_and_the_callback_sees_it():
    scene = pc.make_scene(60, "B", seed=1)
    seen = []
    solution = pc.solve(scene, "dual_decomposition", seconds=1, callback=seen.append)
    assert list(solution.trace) == seen
    energies = [line.energy for line in seen]
    bounds = [line.lower_bound for line in seen]
    assert energies == sorted(energies, reverse=True)
    assert bounds == sorted(bounds)
    assert solution.lower_bound <= solution.energy
