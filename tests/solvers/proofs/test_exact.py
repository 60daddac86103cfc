"""The exact solver: optima and bounds against brute force, on every path that leads to them."""

import itertools
import json

import numpy as np
import pytest
from tests.shared_data import DATA

import policrf as pc
from policrf.errors import InvalidOption, MissingDependency, UnsupportedPotential
from policrf.solvers.proofs import exact_part, exact_toulbar2
from policrf.solvers.proofs.dead_end_elimination import allowed_labels, eliminate
from policrf.solvers.proofs.exact_forms import in_known_forms
from policrf.solvers.proofs.exact_network import build_network
from policrf.solvers.proofs.program.exact_model import build_model
from policrf.solvers.run import Run
from policrf.testing import random_crf, reference_energy, reference_minimum
from policrf.testing.reference import all_labelings

needs_toulbar2 = pytest.mark.skipif(
    not exact_toulbar2.has_toulbar2(), reason="pytoulbar2 is not installed"
)
BACKENDS = ["highs", pytest.param("toulbar2", marks=needs_toulbar2)]


def without_enumeration(monkeypatch):
    monkeypatch.setattr(exact_part, "ENUMERATED", -1.0)


def check(crf, solution):
    lowest = reference_minimum(crf)
    scale = np.abs(crf.unary[np.isfinite(crf.unary)]).max()
    assert solution.energy == pytest.approx(lowest, rel=1e-9, abs=1e-9 * scale)
    assert solution.optimal
    assert solution.lower_bound <= lowest + 1e-9 * scale


@pytest.mark.parametrize("seed", range(20))
def test_every_group_mixed(seed):
    crf = random_crf(seed, forbidden=0.2 * (seed % 2), ragged=seed % 3 == 0)
    check(crf, pc.solve(crf, "exact"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scale", [1.0, 1e9, 1e-9])
def test_every_group_mixed_without_enumeration(backend, seed, scale, monkeypatch):
    without_enumeration(monkeypatch)
    crf = random_crf(seed, forbidden=0.2 * (seed % 2), ragged=seed % 3 == 0, scale=scale)
    check(crf, pc.solve(crf, "exact", backend=backend))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(4))
def test_weights_that_reward_differences(backend, seed, monkeypatch):
    without_enumeration(monkeypatch)
    rng = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(6, 1), axis=1)
    crf = pc.CRF(rng.normal(size=(6, 3)), pc.Potts(edges, rng.normal(size=len(edges))))
    check(crf, pc.solve(crf, "exact", backend=backend))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_penalty_far_above_the_other_energies(backend, monkeypatch):
    without_enumeration(monkeypatch)
    rng = np.random.default_rng(0)
    crf = pc.CRF(
        rng.normal(size=(8, 3)),
        pc.Potts([[i, i + 1] for i in range(7)], 0.3),
        pc.BoxSupport([range(8)], [2], 1e9, 5),
    )
    check(crf, pc.solve(crf, "exact", backend=backend))


@pytest.mark.parametrize("seed", range(10))
def test_elimination_keeps_an_optimum(seed):
    crf = random_crf(seed, forbidden=0.15 * (seed % 2), groups=("potts", "hop1", "hop2", "tables"))
    alive = allowed_labels(crf.unary)
    assert eliminate(Run(crf, "exact"), crf.arrays, alive)
    left = (y for y in all_labelings(crf) if alive[np.arange(crf.n_nodes), list(y)].all())
    lowest = min(reference_energy(crf, y) for y in left)
    assert lowest == pytest.approx(reference_minimum(crf), abs=1e-9)


def test_elimination_decides_what_unaries_decide():
    unary = np.zeros((50, 4))
    unary[:, 1:] = 10.0
    crf = pc.CRF(unary, pc.Potts([[i, i + 1] for i in range(49)], 1.0))
    alive = allowed_labels(crf.unary)
    eliminate(Run(crf, "exact"), crf.arrays, alive)
    assert alive.sum() == 50


@pytest.mark.parametrize("seed", range(10))
def test_the_program_and_the_network_are_the_energy(seed):
    """For any labeling, the start of the program is feasible and costs its energy."""
    crf = in_known_forms(Run(random_crf(seed, ragged=seed % 2 == 0), "exact"), 1 << 16)
    rng = np.random.default_rng(seed)
    alive = allowed_labels(crf.unary)
    labels = np.array([rng.choice(np.flatnonzero(row)) for row in alive])
    held = rng.random(crf.n_nodes) < 0.3
    alive[held] = False
    alive[held, labels[held]] = True
    milp = build_model(crf.arrays, alive, labels).milp
    assert milp.constant + milp.cost @ milp.start == pytest.approx(crf.energy(labels), abs=1e-9)
    rows = np.repeat(np.arange(len(milp.lower)), np.diff(milp.row_ptr))
    sums = np.bincount(rows, milp.row_value * milp.start[milp.row_column], len(milp.lower))
    assert (sums >= milp.lower - 1e-12).all()
    assert (sums <= milp.upper + 1e-12).all()
    network = build_network(crf.arrays, alive)
    assert len(network.nodes) == (alive.sum(axis=1) > 1).sum()
    assert network_energy(network, labels) == pytest.approx(crf.energy(labels), abs=1e-9)


