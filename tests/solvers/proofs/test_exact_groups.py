"""Exact on the built-in groups: every form in the program, and elimination, against brute force."""

import numpy as np
import pytest
from tests.solvers.proofs.test_exact import BACKENDS, check, without_enumeration

import policrf as pc
from policrf.crf.potentials import TABLE
from policrf.errors import UnsupportedPotential
from policrf.solvers.claims import terms_of
from policrf.solvers.proofs import exact_forms
from policrf.solvers.proofs.dead_end_elimination import allowed_labels, eliminate
from policrf.solvers.proofs.exact_forms import in_known_forms
from policrf.solvers.proofs.program.exact_model import build_model
from policrf.solvers.run import Run
from policrf.testing import random_crf, reference_energy, reference_minimum
from policrf.testing.random_groups import BUILT_IN
from policrf.testing.reference import all_labelings

FORMS = ("label_cost", "counts", "co_occurrence", "robust_potts", "order")
EVERY = tuple(BUILT_IN)


@pytest.fixture
def forms(monkeypatch):
    """Nothing is enumerated, and only what has no other form becomes a table."""
    without_enumeration(monkeypatch)
    monkeypatch.setattr(exact_forms, "SMALL_TABLE", 0)


def signed_crf(seed, *, n_nodes=6, n_labels=3, scale=1.0, chance=0.0):
    """Costs of both signs in every group that has them; some counts and pairs are forbidden."""
    rng = np.random.default_rng(seed)
    cliques = [rng.permutation(n_nodes)[: rng.integers(1, n_nodes + 1)] for _ in range(2)]
    cliques.append(np.arange(n_nodes))
    costs = scale * rng.normal(size=(3, n_labels))
    prices = np.triu(scale * rng.normal(size=(n_labels, n_labels)), 1)
    values = scale * rng.normal(size=(3, n_labels, n_nodes + 1))
    costs[rng.random(costs.shape) < chance] = np.inf
    values[:, :, 1:][rng.random(values[:, :, 1:].shape) < chance] = np.inf
    prices[np.triu(rng.random(prices.shape) < chance, 1)] = np.inf
    lowest = scale * rng.normal(size=n_labels)
    most = max(lowest.max(), 0.0) + scale * rng.random(3)
    groups = [
        pc.LabelCost(cliques, costs),
        pc.CountFunction(cliques, values),
        pc.CoOccurrence(cliques, prices + prices.T),
        pc.RobustPotts(cliques, most, 4 * rng.random(3) + 0.2, lowest),
    ]
    some = [group for group in groups if rng.random() < 0.5]
    return pc.CRF(scale * rng.normal(size=(n_nodes, n_labels)), *(some or groups))


@pytest.mark.parametrize("group", EVERY)
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_each_group_with_forbidden_labels(group, scale, forms):
    for seed in range(6):
        crf = random_crf(
            seed, groups=("potts", "hop1", group), scale=scale, n_nodes=5,
            forbidden=0.2 * (seed % 2), ragged=seed % 3 == 0,
        )  # fmt: skip
        check(crf, pc.solve(crf, "exact"))


@pytest.mark.parametrize("seed", range(20))
def test_costs_of_both_signs(seed, forms):
    crf = signed_crf(seed, scale=10.0 ** (seed % 3 * 6 - 6), chance=0.15 * (seed % 2))
    check(crf, pc.solve(crf, "exact"))


@pytest.mark.parametrize("seed", range(12))
def test_everything_mixed(seed, forms):
    groups = ("potts", "hop1", "hop2", "tables", "custom", *EVERY)
    crf = random_crf(seed, groups=groups, forbidden=0.1 * (seed % 2), ragged=seed % 3 == 0)
    check(crf, pc.solve(crf, "exact"))


@pytest.mark.parametrize("seed", range(20))
def test_the_program_is_the_energy(seed, forms):
    """For any labeling that is allowed, the start of the program is feasible and costs as much."""
    crf = random_crf(seed, groups=FORMS, ragged=seed % 2 == 0) if seed % 3 else signed_crf(seed)
    known = in_known_forms(Run(crf, "exact"), 1 << 16)
    rng = np.random.default_rng(seed)
    alive = allowed_labels(crf.unary)
    labels = np.array([rng.choice(np.flatnonzero(row)) for row in alive])
    held = rng.random(crf.n_nodes) < 0.3 * (seed % 2)
    alive[held] = False
    alive[held, labels[held]] = True
    milp = build_model(known.arrays, alive, labels).milp
    assert milp.constant + milp.cost @ milp.start == pytest.approx(
        reference_energy(crf, labels), abs=1e-9
    )
    rows = np.repeat(np.arange(len(milp.lower)), np.diff(milp.row_ptr))
    sums = np.bincount(rows, milp.row_value * milp.start[milp.row_column], len(milp.lower))
    assert (sums >= milp.lower - 1e-12).all()
    assert (sums <= milp.upper + 1e-12).all()


@pytest.mark.parametrize("seed", range(24))
def test_elimination_keeps_an_optimum(seed):
    if seed % 2:
        crf = signed_crf(seed, chance=0.1 * (seed % 3))
    else:
        crf = random_crf(seed, groups=EVERY, forbidden=0.1, n_nodes=5)
    # The unaries decide most nodes.
    strong = pc.CRF(4.0 * crf.unary, *crf.potentials, cardinalities=crf.cardinalities)
    alive = allowed_labels(strong.unary)
    lowest = reference_minimum(strong)
    assert terms_of(in_known_forms(Run(strong, "exact"), 1 << 16).arrays).lowest <= lowest + 1e-9
    if not eliminate(Run(strong, "exact"), strong.arrays, alive):
        assert lowest == np.inf
        return
    left = (y for y in all_labelings(strong) if alive[np.arange(strong.n_nodes), list(y)].all())
    found = min(reference_energy(strong, y) for y in left)
    assert found == pytest.approx(lowest, abs=1e-9)


