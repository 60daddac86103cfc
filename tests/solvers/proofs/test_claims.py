"""No false proof and no invalid bound, of any solver that proves or bounds."""

from fractions import Fraction

import numpy as np
import pytest
from tests.solvers.proofs.adversarial_models import adversarial_model
from tests.solvers.proofs.claim_models import ExactMinimum, claim_model, complaints
from tests.solvers.proofs.test_exact import needs_toulbar2

import policrf as pc
from policrf.errors import UnsupportedPotential
from policrf.solvers.claims import terms_of
from policrf.solvers.proofs import exact_part
from policrf.solvers.run import Run

QUICK = (
    ("exact", 12.0),
    ("exact:backend=highs", -1.0),
    *((name, 12.0) for name in ("auto", "brute_force", "alpha_expansion")),
    *((name, 12.0) for name in ("tree_reweighted", "belief_propagation")),
)
SLOWER = (
    ("dual_decomposition:iterations=60", 12.0),
    ("refine", 12.0),
    ("alpha_expansion:hop2=lagrangian", 12.0),
    ("tree_reweighted:schedule=parallel,iterations=40", 12.0),
)


def check_claims(seed, solvers, monkeypatch, make=claim_model):
    """`solvers` with up to so many bits of labelings that `exact` enumerates."""
    crf = make(seed)
    exact = ExactMinimum(crf)
    for solver, enumerated in solvers:
        monkeypatch.setattr(exact_part, "ENUMERATED", enumerated)
        try:
            solution = pc.solve(crf, solver)
        except UnsupportedPotential:
            continue
        wrong = complaints(exact, solution)
        assert not wrong, (make.__name__, seed, solver, wrong, solution.info)


def check_seeds(seeds, monkeypatch, make=claim_model):
    for seed in seeds:
        check_claims(seed, QUICK if seed % 3 else QUICK + SLOWER, monkeypatch, make)


@pytest.mark.parametrize("make", [claim_model, adversarial_model])
def test_claims_hold_on_five_hundred_models(make, monkeypatch):
    check_seeds(range(250), monkeypatch, make)


@pytest.mark.slow
@pytest.mark.parametrize("make", [claim_model, adversarial_model])
@pytest.mark.parametrize("first", range(250, 5250, 500))
def test_claims_hold_on_thousands_of_models(first, make, monkeypatch):
    check_seeds(range(first, first + 500), monkeypatch, make)


def test_a_first_labeling_that_pays_a_penalty_blurs_no_bound_of_the_trace(monkeypatch):
    """A difference of two energies of 1e12 is no bound on one of 1."""
    check_seeds([5775], monkeypatch)


def test_a_bound_below_a_labeling_of_energy_0_has_a_margin_of_its_own(monkeypatch):
    """With custom cliques nothing is known of the terms: 0 is no magnitude."""
    check_seeds([661], monkeypatch)


def test_what_forbids_is_not_lost_beside_huge_costs(monkeypatch):
    """A node at 1e12 beside costs of 1e-12: no label of it was allowed, and the bound was +inf."""
    solvers = ["dual_decomposition:iterations=60", "tree_reweighted", "belief_propagation"]
    check_claims(771, [(name, 12.0) for name in solvers], monkeypatch, adversarial_model)


def test_messages_that_huge_costs_blur_prove_nothing(monkeypatch):
    check_seeds([6029], monkeypatch)


@needs_toulbar2
@pytest.mark.parametrize("step", [40, pytest.param(4, marks=pytest.mark.slow)])
def test_claims_of_toulbar2_hold(step, monkeypatch):
    for seed in range(0, 600, step):
        for make in (claim_model, adversarial_model):
            check_claims(seed, [("exact:backend=toulbar2", -1.0)], monkeypatch, make)


@needs_toulbar2
@pytest.mark.parametrize("seed", range(4))
def test_both_backends_agree_on_models_beyond_enumeration(seed):
    rng = np.random.default_rng(seed)
    pairs = np.stack(np.triu_indices(14, 1), axis=1)
    pairs = pairs[rng.random(len(pairs)) < 0.3]
    crf = pc.CRF(rng.normal(size=(14, 3)), pc.Tables(pairs, rng.normal(size=(len(pairs), 3, 3))))
    first, second = (pc.solve(crf, "exact", backend=b) for b in ("highs", "toulbar2"))
    assert first.optimal
    assert second.optimal
    assert first.energy == pytest.approx(second.energy, rel=1e-12)


