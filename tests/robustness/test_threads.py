"""Eight threads on shared CRFs, policies and functions: the answers of one, the errors of each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

import policrf as pc
from policrf.errors import CustomPotentialFailed

THREADS, CALLS = 8, 48
SOLVERS = ("icm", "annealing:sweeps=20", "highest_confidence_first", "refine", "untrained")


def parity(labels, parameters):
    return parameters[0] * (labels.sum() % 2)


def fails_on_ones(labels, parameters):
    if labels.min() == 1:
        raise ValueError("ones")
    return 0.0


def crf_of(function, seed):
    rng = np.random.default_rng(seed)
    cliques = [[3 * k, 3 * k + 1, 3 * k + 2] for k in range(6)]
    edges = np.column_stack([np.arange(17), np.arange(1, 18)])
    custom = pc.Custom(cliques, function, [[0.7]] * 6, partial="subset")
    return pc.CRF(rng.normal(size=(18, 3)), pc.Potts(edges, 0.4), custom)


def answer(task):
    """What a call comes to: labels, or the message of its error."""
    problem, solver, seed = task
    try:
        return pc.solve(problem, solver, seed=seed).labels.tolist()
    except CustomPotentialFailed as error:
        return str(error)


def tasks_of(good, bad):
    """Calls on both CRFs in turn, with every solver and some seeds."""
    return [((good, bad)[k % 2], SOLVERS[k // 2 % len(SOLVERS)], k // 2 % 4) for k in range(CALLS)]


def in_threads(tasks):
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(answer, tasks))


@pytest.mark.parametrize("wrap", [lambda f: f, numba.njit], ids=["python", "compiled"])
def test_a_shared_crf_with_and_without_failing_functions(wrap):
    good, bad = crf_of(wrap(parity), 0), crf_of(wrap(fails_on_ones), 1)
    tasks = tasks_of(good, bad)
    serial = [answer(task) for task in tasks]
    assert any(isinstance(found, str) for found in serial[1::2])
    assert all(isinstance(found, list) for found in serial[::2])
    assert in_threads(tasks) == serial


def test_a_shared_policy():
    scenes = [pc.make_scene(60, "B", seed=seed) for seed in range(3)]
    policy = pc.Policy.untrained(
        n_labels=scenes[0].crf.n_labels, n_features=scenes[0].features.shape[1]
    )
    tasks = [(scenes[k % 3], policy, k % 2) for k in range(CALLS)]
    assert in_threads(tasks) == [answer(task) for task in tasks]


def test_crfs_made_and_dropped_in_threads_share_one_function():
    function = numba.njit(parity)

    def energy(seed):
        return crf_of(function, seed).energy(np.arange(18) % 3)

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(energy, range(64))) == [energy(seed) for seed in range(64)]
