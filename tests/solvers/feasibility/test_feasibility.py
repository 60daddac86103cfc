"""Models that forbid jointly: what is found is allowed, and "impossible" is never a guess."""

import itertools
import json
import time

import numpy as np
import pytest
from tests.shared_data import DATA
from tests.timing import best_of_several

import policrf as pc
from policrf.crf.changes import load_labels
from policrf.crf.state import new_state
from policrf.solvers.feasibility.feasible_labels import feasible_labels
from policrf.solvers.feasibility.hard_terms import allowed_labels, hard_terms
from policrf.solvers.feasibility.propagation import CONSISTENT, PAUSED, WORK, new_domains, propagate
from policrf.solvers.run import Run
from policrf.testing.reference import all_labelings

FOREIGN = DATA / "foreign"
SOLVERS = (
    "refine", "auto", "annealing", "lazy_flipper", "belief_propagation", "tree_reweighted",
    "highest_confidence_first", "untrained",
)  # fmt: skip


def _hard_model(seed, n_nodes=6, n_labels=3, tight=0.45):
    """Tables of two and three nodes, some of whose entries are forbidden."""
    rng = np.random.default_rng(seed)
    scopes, tables = [], []
    for _ in range(int(rng.integers(4, 10))):
        size = int(rng.integers(2, 4))
        table = rng.normal(size=(n_labels,) * size)
        table[rng.random(table.shape) < tight] = np.inf
        scopes.append(rng.choice(n_nodes, size, replace=False).tolist())
        tables.append(table)
    unary = rng.normal(size=(n_nodes, n_labels))
    unary[rng.random(unary.shape) < 0.1] = np.inf
    unary[np.isinf(unary).all(axis=1)] = 0.0
    return pc.CRF(unary, pc.Tables(scopes, tables))