def network_energy(network, labels):
    """The cost of a labeling in a network, its auxiliary variables at their best."""
    pairs = zip(network.nodes, network.values, strict=True)
    chosen = [int(np.flatnonzero(values == labels[node])[0]) for node, values in pairs]
    lowest = np.inf
    auxiliary = network.domains[len(chosen) :]
    for extra in itertools.product(*(range(size) for size in auxiliary)):
        values = [*chosen, *extra]
        met = all(
            sum(weight for k, value, weight in terms if values[k] == value) >= right
            for terms, right in network.quotas
        )
        if met:
            costs = (t[tuple(values[k] for k in scope)] for scope, t in network.functions)
            lowest = min(lowest, network.constant + sum(costs))
    return lowest


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_allowed(backend, monkeypatch):
    same, differ = np.where(np.eye(2), np.inf, 0.0), np.where(np.eye(2), 0.0, np.inf)
    crf = pc.CRF(np.zeros((3, 2)), pc.Tables([[0, 1], [1, 2], [0, 2]], [same, same, same]))
    for enumerates in (True, False):
        if not enumerates:
            without_enumeration(monkeypatch)
        solution = pc.solve(crf, "exact", backend=backend)
        assert solution.energy == np.inf
        assert solution.optimal
        assert solution.info["infeasible"]
    fixed = pc.CRF([[0.0, np.inf], [0.0, np.inf]], pc.Tables([[0, 1]], [same]))
    assert pc.solve(fixed, "exact").info["infeasible"]
    possible = pc.CRF(np.zeros((3, 2)), pc.Tables([[0, 1], [1, 2]], [same, differ]))
    assert pc.solve(possible, "exact").energy == 0.0


def test_custom_cliques_become_tables_up_to_a_limit():
    crf = pc.CRF(np.zeros((10, 4)), pc.Custom([range(10)], lambda y, p: float(y.sum()), name="sum"))
    with pytest.raises(UnsupportedPotential, match=r"Custom clique 0 \(sum\).*table_limit=65536"):
        pc.solve(crf, "exact")
    small = pc.CRF(np.zeros((3, 4)), pc.Custom([[0, 1, 2]], lambda y, p: -float(y.sum())))
    assert pc.solve(small, "exact").labels.tolist() == [3, 3, 3]


def test_options_and_a_missing_library(monkeypatch):
    crf = pc.CRF(np.zeros((2, 2)))
    with pytest.raises(InvalidOption, match="backend must be one of"):
        pc.solve(crf, "exact", backend="cplex")
    with pytest.raises(InvalidOption, match="gap"):
        pc.solve(crf, "exact", gap=-1.0)
    monkeypatch.setattr(exact_toulbar2, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"pip install 'policrf\[toulbar2\]'"):
        pc.solve(crf, "exact", backend="toulbar2")


@pytest.mark.parametrize("potentials", ["u+p", "u+p+hop1"])
@pytest.mark.parametrize("regime", ["A", "B"])
def test_proves_a_thousand_nodes(regime, potentials):
    crf = pc.make_scene(1000, regime, seed=1, potentials=potentials).crf
    solution = pc.solve(crf, "exact", seconds=100)
    assert solution.optimal
    assert solution.energy <= pc.solve(crf, "alpha_expansion").energy + 1e-9


@pytest.mark.parametrize("backend", BACKENDS)
def test_proves_quotas_and_the_backends_agree(backend):
    assert pc.solve(
        pc.make_scene(500, "A", seed=2).crf, "exact", seconds=100, backend=backend
    ).optimal
    crf = pc.make_scene(250, "B", seed=2).crf
    solution = pc.solve(crf, "exact", backend=backend)
    assert solution.optimal
    assert solution.energy == pytest.approx(pc.solve(crf, "exact").energy, rel=1e-9)


def test_a_bound_and_a_labeling_when_the_budget_ends():
    crf = pc.make_scene(4000, "B", seed=0).crf
    stopped = pc.solve(crf, "exact", seconds=1.5, backend="highs")
    assert 0.0 < stopped.gap < 1.0
    assert not stopped.optimal
    assert stopped.lower_bound <= pc.solve(crf, "alpha_expansion").energy


def test_a_gap_that_is_good_enough():
    crf = pc.make_scene(250, "B", seed=0).crf
    best = pc.solve(crf, "exact")
    rough = pc.solve(crf, "exact", gap=0.2, backend="highs")
    assert rough.lower_bound <= best.energy + 1e-9
    assert rough.energy <= best.energy * 1.2 + 1e-9


def test_the_same_answer_every_time():
    crf = pc.make_scene(250, "B", seed=3).crf
    first, second = (pc.solve(crf, "exact", backend="highs", seed=5) for _ in range(2))
    assert first.labels.tolist() == second.labels.tolist()


@pytest.mark.data
@pytest.mark.parametrize("backend", ["auto", pytest.param("highs", marks=pytest.mark.slow)])
def test_the_six_uai_models(backend):
    if not (DATA / "uai/optima.json").exists():
        pytest.skip("no ../shared/data/uai beside the checkout")
    optima = json.loads((DATA / "uai/optima.json").read_text())
    assert len(optima) == 6
    for name, energy in optima.items():
        solution = pc.solve(pc.read_uai(DATA / "uai" / name), "exact", backend=backend, seconds=600)
        assert solution.optimal, name
        assert solution.energy == pytest.approx(energy, rel=1e-9), name