def test_elimination_decides_beside_a_label_cost_and_leaves_what_it_does_not_know():
    unary = np.zeros((30, 3))
    unary[:, 1:] = 10.0
    chain = [[i, i + 1] for i in range(29)]

    def left(*groups):
        crf = pc.CRF(unary, *groups)
        alive = allowed_labels(crf.unary)
        assert eliminate(Run(crf, "exact"), crf.arrays, alive)
        return int(alive.sum())

    assert left(pc.LabelCost([range(30)], 3.0)) == 30
    assert left(pc.LabelCost([range(30)], 20.0)) == 90
    assert left(pc.LabelCost([range(30)], [0.0, np.inf, 20.0])) == 30
    assert left(pc.RobustPotts([range(30)], 40.0, 10.0)) == 30
    assert left(pc.Connectivity([range(30)], chain, 1.0)) == 90
    assert left(pc.LabelOrder([range(30)], 1.0 - np.eye(3), 5.0)) == 90


def test_large_cliques_are_proven():
    rng = np.random.default_rng(3)
    n = 40
    unary = rng.random((n, 4))
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    groups = {
        "label cost": pc.LabelCost([range(n)], 2.0),
        "counts": pc.CountFunction.size_prior([range(n)], [0, 8, 20], 0.3),
        "parity": pc.CountFunction.parity([range(n)], 1.0),
        "co-occurrence": pc.CoOccurrence([range(n)], 1.5 * (1.0 - np.eye(4))),
        "robust Potts": pc.RobustPotts([range(n)], 6.0, 15.0),
    }
    for name, group in groups.items():
        crf = pc.CRF(unary, pc.Potts(chain, 0.2), group)
        solution = pc.solve(crf, "exact", seconds=120)
        assert solution.optimal, name
        for other in ("refine", "annealing"):
            found = pc.solve(crf, other, seconds=0.3)
            assert found.energy >= solution.energy - 1e-9, name


@pytest.mark.parametrize("backend", BACKENDS)
def test_several_components_with_and_without_a_form_in_toulbar2(backend, forms):
    rng = np.random.default_rng(0)
    tables = pc.Tables([[0, 1, 2], [1, 2, 3]], rng.normal(size=(2, 3, 3, 3)))
    crf = pc.CRF(
        rng.normal(size=(9, 3)),
        tables,
        pc.LabelCost([[4, 5, 6]], 0.7),
        pc.CountFunction.parity([[7, 8]], 0.5),
    )
    solution = pc.solve(crf, "exact", backend=backend)
    assert solution.energy == pytest.approx(pc.solve(crf, "brute_force").energy)
    assert solution.optimal


def test_prices_far_above_the_other_energies(forms):
    rng = np.random.default_rng(1)
    unary = rng.normal(size=(7, 3))
    high = 1e9 * (1.0 - np.eye(3))
    for group in (
        pc.LabelCost([range(7)], [1e9, 0.0, 0.5]),
        pc.CoOccurrence([range(7)], high),
        pc.RobustPotts([range(7)], 1e9, 1.0),
        pc.CountFunction.between([range(7)], 0, 3, 1e9),
    ):
        check(pc.CRF(unary, group), pc.solve(pc.CRF(unary, group), "exact"))


def test_an_order_without_a_cap_is_a_sum_over_pairs():
    prices = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, np.inf], [3.0, 0.0, 0.0]])
    unary = np.random.default_rng(0).normal(size=(8, 3))
    unary[2, 2] = np.inf
    order = pc.LabelOrder([range(8), [5, 4, 2], [0, 1, 2]], prices)
    crf = pc.CRF(unary, order, cardinalities=[3, 3, 2, 3, 3, 3, 3, 3])
    known = in_known_forms(Run(crf, "exact"), 1 << 16)
    assert (known.arrays.clique_kind == TABLE).all()
    rng = np.random.default_rng(0)
    for _ in range(50):
        labels = rng.integers(0, crf.cardinalities)
        assert known.energy(labels) == pytest.approx(reference_energy(crf, labels))


def test_what_has_no_form_is_refused_by_name():
    unary, chain = np.zeros((12, 3)), [[i, i + 1] for i in range(11)]
    with pytest.raises(UnsupportedPotential, match="Connectivity clique 0 of 12 nodes: its table"):
        pc.solve(pc.CRF(unary, pc.Connectivity([range(12)], chain, 1.0)), "exact")
    capped = pc.LabelOrder([[0, 1], range(12)], 1.0 - np.eye(3), cap=2.0)
    with pytest.raises(UnsupportedPotential, match="LabelOrder clique 1 of 12 nodes"):
        pc.solve(pc.CRF(unary, capped), "exact")
    small = pc.CRF(unary[:5], pc.Connectivity([range(5)], chain[:4], 1.0))
    with pytest.raises(UnsupportedPotential, match="table_limit=100"):
        pc.solve(small, "exact", table_limit=100)


def test_nothing_allowed(forms):
    odd = pc.CountFunction([range(3)], [np.inf, 0.0, np.inf, 0.0])
    crf = pc.CRF(np.zeros((3, 2)), odd)  # two labels cannot both have an odd number of three
    solution = pc.solve(crf, "exact")
    assert solution.energy == np.inf
    assert solution.optimal
    assert solution.info["infeasible"]
    never = pc.CRF(np.zeros((3, 2)), pc.LabelCost([range(3)], np.inf))
    assert pc.solve(never, "exact").info["infeasible"]
