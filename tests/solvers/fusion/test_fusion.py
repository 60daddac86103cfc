"""Fusion and swaps: the binary energy, persistency by enumeration, moves that raise no energy."""

import itertools

import numpy as np
import pytest
from tests.timing import best_of_several, lateness

import policrf as pc
from policrf.errors import InvalidOption, UnsupportedPotential
from policrf.solvers.fusion.binary_energy import BinaryEnergy, between
from policrf.solvers.fusion.fuse import Fuser
from policrf.solvers.fusion.proposals import best_others, drawn_near
from policrf.solvers.fusion.roof_duality import doubled, persistent_labels
from policrf.solvers.run import Run

SOLVERS = ["fusion", "alpha_beta_swap"]


def model(seed, *, n_nodes=6, n_labels=3, forbidden=0.0):
    """Edges of both signs, pairwise tables and tables of three nodes."""
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(n_nodes), 2)))
    chosen = rng.permutation(len(pairs))
    triples = np.array([rng.permutation(n_nodes)[:3] for _ in range(3)])
    tables = rng.normal(size=(4, n_labels, n_labels))
    cubes = rng.normal(size=(3, n_labels, n_labels, n_labels))
    for entries in (tables, cubes):
        entries[rng.random(entries.shape) < forbidden] = np.inf
    return pc.CRF(
        rng.normal(size=(n_nodes, n_labels)),
        pc.Potts(pairs[chosen[:5]], rng.normal(size=5)),
        pc.Tables(pairs[chosen[5:9]], tables),
        pc.Tables(triples, cubes),
    )


def value(energy, x):
    """Of all variables `x`."""
    products = energy.weights * x[energy.pairs[:, 0]] * x[energy.pairs[:, 1]]
    return float(energy.linear @ x + products.sum())


def lowest_value(energy, chosen):
    """With the nodes' x given, at the best of all auxiliary ones."""
    more = len(energy.linear) - len(chosen)
    settings = itertools.product((0, 1), repeat=more)
    return min(value(energy, np.append(chosen, z).astype(float)) for z in settings)


@pytest.mark.parametrize("seed", range(6))
def test_the_binary_energy_is_that_of_labelings_between_the_two(seed):
    crf = model(seed)
    rng = np.random.default_rng(seed + 100)
    labels, proposal = rng.integers(0, 3, 6), rng.integers(0, 3, 6)
    energy = between(crf.arrays, labels, proposal)
    assert len(energy.linear) <= 6 + 3  # an auxiliary variable a cubic term at most
    base = crf.energy(labels) - lowest_value(energy, np.zeros(6))
    for x in itertools.product((0, 1), repeat=6):
        mixed = np.where(np.array(x) == 1, proposal, labels)
        found = base + lowest_value(energy, np.array(x))
        assert found == pytest.approx(crf.energy(mixed), abs=1e-9)


def random_energy(seed, n=9):
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    pairs = pairs[rng.random(len(pairs)) < 0.4]
    weights = rng.normal(size=len(pairs))
    linear = rng.normal(size=n) * 2.0
    if seed % 3 == 0:  # ties and zeros
        weights, linear = np.rint(weights), np.rint(linear)
    return BinaryEnergy(linear, pairs, weights)


@pytest.mark.parametrize("seed", range(40))
def test_persistent_labels_raise_no_energy(seed):
    """From every labeling, and some minimum has them all."""
    energy = random_energy(seed)
    found = persistent_labels(doubled(energy))
    decided = found >= 0
    values = {}
    for x in itertools.product((0, 1), repeat=len(found)):
        own = np.array(x, float)
        values[x] = value(energy, own)
        given = np.where(decided, found, own)
        assert value(energy, given) <= values[x] + 1e-9
    least = min(values.values())
    with_them = [v for x, v in values.items() if (np.array(x) == found)[decided].all()]
    assert min(with_them) == pytest.approx(least, abs=1e-9)


def test_roof_duality_decides_much_and_a_submodular_energy_is_solved():
    networks = [doubled(random_energy(seed)) for seed in range(40)]
    decided = [float((persistent_labels(network) >= 0).mean()) for network in networks]
    assert np.mean(decided) > 0.5
    for seed in range(10):
        energy = random_energy(seed)
        energy = energy._replace(weights=-np.abs(energy.weights) - 0.1)
        found = persistent_labels(doubled(energy))
        least = min(
            value(energy, np.array(x, float)) for x in itertools.product((0, 1), repeat=len(found))
        )
        # Ties are left open or 0: what is not decided may be 0.
        assert value(energy, np.maximum(found, 0).astype(float)) == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_a_fusion_lowers_the_energy_or_changes_nothing(seed):
    crf = model(seed, n_nodes=8, forbidden=0.1 * (seed % 2))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 8)
    for _ in range(20):
        before, kept = crf.energy(labels), labels.copy()
        if Fuser(Run(crf, "fusion")).fuse(labels, rng.integers(0, 3, 8)):
            assert crf.energy(labels) < before
        else:
            assert (labels == kept).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(4))
