"""Objects between processes: small, and equal when they arrive, functions included."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import policrf as pc
from policrf.testing.random_crf import random_crf
from policrf.travel import packed, unpacked


def travelled(value):
    return pickle.loads(pickle.dumps(value, 5))


@given(arrays(np.int64, st.integers(0, 6), elements=st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers_arrive_as_they_were(array):
    found = travelled(packed(array))
    back = unpacked(found)
    assert back.dtype == array.dtype
    assert (back == array).all()
    assert len(pickle.dumps(packed(array))) <= len(pickle.dumps(array)) + 100


@pytest.mark.parametrize("seed", range(6))
def test_a_crf_arrives_equal(seed):
    crf = random_crf(seed=seed)
    found = travelled(crf)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        labels = rng.integers(crf.cardinalities)
        assert found.energy(labels) == crf.energy(labels)
        assert found.terms(labels) == crf.terms(labels)
    assert [repr(group) for group in found.potentials] == [repr(group) for group in crf.potentials]
    for mine, other in zip(crf.potentials, found.potentials, strict=True):
        for name, array in mine.fields().items():
            other_array = other.fields()[name]
            np.testing.assert_array_equal(array, other_array)
            assert array.dtype == other_array.dtype
            assert array.flags.writeable == other_array.flags.writeable


def weighted_count(labels, parameters):
    return parameters[0] * float((labels == 1).sum())


def test_a_function_of_ones_own_travels_by_name_or_by_value():
    cloudpickle = pytest.importorskip("cloudpickle", reason="Ray brings cloudpickle")

    def cubed(labels, parameters):
        return parameters[0] * float(labels.sum()) ** 3

    for function in (weighted_count, cubed):
        group = pc.Custom([[0, 1], [2, 3, 1]], function, [[2.0], [3.0]], partial="subset")
        crf = pc.CRF(np.zeros((4, 2)), group)
        found = cloudpickle.loads(cloudpickle.dumps(crf))
        for labels in ([0, 1, 1, 0], [1, 1, 1, 1]):
            assert found.energy(labels) == crf.energy(labels)
        assert found.partial_energy([1, -1, 1, -1]) == crf.partial_energy([1, -1, 1, -1])


def test_an_instance_a_policy_and_a_solution_arrive_equal():
    scene, policy = pc.make_scene(60, "B", seed=3), pc.load_policy("labels")
    there, other = travelled(scene), travelled(policy)
    for name in ("features", "edges", "edge_weights", "truth", "positions"):
        mine, theirs = getattr(scene, name), getattr(there, name)
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
        assert not theirs.flags.writeable
    assert (there.label_names, there.source) == (scene.label_names, scene.source)
    assert other.spec == policy.spec
    assert other.training == policy.training
    for name, array in policy.weights.items():
        np.testing.assert_array_equal(array, other.weights[name])
    solution = pc.solve(there, other)
    assert solution.energy == pc.solve(scene, policy).energy
    arrived = travelled(solution)
    assert (arrived.labels == solution.labels).all()
    assert (arrived.order == solution.order).all()
    assert (arrived.labels.dtype, arrived.trace) == (solution.labels.dtype, solution.trace)
    assert (arrived.energy, arrived.solver) == (solution.energy, solution.solver)


def test_what_travels_is_small():
    scene = pc.make_scene(250, "B", seed=0)
    floats = scene.crf.unary.nbytes + scene.features.nbytes + scene.edge_weights.nbytes
    assert len(pickle.dumps(scene, 5)) < 1.2 * floats
    policy = pc.load_policy("labels")
    pc.solve(scene, policy)  # builds its net, which stays behind
    weights = sum(array.nbytes for array in policy.weights.values())
    assert len(pickle.dumps(policy, 5)) < weights + 20_000
    assert len(pickle.dumps(pc.solve(scene, "alpha_expansion"), 5)) < 2_000
