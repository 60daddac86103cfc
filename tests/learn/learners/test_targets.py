from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import policrf as pc
from policrf.learn.experience.acting import play
from policrf.learn.experience.corpus import Corpus
from policrf.learn.learners.dqn import DQNLearner
from policrf.learn.learners.targets import BestKnown, following_states, steps_of
from policrf.learn.options import DQN, Returns
from policrf.mdp.rewards import load_reward
from policrf.policy.engine import Engine
from policrf.policy.network import Spec
from policrf.policy.policy import Policy

SCENE = pc.make_scene(30, "A", seed=3)


def trail(best_views=False, kind="paper"):
    policy = Policy.untrained(n_labels=21, n_features=85, kind=kind, width=4)
    engine = Engine(policy, SCENE)
    return play(
        engine, epsilon=0.4, seed=5, reward=load_reward("difference"), best_views=best_views
    )


def test_returns_to_the_end_of_the_energy_difference_are_minus_the_rest_of_the_energy():
    t = trail()
    keep = np.arange(30)
    steps = steps_of(t, 0, Returns(backup="taken", discount=1.0, ahead=0), scale=1.0, keep=keep)
    assert steps.kept.returns[0] == pytest.approx(-t.energy[0], rel=1e-5)
    assert (steps.kept.factors == 0).all()


@pytest.mark.parametrize("ahead", [1, 3])
def test_n_step_targets_lead_to_the_state_n_actions_later(ahead):
    t = trail(best_views=True, kind="residual")
    keep = np.array([0, 4, 26, 29])
    how = Returns(backup="taken", discount=0.9, ahead=ahead)
    steps = steps_of(t, 0, how, scale=2.0, keep=keep)
    taken = t.rewards[np.arange(30), t.labels] / 2.0
    for row, k in enumerate(keep):
        rewards = taken[k : k + ahead]
        assert steps.kept.returns[row] == pytest.approx(
            sum(0.9**j * r for j, r in enumerate(rewards)), rel=1e-4
        )
        ends = k + ahead >= 30
        assert steps.kept.factors[row] == pytest.approx(0.0 if ends else 0.9**ahead)
        later = following_states(steps)[row]
        assert (later >= 0).sum() == min(k + ahead, 30)
        for node, label in zip(t.nodes[: k + ahead], t.labels[: k + ahead], strict=True):
            assert later[node] == label
        if not ends:
            assert steps.actions[row, -1].tolist() == t.best[k + ahead].tolist()
            assert later[steps.actions[row, -1, 0]] == -1
            np.testing.assert_array_equal(steps.kept.later_views[row], t.best_views[k + ahead])
        np.testing.assert_array_equal(steps.kept.views[row], t.views[k])


def test_all_labels_are_backed_up_by_their_rewards():
    t = trail(kind="residual")
    steps = steps_of(t, 0, Returns(), scale=2.0, keep=np.array([3, 8]))
    np.testing.assert_allclose(steps.kept.rewards, t.rewards[[3, 8]] / 2.0)
    assert steps.kept.later_views.shape[1] == 0
    assert steps.actions.shape == (2, 0, 2)


def test_best_known_keeps_the_lowest():
    best = BestKnown(Corpus([SCENE, SCENE]))
    low, high = np.full(30, 2), np.full(30, 3)
    assert best.offer(1, high, 5.0)
    assert not best.offer(1, low, 5.0)
    assert best.offer(1, low, 4.0)
    assert best.of(np.array([1, 1]), np.array([0, 29])).tolist() == [2, 2]
    assert best.of(np.array([0]), np.array([4]))[0] == np.argmin(SCENE.crf.unary[4])


def hard_scene():
    """A scene in which some labels are forbidden: by their unary, and beside a labeled node."""
    scene = pc.make_scene(20, "A", seed=3)
    unary = scene.crf.unary.copy()
    unary[::2, 1:9] = np.inf
    never = np.zeros((21, 21))
    never[2, 3] = never[3, 2] = np.inf
    crf = pc.CRF(unary, pc.Pairwise(scene.edges, never), *scene.crf.potentials)
    return replace(scene, crf=crf)


@pytest.mark.parametrize("reward", ["difference", "shaped"])
@pytest.mark.parametrize("backup", ["all", "taken"])
def test_forbidden_labels_are_no_part_of_the_regression(reward, backup):
    scene = hard_scene()
    options = DQN(reward=reward, target="reward", returns=Returns(backup=backup))
    corpus = Corpus([scene])
    spec = Spec(n_labels=21, n_features=scene.features.shape[1], width=4)
    learner = DQNLearner(options, spec, corpus)
    with ThreadPoolExecutor(1) as pool:
        learner.begin(pool)
    kept = learner.replay.steps.kept
    if backup == "all":
        held = learner.replay.sample(200, np.random.default_rng(0)).kept
        assert not held.known.all()
        assert np.abs(held.rewards[held.known]).max() < 1e3
        forbidden = np.isinf(scene.crf.unary).mean()
        assert (~held.known).mean() > forbidden / 2
    assert np.abs(kept.returns).max() < 1e3
    assert learner.scale < 1e3
    assert learner.update() < 1e3


def test_rewards_are_scaled_only_where_that_is_asked_for():
    for scaled in (True, False):
        returns = Returns(backup="taken", scaled=scaled)
        options = DQN(reward="difference", target="reward", returns=returns)
        learner = DQNLearner(options, Spec(n_labels=21, n_features=85, width=4), Corpus([SCENE]))
        with ThreadPoolExecutor(1) as pool:
            learner.begin(pool)
        assert (learner.scale == 1.0) == (not scaled)