def test_solvers_are_never_above_their_start_nor_below_the_minimum(solver, seed):
    crf = model(seed, n_nodes=7)
    start = np.random.default_rng(seed).integers(0, 3, 7)
    found = pc.solve(crf, solver, initial=start)
    assert pc.solve(crf, "brute_force").energy <= found.energy + 1e-9
    assert found.energy <= crf.energy(start)
    assert found.energy == crf.energy(found.labels)
    assert found.lower_bound == -np.inf


def test_swaps_take_tables_that_no_expansion_takes():
    """Truncated quadratic: a semi-metric, whose best swap is one cut."""
    rng = np.random.default_rng(0)
    edges = np.array([[i, i + 1] for i in range(19)] + [[i, i + 5] for i in range(15)])
    crf = pc.CRF(rng.random((20, 4)) * 3, pc.Pairwise.truncated_quadratic(edges, 4, 6.0, 0.5))
    found = pc.solve(crf, "swap")
    icm = pc.solve(crf, "icm")
    assert found.info["converged"]
    assert found.energy <= icm.energy
    assert found.energy <= pc.solve(crf, "exact").energy * 1.05


def test_proposals_leave_what_is_forbidden():
    unary = np.array([[0.0, np.inf, 1.0], [0.0, np.inf, np.inf]])
    crf = pc.CRF(unary, pc.Potts([[0, 1]], 0.5))
    labels = np.zeros(2, np.int64)
    assert best_others(crf, labels).tolist() == [2, 0]
    drawn = [drawn_near(crf, labels, np.random.default_rng(k)) for k in range(20)]
    assert {tuple(labels.tolist()) for labels in drawn} == {(0, 0), (2, 0)}


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_is_not_taken_is_named(solver):
    crf = pc.CRF(np.zeros((4, 2)), pc.Tables([[0, 1, 2, 3]], np.zeros((1, 2, 2, 2, 2))))
    with pytest.raises(UnsupportedPotential, match="table 0 joins 4 nodes, more than 3; try lns"):
        pc.solve(crf, solver)
    crf = pc.CRF(np.zeros((3, 2)), pc.BoxAgreement([[0, 1, 2]], [1], [1.0]))
    with pytest.raises(UnsupportedPotential, match=f"{solver} cannot take"):
        pc.solve(crf, solver)


@pytest.mark.parametrize(
    ("solver", "options"),
    [("fusion", {"rounds": 0}), ("fusion", {"draws": -1}), ("alpha_beta_swap", {"sweeps": 0})],
)
def test_wrong_options_are_explained(solver, options):
    with pytest.raises(InvalidOption, match="must be a whole number ≥"):
        pc.solve(pc.CRF(np.zeros((2, 2))), solver, **options)


def test_nodes_that_everything_forbids_keep_their_labels_in_random_proposals():
    """Costs of +inf for every label of a node: no difference of them is taken."""
    unary = np.random.default_rng(0).normal(size=(4, 2))
    forbidding = np.array([[[np.inf, np.inf], [0.0, 0.0]]])
    edges = pc.Potts(np.array([[0, 1], [1, 2], [2, 3]]), np.ones(3))
    crf = pc.CRF(unary, edges, pc.Tables(np.array([[0, 1]]), forbidding))
    labels = np.array([0, 1, 0, 1])
    with np.errstate(invalid="raise"):
        drawn = [drawn_near(crf, labels, np.random.default_rng(seed)) for seed in range(20)]
    assert all(proposal[1] == 1 for proposal in drawn)
    assert any((proposal != labels).any() for proposal in drawn)


@pytest.mark.parametrize("solver", SOLVERS)
@best_of_several
def test_a_cut_that_takes_too_long_is_given_up(solver):
    rng = np.random.default_rng(0)
    crf = pc.grid(rng.uniform(size=(250, 250, 4)), 0.3)
    pc.solve(crf, solver, seconds=0.5)
    start = pc.solve(crf, "icm", go_on=False).labels
    for seconds in (0.03, 0.1, 0.2):
        assert -0.2 * seconds < lateness(crf, solver, seconds, initial=start) < 0.015
