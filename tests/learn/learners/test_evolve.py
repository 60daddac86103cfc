"""Policy search: what a try is worth, and that it lowers energies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.experience.corpus import Instances
from policrf.learn.learners.evolve import EvolveLearner
from policrf.learn.options import Evolve
from policrf.learn.options.flat_fields import with_fields
from policrf.scenes import make_family

torch = pytest.importorskip("torch")
QUICK = {"pairs": 4, "trials": 6, "sigma": 0.3, "step": 0.1, "tensors": ("head_linear",)}


def learner_of(**options: object) -> EvolveLearner:
    instances = [pc.Instance.from_crf(make_family("size_prior", 36, 4, seed)) for seed in range(8)]
    config = with_fields(Evolve(kind="shared", lower="icm"), QUICK | options, "evolve")
    spec = pc.Policy.untrained(kind="shared", width=8).spec
    return EvolveLearner(config, spec, Instances(instances), 1)


def test_measured_in_tries_every_instance_has_the_same_say() -> None:
    learner = learner_of(scale="tries")
    energies = np.random.default_rng(0).normal(size=(8, 5))
    worth = learner._worth(energies, np.arange(5))
    scaled = energies * [1.0, 10.0, 100.0, 0.1, 5.0] + [0.0, 3.0, -7.0, 1e3, 2.0]
    np.testing.assert_allclose(learner._worth(scaled, np.arange(5)), worth, atol=1e-9)


def test_a_guard_counts_rises_above_the_untrained_rule() -> None:
    learner = learner_of(scale="tries", guard=3.0)
    learner.reference[:2] = 1.0
    energies = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    plain = learner_of(scale="tries")._worth(energies, np.arange(2))
    guarded = learner._worth(energies, np.arange(2))
    np.testing.assert_allclose(guarded[:2], plain[:2])
    assert guarded[2] < plain[2]


def test_the_step_falls_and_energies_do() -> None:
    learner = learner_of(scale="tries", fall_rounds=12)
    steps = []
    with ThreadPoolExecutor(1) as pool:
        learner.begin(pool)
        for _ in range(12):
            learner.round(pool)
            steps.append(learner._step)
    assert steps == sorted(steps, reverse=True)
    assert steps[-1] == 0.0
    policy = learner.policy()
    after = [learner._energy(policy, k) for k in range(8)]
    assert np.mean(after) < np.mean(learner.reference)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InvalidOption, match="scale is 'luck'; it must be one of energy, tries"):
        learner_of(scale="luck")
    with pytest.raises(InvalidOption, match="guard is -1"):
        learner_of(guard=-1.0)
    with pytest.raises(InvalidOption, match="no tensor 'theta5'"):
        learner_of(tensors=("theta5",))