def part_with_one_lowest_labeling(rng, size, first, flat):
    """Pairwise tables that are all lowest at one labeling; costs of the others are of any size."""
    best = rng.integers(0, 2, size)
    pairs = np.array([[i, j] for i in range(size) for j in range(i + 1, min(i + 4, size))])
    tables = rng.random((len(pairs), 2, 2)) * 10.0 ** rng.integers(-3, 4)
    tables += 0.1
    tables[np.arange(len(pairs)), best[pairs[:, 0]], best[pairs[:, 1]]] = 0.1 if flat else 0.0
    return pairs + first, tables


@pytest.mark.parametrize(
    "backend", ["auto", "highs", pytest.param("toulbar2", marks=needs_toulbar2)]
)
def test_a_part_whose_tables_are_all_lowest_at_one_labeling(backend):
    """Nothing can be gained there, so that rounding decides what else seems too expensive."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sizes = (14, 14)
        parts = [part_with_one_lowest_labeling(rng, sizes[0], 0, flat=seed % 2 == 0)]
        pairs = np.array([[i, j] for i in range(14) for j in range(i + 1, min(i + 4, 14))]) + 14
        parts.append((pairs, rng.normal(size=(len(pairs), 2, 2)) * 10.0 ** rng.integers(-3, 4)))
        unary = np.full((28, 2), 0.3)
        crf = pc.CRF(unary, *(pc.Tables(*part) for part in parts))
        solution = pc.solve(crf, "exact", backend=backend)
        lowest = Fraction(0)
        for k, part in enumerate(parts):
            own = pc.CRF(unary[:14], pc.Tables(part[0] - 14 * k, part[1]))
            lowest += ExactMinimum(own).energy
        assert "infeasible" not in solution.info
        assert solution.optimal
        assert solution.energy == pytest.approx(float(lowest), rel=1e-12)
        assert Fraction(solution.lower_bound) <= lowest


def test_a_known_labeling_outweighs_a_solver_that_says_infeasible(monkeypatch):
    """Of a solver's false "infeasible" nothing is left: no proof, and the labeling stays."""
    from policrf.solvers.proofs.program.exact_highs import MilpResult

    monkeypatch.setattr(exact_part, "ENUMERATED", -1.0)
    monkeypatch.setattr(
        exact_part, "solve_milp", lambda *_, **__: MilpResult(None, np.inf, 0.0, True)
    )
    crf = pc.CRF(np.zeros((3, 2)), pc.Potts([[0, 1], [1, 2], [0, 2]], [-1.0, -1.0, -1.0]))
    solution = pc.solve(crf, "exact", backend="highs")
    assert solution.energy == -2.0
    assert "infeasible" not in solution.info
    assert not solution.optimal


def test_costs_that_nobody_pays_do_not_blur_claims():
    """Penalties of 1e15 hide no difference of 1e-6 among labelings that avoid them."""
    rng = np.random.default_rng(0)
    unary = rng.random((6, 3))
    unary[:, 2] = 1e15
    crf = pc.CRF(unary, pc.Potts([[i, i + 1] for i in range(5)], 0.2))
    terms = terms_of(crf.arrays)
    assert terms.rounding(3.0) < 1e-13
    best = pc.solve(crf, "brute_force")
    run = Run(crf, "worse")
    worse = best.labels.copy()
    worse[0] = 1 - worse[0]
    run.offer(worse)
    run.bound(best.energy)
    assert not run.proven()
    run.offer(best.labels)
    assert run.proven()


def test_a_coarse_margin_bounds_and_proves_nothing():
    crf = pc.CRF([[1.0, 2.0], [3.0, 1.0]], pc.Potts([[0, 1]], [0.5]))
    run = Run(crf, "coarse")
    run.offer(np.array([0, 1]))
    run.bound(2.5, margin=0.1)
    assert run.lower_bound == pytest.approx(2.4)
    assert not run.proven()
    run.bound(2.5)
    assert run.proven()
    assert run.solution().lower_bound < 2.5


def test_labels_that_a_node_does_not_have_forbid_none_that_it_has(monkeypatch):
    """Beside costs of 1e18 the places beyond a node's labels were cheaper than all of them."""
    check_seeds([4587], monkeypatch)