def _planted(seed, n_nodes=150, n_labels=3):
    """A sparse graph whose ends must differ, as `n_labels` colours of a planted colouring do."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_labels, n_nodes)
    pairs = rng.integers(0, n_nodes, (6 * n_nodes, 2))
    pairs = np.unique(np.sort(pairs[truth[pairs[:, 0]] != truth[pairs[:, 1]]], axis=1), axis=0)
    pairs = pairs[: 2 * n_nodes]
    table = np.where(np.eye(n_labels, dtype=bool), np.inf, 0.0)
    unary = rng.normal(size=(n_nodes, n_labels))
    return pc.CRF(unary, pc.Tables(pairs, np.broadcast_to(table, (len(pairs), *table.shape))))


@pytest.mark.parametrize("seed", range(40))
def test_propagation_keeps_every_allowed_labeling_and_only_supported_labels(seed):
    crf = _hard_model(seed)
    hard = hard_terms(crf.arrays)
    domains = new_domains(crf.arrays, hard, allowed_labels(crf.arrays))
    pauses, status = 0, PAUSED
    while status == PAUSED:
        status = propagate(crf.arrays, hard, domains, domains.cursor[WORK] + 1)
        pauses += 1
    assert pauses > 1 or status != CONSISTENT
    finite = [labels for labels in all_labelings(crf) if np.isfinite(crf.energy(labels))]
    for labels in finite:
        assert domains.alive[np.arange(crf.n_nodes), labels].all()
    if status != CONSISTENT:
        assert not finite
        return
    group = crf.potentials[0]
    for t, scope in enumerate(group.cliques):
        alive = [np.flatnonzero(domains.alive[node]) for node in scope]
        left = np.isfinite(group.table(t)[np.ix_(*alive)])
        for axis in range(len(scope)):
            others = tuple(k for k in range(len(scope)) if k != axis)
            assert left.any(axis=others).all()


@pytest.mark.parametrize("seed", range(60))
def test_an_allowed_labeling_is_found_wherever_there_is_one(seed):
    crf = _hard_model(seed, tight=0.3 + 0.1 * (seed % 4))
    run = Run(crf, "test", seconds=20)
    found = feasible_labels(run, run.start_labels())
    exists = any(np.isfinite(crf.energy(labels)) for labels in all_labelings(crf))
    assert (found is not None) == exists
    assert run.info.get("infeasible", False) == (not exists)
    if found is not None:
        assert np.isfinite(crf.energy(found))


@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_end_at_finite_energies(solver):
    for seed in range(3):
        crf = _planted(seed)
        assert np.isinf(crf.energy(np.argmin(crf.unary, axis=1)))
        # As long as it takes on a machine that others use, and no longer.
        solution = pc.solve(crf, solver, seconds=30, callback=lambda now: np.isfinite(now.energy))
        assert np.isfinite(solution.energy), seed


def test_counts_that_are_forbidden_are_repaired():
    """All of eight nodes different, by a function of counts, which is not propagated."""
    rng = np.random.default_rng(0)
    nodes = list(range(8))
    table = np.where(rng.random((8, 8)) < 0.4, np.inf, 0.0)
    np.fill_diagonal(table, 0.0)
    crf = pc.CRF(
        rng.normal(size=(8, 8)),
        pc.CountFunction([nodes], [0.0, 0.0, np.inf]),
        pc.Tables([[0, 1], [2, 3]], np.stack([table, table])),
    )
    run = Run(crf, "test", seconds=5)
    found = feasible_labels(run, run.start_labels())
    assert found is not None
    assert len(set(found.tolist())) == 8


def _violations(crf, labels):
    state = new_state(crf.arrays)
    load_labels(crf.arrays, state, np.asarray(labels, np.int64))
    return int(state.forbidden[0])


@pytest.mark.parametrize("solver", ["icm", "highest_confidence_first", "annealing"])
def test_moves_never_add_violations(solver):
    for seed in range(30):
        crf = _hard_model(seed, n_nodes=8, tight=0.6)
        start = np.argmin(crf.unary, axis=1)
        solution = pc.solve(crf, solver, seconds=0.05, initial=start)
        assert _violations(crf, solution.labels) <= _violations(crf, start)


def test_icm_mends_one_of_two_violations():
    """Node 1 breaks both tables at first; no label of it is allowed, but one breaks one only."""
    first = [[np.inf, np.inf, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    second = [[np.inf, 0.0, 0.0], [np.inf, 0.0, 0.0], [np.inf, 0.0, 0.0]]
    crf = pc.CRF(
        [[0.0, np.inf, np.inf], [0.0, 1.0, np.inf], [0.0, np.inf, np.inf]],
        pc.Tables([[0, 1], [2, 1]], np.array([first, second])),
    )
    solution = pc.solve(crf, "icm")
    assert solution.labels.tolist() == [0, 1, 0]
    assert _violations(crf, solution.labels) == 1


@best_of_several
def test_an_impossible_model_keeps_to_its_time():
    """Nine pigeons in eight holes: consistent at every arc, and no labeling is allowed."""
    differ = np.where(np.eye(8, dtype=bool), np.inf, 0.0)
    pairs = list(itertools.combinations(range(9), 2))
    crf = pc.CRF(np.zeros((9, 8)), pc.Tables(pairs, np.broadcast_to(differ, (len(pairs), 8, 8))))
    pc.solve(crf, "refine", seconds=0.1)  # kernels
    for solver in ("refine", "annealing", "belief_propagation"):
        begun = time.process_time()  # others may use the machine
        solution = pc.solve(crf, solver, seconds=0.4)
        assert time.process_time() - begun < 0.4 + 0.5
        assert solution.energy == np.inf
        assert _violations(crf, solution.labels) == 1


@pytest.mark.data
@pytest.mark.skipif(not FOREIGN.is_dir(), reason="models of others are not beside the checkout")
@pytest.mark.parametrize(
    "name", ["bngrid90-34-1e80.uai", "celar6sub0.uai.xz", "pedigree30.uai", "pedigree9.uai",
             "log-1.cnf.uai"],
)  # fmt: skip
def test_models_of_others_that_forbid_are_not_left_infinite(name):
    best = json.loads((FOREIGN / "best.json").read_text())[name]["energy"]
    crf = pc.read(FOREIGN / name)
    for solver in ("refine", "auto"):
        found = pc.solve(crf, solver, seconds=20, callback=lambda now: np.isfinite(now.energy))
        assert best - 1e-6 <= found.energy < np.inf
