"""`pc.solve(instance, policy)`: as a solver like any other, and without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.policy.builders import random_instance, random_policy
from tests.timing import best_of_several, lateness

import policrf as pc
from policrf.errors import InvalidOption
from policrf.scenes.frustrated import grid_edges
from policrf.solvers.proofs.dead_end_elimination import allowed_labels, eliminate
from policrf.solvers.run import Run
from policrf.testing import check_solver, random_crf
from policrf.testing.reference import reference_energy


def test_order_and_scores_on_request() -> None:
    instance = random_instance(60, 0)
    policy = random_policy(instance, "residual", "relaxed", 0)
    plain = pc.solve(instance, policy)
    assert sorted(plain.order.tolist()) == list(range(60))
    assert plain.energy == pytest.approx(reference_energy(instance.crf, plain.labels.tolist()))
    assert plain.solver == "policy"
    assert "scores" not in plain.info
    told = pc.solve(instance, policy, scores=True, snapshots=[0, 17, 59, 60])
    assert told.labels.tolist() == plain.labels.tolist()
    assert set(told.info["snapshots"]) == {0, 17, 59}
    for step, scores in told.info["snapshots"].items():
        assert scores.max() == told.info["scores"][step]
        assert np.isneginf(scores).all(axis=1).sum() == step
        assert int(np.argmax(scores.max(axis=1))) == told.order[step]


def test_by_name_with_a_file(tmp_path: Path) -> None:
    instance = random_instance(40, 0)
    policy = random_policy(instance, "paper", "partial", 0)
    policy.save(tmp_path / "p.safetensors")
    by_name = pc.solve(instance, str(tmp_path / "p.safetensors"))
    assert by_name.order.tolist() == pc.solve(instance, policy).order.tolist()
    with pytest.raises(InvalidOption, match="depth is an option of search"):
        pc.solve(instance, policy, depth=3)


def test_a_plain_crf_gets_features_and_a_graph() -> None:
    crf = pc.make_scene(40, "A").crf
    policy = pc.Policy.untrained(n_labels=21, n_features=85)
    assert (
        pc.solve(crf, policy).labels.tolist()
        == pc.solve(pc.Instance.from_crf(crf), policy).labels.tolist()
    )


def test_it_behaves_as_a_solver_should() -> None:
    def any_size(run: pc.Solution, **options: object) -> None:
        """An untrained policy of the problem's own sizes: the cases have different ones."""
        instance = pc.Instance.from_crf(run.crf)
        n_labels, n_features = run.crf.n_labels, instance.features.shape[1]
        pc.Policy.untrained(n_labels=n_labels, n_features=n_features)(run, **options)

    outcome = check_solver(any_size)
    assert set(outcome.values()) == {"ok"}


def test_time_that_runs_out_leaves_a_complete_labeling() -> None:
    instance = pc.make_scene(9000, "A")
    policy = pc.Policy.untrained(n_labels=21, n_features=85)
    calls = []

    def stop(progress: object) -> bool:
        calls.append(progress)
        return True

    initial = np.zeros(9000, np.int64)
    stopped = pc.solve(instance, policy, initial=initial, callback=stop)
    assert stopped.labels.tolist() == initial.tolist()
    short = pc.solve(instance, policy, seconds=1e-4)
    assert len(short.labels) == 9000
    assert short.order is None or len(short.order) < 9000


