"""The learners of the shared kind: each moves the policy towards what it is told to."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.policy.builders import random_policy

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.experience.corpus import Instances
from policrf.learn.learners.evolve import EvolveLearner
from policrf.learn.learners.imitate import squashed_margins
from policrf.learn.learners.shared import BestOfEpisodes, QLearner, shared_learner
from policrf.learn.options import Shared
from policrf.learn.options.flat_fields import with_fields
from policrf.learn.train import train

torch = pytest.importorskip("torch")
QUICK = {"updates": 2, "batch": 2, "width": 8, "simulations": 3, "pairs": 2, "trials": 4}


def mixed(count: int) -> list[pc.Instance]:
    """Scenes of two numbers of labels."""
    return [pc.make_scene(20, "B", seed=k, n_labels=(4, 6)[k % 2]) for k in range(count)]


def learner_of(scenes: list[pc.Instance], **options: object):
    start = random_policy(scenes[0], "shared", "expected", 3)
    config = with_fields(Shared(), QUICK | options, "shared")
    return shared_learner(config, start.spec, Instances(scenes), 1, start)


def test_the_default_follows_the_data() -> None:
    scenes = mixed(4)
    bare = [pc.Instance.from_crf(scene.crf) for scene in scenes]
    assert isinstance(learner_of(scenes), BestOfEpisodes)
    assert isinstance(learner_of(scenes, truth=0.0), EvolveLearner)
    assert isinstance(learner_of(bare), EvolveLearner)
    assert isinstance(learner_of(scenes, learner="q"), QLearner)
    with pytest.raises(InvalidOption, match="learner is 'magic'; it must be one of imitate, q,"):
        with_fields(Shared(), {"learner": "magic"}, "shared")


@pytest.mark.parametrize("way", [{"target": "hindsight"}, {"target": "reward"},
                                 {"target": "reward", "reward": "difference"}])  # fmt: skip
def test_q_moves_all_scores_towards_rewards_in_the_same_state(way: dict[str, str]) -> None:
    learner = learner_of(mixed(4), learner="q", epsilon=0.8, **way)
    with ThreadPoolExecutor(1) as pool:
        learner.begin(pool)
    learner.batch = learner.batches[0]
    for seen in learner.batch:
        crf = learner.corpus.instances[seen.instance].crf
        assert seen.rewards.shape == (len(seen.nodes), crf.n_labels)
        assert np.abs(seen.rewards).max() <= 1.0
        if way == {"target": "reward"}:  # R2 in the empty state: is the label the cheapest
            best = np.argmin(seen.costs[: crf.n_nodes], axis=1)
            assert (seen.rewards[np.arange(crf.n_nodes), best] > 0).mean() > 0.5
    before = learner.loss()
    before.backward()
    moved = [name for name, tensor in learner.theta.items() if tensor.grad.abs().sum() > 0]
    assert {"head_linear", "prior_out", "mix"} <= set(moved)
    for _ in range(30):
        learner.update()
    assert learner.loss() < 0.9 * before.detach()


def test_trees_labels_are_targets_in_the_states_they_were_decided_in() -> None:
    learner = learner_of(mixed(4), learner="tree")
    with ThreadPoolExecutor(1) as pool:
        learner.begin(pool)
    seen = learner.batches[0][0]
    crf = learner.corpus.instances[seen.instance].crf
    assert seen.energy == pytest.approx(crf.energy(seen.labels))
    nothing, decided = learner.targets(seen)
    assert nothing.weights.sum() == 0
    np.testing.assert_array_equal(decided.labels, seen.labels[seen.nodes])
    assert decided.weights.sum() == pytest.approx(1.0)


def test_the_best_of_several_episodes_is_never_above_the_only_one() -> None:
    energies = []
    for count in (1, 4):
        learner = learner_of(mixed(2), learner="imitate", truth=0.0, perturbed=count, epsilon=0.5)
        seen = learner.episode(learner.policy(), 0, 5)
        crf = learner.corpus.instances[0].crf
        assert seen.energy == pytest.approx(crf.energy(seen.labels))
        energies.append(seen.energy)
    assert energies[1] <= energies[0]


def test_scores_are_margins_of_costs() -> None:
    costs = torch.tensor([[0.0, 1.0, 3.0]])
    np.testing.assert_allclose(squashed_margins(costs), [[0.5, -0.5, -0.75]])


@pytest.mark.parametrize("learner", ["q", "tree", "imitate", "evolve"])
def test_every_learner_gives_a_policy_for_any_labels(learner: str) -> None:
    scenes = mixed(6)
    policy = train(scenes, "shared", learner=learner, rounds=1, seed=2, **QUICK)
    fresh = pc.make_scene(20, "A", seed=9, n_labels=9)
    assert pc.solve(fresh, policy).labels.shape == (20,)
    with pytest.raises(InvalidOption, match="use the method 'shared' with learner 'q'"):
        train(scenes, "dqn", kind="shared", rounds=1)
