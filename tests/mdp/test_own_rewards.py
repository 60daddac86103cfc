"""Rewards from outside the package, compiled or not: paid wherever the built-in ones are."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption, MissingDependency, RewardFailed
from policrf.learn.experience.acting import play
from policrf.learn.experience.self_play import play_game
from policrf.mdp.rewards import REWARDS, SHAPED, SIGN, Reward, difference, load_reward, shaped, sign
from policrf.mdp.state import Episode
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy
from policrf.search.search import SearchOptions, TreeSearch
from policrf.testing import random_crf

SCENE = pc.make_scene(25, "B", seed=3)


@numba.njit
def compiled_regret(costs, changes, ties, out):
    """How much less the best label costs; the changes come in with a small weight."""
    lowest = costs.min()
    for label in range(len(out)):
        out[label] = lowest - costs[label] - 0.01 * changes[label] + ties


def plain_regret(costs, changes, ties, out):
    out[:] = costs.min() - costs - 0.01 * changes + ties


def policy(kind="residual"):
    return Policy.untrained(n_labels=21, n_features=85, kind=kind, width=4)


@pytest.fixture
def own(monkeypatch):
    """Adds rewards to the registry for one test."""

    def add(name: str, target: object) -> str:
        monkeypatch.setitem(REWARDS._targets, name, target)
        return name

    return add


@pytest.mark.parametrize("function", [compiled_regret, plain_regret])
@pytest.mark.parametrize("ties", [False, True])
def test_it_gets_the_costs_and_the_changes_of_every_label(own, function, ties):
    own("regret", Reward(function, changes="all"))
    crf = random_crf(5, n_nodes=7, n_labels=3)
    rng = np.random.default_rng(2)
    episode = Episode(crf, rewards=("regret",), ties=ties)
    for node in rng.permutation(7):
        label = int(rng.integers(3))
        known = []
        for each in range(3):
            earned = Episode(crf)
            for before in episode.order:
                earned.step(before, int(episode.labels[before]))
            known.append(earned.step(int(node), each))
        costs = np.array([-one["difference"] for one in known])
        expected = costs.min() - costs[label] + 0.01 * known[label]["shaped"] + ties
        assert episode.step(int(node), label)["regret"] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["difference", "sign", "shaped"])
def test_a_built_in_reward_through_the_pointer_gives_the_same(own, name):
    """A copy of the built-in function is not known to the kernels: they call its address."""
    function = {"difference": difference, "sign": sign, "shaped": shaped}[name].py_func
    traits = {"sign": SIGN, "shaped": SHAPED}.get(name, Reward(difference))
    copy = Reward(
        numba.njit(function),
        bounded=traits.bounded,
        needs_costs=traits.needs_costs,
        changes=traits.changes,
        forbidden=traits.forbidden,
    )
    own("copy", copy)
    assert load_reward("copy").address != load_reward(name).address == 0
    trails = [
        play(Engine(policy(), SCENE), epsilon=0.4, seed=1, reward=load_reward(one, ties=True))
        for one in (name, "copy")
    ]
    assert np.array_equal(trails[0].rewards, trails[1].rewards)
    games = [
        play_game(
            TreeSearch(
                policy("paper"),
                SCENE,
                SearchOptions(simulations=8, depth=3, reward=one, root="gumbel", gumbel_scale=1.0),
            ),
            which=0,
            seed=3,
            refine=False,
        )
        for one in (name, "copy")
    ]
    assert np.array_equal(games[0].rewards, games[1].rewards)
    assert np.array_equal(games[0].nodes, games[1].nodes)
    assert np.array_equal(games[0].values, games[1].values, equal_nan=True)


def test_a_search_follows_the_reward_it_is_given(own):
    own("last", Reward(prefer_last, bounded=True))
    search = TreeSearch(policy("paper"), SCENE, SearchOptions(candidates=0, reward="last"))
    search.simulate(200)
    actions, share = search.tree_policy()
    assert actions[np.argmax(share), 1] == 20


def prefer_last(costs, changes, ties, out):
    out[:] = -1.0
    out[-1] = 1.0


@pytest.mark.parametrize("bounded", [True, False])
def test_bounded_is_what_the_kernels_are_told(own, bounded):
    assert load_reward(own("mine", Reward(prefer_last, bounded=bounded))).bounded is bounded


def test_learning_meets_no_infinite_reward(own):
    own("plain", Reward(plain_regret, forbidden=-7.0))
    unary = SCENE.crf.unary.copy()
    unary[:, 4] = np.inf
    instance = pc.Instance.from_crf(pc.CRF(unary, pc.Potts(SCENE.crf.arrays.edges, 1.0)))
    engine = Engine(
        Policy.untrained(n_labels=21, n_features=instance.features.shape[1], width=4), instance
    )
    for name, value in (("plain", -7.0), ("sign", -1.0), ("difference", -1e6), ("shaped", -1e6)):
        rewards = play(engine, epsilon=0.5, seed=1, reward=load_reward(name)).rewards
        assert (rewards[:, 4] == np.float32(value)).all()
        assert np.isfinite(rewards).all()


def test_only_the_changes_that_are_asked_for_are_computed(own):
    seen = []
    own("own", Reward(lambda costs, changes, ties, out: seen.append(changes), changes="own"))
    Episode(SCENE.crf, rewards=("own",)).step(0, 3)
    assert np.flatnonzero(seen[0]).tolist() == [3]
    own("none", Reward(lambda costs, changes, ties, out: seen.append(changes)))
    Episode(SCENE.crf, rewards=("none",)).step(0, 3)
    assert not seen[1].any()


@numba.njit
def raises(costs, changes, ties, out):
    if costs[0] < 1e9:
        raise ValueError("never mind")


@numba.njit
def gives_nan(costs, changes, ties, out):
    out[:] = np.nan


def raises_in_python(costs, changes, ties, out):
    raise ValueError("never mind")


@pytest.mark.parametrize("function", [raises, gives_nan, raises_in_python])
def test_a_reward_that_fails_is_named(own, function):
    own("broken", function)
    with pytest.raises(RewardFailed, match="'broken'"):
        Episode(SCENE.crf, rewards=("broken",)).step(0, 0)
    with pytest.raises(RewardFailed, match="'broken'"):
        play(Engine(policy(), SCENE), epsilon=0.5, seed=0, reward=load_reward("broken"))
    with pytest.raises(RewardFailed, match="'broken'"):
        TreeSearch(policy(), SCENE, SearchOptions(reward="broken")).simulate(3)
    Episode(SCENE.crf).step(0, 0)  # nothing is left over for the next one


def test_what_cannot_be_a_reward_is_refused(own):
    own("short", numba.njit(lambda costs: None))
    with pytest.raises(RewardFailed, match="cannot compile the reward 'short'"):
        load_reward("short")
    with pytest.raises(InvalidOption, match="none, own, all"):
        Reward(plain_regret, changes="some")
    with pytest.raises(InvalidOption, match="finite"):
        Reward(plain_regret, forbidden=-np.inf)
    own("gone", "policrf_no_such_module:reward")
    with pytest.raises(MissingDependency, match=r"reward 'gone'.*policrf_no_such_module"):
        load_reward("gone")