FRESH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "safetensors", "gymnasium"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoTorch())
import policrf as pc
policy = pc.load_policy(sys.argv[1])
instance = pc.Instance.load(sys.argv[2])
solution = pc.solve(instance, policy)
print(solution.energy)
"""


def test_a_fresh_process_without_torch(tmp_path: Path) -> None:
    """Loading a policy and an instance of 250 nodes and solving it, with kernels on disk."""
    instance = pc.make_scene(250, "A")
    policy = pc.Policy.untrained(n_labels=21, n_features=85)
    policy.save(tmp_path / "p.safetensors")
    instance.save(tmp_path / "scene.npz")
    expected = pc.solve(instance, policy).energy
    command = [
        sys.executable,
        "-c",
        FRESH,
        str(tmp_path / "p.safetensors"),
        str(tmp_path / "scene.npz"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) == expected


@pytest.mark.parametrize("kind", ["paper", "residual"])
def test_persistent_labels_are_those_of_a_minimum(kind: str) -> None:
    for seed in range(4):
        scene = pc.make_scene(60, "AB"[seed % 2], seed=seed)
        policy = pc.Policy.untrained(n_labels=21, n_features=85, kind=kind, seed=seed)
        solution = pc.solve(scene, policy, persistent=True)
        count = solution.info["persistent"]
        assert 0 < count < 60
        assert sorted(solution.order.tolist()) == list(range(60))
        free = np.zeros((60, 21), bool)
        free[solution.order[count:]] = True
        free[solution.order[:count], solution.labels[solution.order[:count]]] = True
        bound = pc.CRF(np.where(free, scene.crf.unary, np.inf), *scene.crf.potentials)
        assert pc.solve(bound, "exact").energy == pytest.approx(
            pc.solve(scene, "exact").energy, abs=1e-9
        )


def test_persistent_with_terms_of_all_kinds() -> None:
    for seed in range(8):
        crf = random_crf(seed, n_nodes=7, forbidden=0.1 * (seed % 2), ragged=seed % 3 == 0)
        instance = pc.Instance.from_crf(crf)
        sizes = {"n_labels": crf.n_labels, "n_features": instance.features.shape[1]}
        solution = pc.solve(instance, pc.Policy.untrained(**sizes), persistent=True, refine=True)
        assert solution.energy == pytest.approx(reference_energy(crf, solution.labels.tolist()))
        assert "persistent" not in solution.info  # custom terms: nothing can be proven
        plain = crf.with_potentials(*(p for p in crf.potentials if not isinstance(p, pc.Custom)))
        solution = pc.solve(plain, pc.Policy.untrained(**sizes), persistent=True, refine=True)
        best = pc.solve(plain, "brute_force").energy
        assert solution.energy >= best - 1e-9
        alive = allowed_labels(plain.unary)
        eliminate(Run(plain, "test"), plain.arrays, alive)
        assert solution.info["persistent"] == np.count_nonzero(alive.sum(axis=1) == 1)


def test_refine_follows_a_policy() -> None:
    scene = pc.make_scene(150, "B", seed=3)
    policy = pc.Policy.untrained(n_labels=21, n_features=85)
    plain = pc.solve(scene, policy)
    refined = pc.solve(scene, policy, refine=True, persistent=False)
    assert refined.order.tolist() == plain.order.tolist()
    assert refined.energy < plain.energy
    assert refined.info["converged"]
    assert refined.energy <= 1.01 * pc.solve(scene, "alpha_expansion").energy
    by_default = pc.solve(scene, policy, refine=True)
    proven_first = pc.solve(scene, policy, refine=True, persistent=True)
    assert by_default.order.tolist() == proven_first.order.tolist() != plain.order.tolist()
    searched = pc.solve(scene, policy, search=2, refine=True)
    assert searched.energy < pc.solve(scene, policy, search=2).energy
    with pytest.raises(InvalidOption, match="not for search"):
        pc.solve(scene, policy, persistent=True, search=4)


@best_of_several
def test_a_large_field_and_little_time_are_left_to_relabels() -> None:
    """Setting up the engine takes longer than there is."""
    edges = grid_edges(400, 400)
    crf = pc.CRF(np.random.default_rng(0).random((160_000, 3)), pc.Potts(edges, 0.3))
    pc.solve(crf, "untrained", seconds=0.02)
    assert lateness(crf, "untrained", 0.04) < 0.015
    assert pc.solve(crf, "untrained", seconds=0.04).energy < crf.energy(crf.unary.argmin(1))
