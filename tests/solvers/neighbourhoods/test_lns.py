"""Large-neighbourhood search: never above its start, and what a region of all nodes gives."""

import numpy as np
import pytest
from tests.solvers.proofs.test_exact import needs_toulbar2
from tests.timing import best_of_several, lateness

import policrf as pc
from policrf.errors import InvalidOption
from policrf.scenes import make_frustrated
from policrf.solvers.neighbourhoods import lns as lns_module
from policrf.solvers.neighbourhoods.regions import Regions
from policrf.solvers.neighbourhoods.toulbar2_service import Toulbar2Service
from policrf.testing import random_crf

BACKENDS = ["highs", pytest.param("toulbar2", marks=needs_toulbar2)]
TASK = {
    "domains": [2, 2], "functions": [[[0, 1], [5, 0, 3, 5]]], "quotas": [], "top": 100, "seed": 1
}  # fmt: skip


def ring(rng, n_nodes, n_labels):
    pairs = np.stack([np.arange(n_nodes), (np.arange(n_nodes) + 1) % n_nodes], axis=1)
    return pc.Tables(pairs, rng.normal(size=(n_nodes, n_labels, n_labels)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(6))
def test_a_region_of_all_nodes_is_the_minimum(backend, seed):
    forbidden = 0.2 if seed % 2 else 0.0
    groups = ("potts", "hop1", "hop2", "tables")[: 2 + seed % 3]
    crf = random_crf(seed, n_nodes=6, groups=groups, forbidden=forbidden)
    least = pc.solve(crf, "brute_force").energy
    start = pc.solve(crf, "icm")
    found = pc.solve(crf, "lns", backend=backend, size=6, initial=start.labels)
    if np.isfinite(start.energy):
        assert found.energy == pytest.approx(least, rel=1e-12, abs=1e-12)
    assert found.energy >= least
    assert not found.optimal


@pytest.mark.parametrize("backend", BACKENDS)
def test_small_regions_only_lower_the_energy(backend):
    rng = np.random.default_rng(3)
    crf = pc.CRF(rng.normal(size=(40, 3)), ring(rng, 40, 3), pc.Potts([[0, 20], [5, 30]], -0.7))
    start = rng.integers(0, 3, 40)
    found = pc.solve(crf, "lns", backend=backend, size=4, regions=30, initial=start)
    assert found.info["regions"] == 30
    assert found.energy < crf.energy(start)
    energies = [line.energy for line in found.trace]
    assert energies == sorted(energies, reverse=True)
    assert found.energy == crf.energy(found.labels)


def test_groups_that_toulbar2_has_no_form_of_go_to_highs():
    rng = np.random.default_rng(0)
    crf = pc.CRF(
        rng.normal(size=(12, 4)), ring(rng, 12, 4), pc.LabelCost([list(range(12))], [[1.0] * 4])
    )
    found = pc.solve(crf, "lns", size=12, initial=np.zeros(12, int))
    assert found.energy == pytest.approx(pc.solve(crf, "exact").energy)


def test_the_same_seed_gives_the_same_labels():
    rng = np.random.default_rng(1)
    crf = pc.CRF(rng.normal(size=(30, 2)), ring(rng, 30, 2))
    start = np.zeros(30, int)
    first, second = (
        pc.solve(crf, "lns:backend=highs", size=3, regions=5, initial=start, seed=4)
        for _ in range(2)
    )
    assert (first.labels == second.labels).all()


def test_a_forbidden_start_is_left_to_others():
    """Nothing can be solved around it; the answer is the labeling with the fewest violations."""
    tables = np.full((1, 2, 2), np.inf)
    crf = pc.CRF(np.zeros((2, 2)), pc.Tables([[0, 1]], tables))
    assert pc.solve(crf, "lns").energy == np.inf


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be a whole number ≥ 1"),
        ({"regions": 0}, "regions must be a whole number ≥ 1"),
        ({"backend": "gurobi"}, "backend must be one of auto, highs, toulbar2"),
    ],
)
def test_wrong_options_are_explained(options, message):
    with pytest.raises(InvalidOption, match=message):
        pc.solve(pc.CRF(np.zeros((2, 2))), "lns", **options)


@pytest.mark.parametrize("size", [1, 5, 100])
def test_regions_are_connected_and_free(size):
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(29), np.arange(1, 30)], axis=1)
    crf = pc.CRF(
        np.zeros((30, 2)), pc.Potts(edges[:15], 1.0), pc.Tables(edges[15:], np.zeros((14, 2, 2)))
    )
    free = np.ones(30, bool)
    free[10] = False
    regions = Regions(crf.arrays, free, rng)
    first = set()
    for _ in range(29):
        nodes = regions.draw(size)
        first |= set(nodes.tolist())
        assert 1 <= len(nodes) <= size
        assert free[nodes].all()
        assert (np.diff(nodes) == 1).all()  # a path that node 10 cuts
    assert first == set(np.flatnonzero(free).tolist())


@needs_toulbar2
def test_the_service_answers_again_after_it_was_killed():
    with Toulbar2Service(lambda: 60.0) as service:
        assert service.ask(TASK, 10.0) == ([0, 1], True)
        service._process.kill()
        service._process.wait()
        assert service.ask(TASK, 10.0) == ([0, 1], True)
        assert service.ask(TASK | {"top": 0}, 10.0)[0] is None


@needs_toulbar2
def test_a_service_that_does_not_answer_is_ended(monkeypatch):
    monkeypatch.setattr(Toulbar2Service, "_next_answer", lambda _: None)
    with Toulbar2Service(lambda: 0.0) as service:
        assert service.ask(TASK, 0.0) == (None, False)
        assert service._process is None


def test_a_search_that_is_stuck_changes_what_it_is_forced_to(monkeypatch):
    """Regions of one node cannot leave a local minimum; forced changes can, and keep the best."""
    monkeypatch.setattr(lns_module, "SHRINKAGE", 0.0)
    monkeypatch.setattr(lns_module, "LEAST", 1)
    real = lns_module.Search.improve

    def late(self, nodes, most):
        real(self, nodes, most)
        self.size, self.late = 1, self.late + 1

    monkeypatch.setattr(lns_module.Search, "improve", late)
    crf = pc.CRF([[0.0, -0.1]] * 3, pc.Potts([[0, 1], [1, 2]], 1.0))
    start = np.zeros(3, np.int64)
    for regions, energy in ((lns_module.STUCK, 0.0), (40, -0.3)):
        found = pc.solve(crf, "lns:backend=highs", size=1, regions=regions, initial=start)
        assert found.energy == pytest.approx(energy)


@needs_toulbar2
@best_of_several
def test_no_process_is_waited_for_when_time_is_out():
    crf = make_frustrated("third_order", 1000, seed=0)
    pc.solve(crf, "lns", seconds=0.5)
    assert -0.008 < lateness(crf, "lns", 0.02) < 0.008
    assert -0.008 < lateness(crf, "lns", 0.12) < 0.008
