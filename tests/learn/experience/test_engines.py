"""Engines that are kept: the same episodes to the bit, and no more memory than allowed."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.policy.builders import random_instance, random_policy

from policrf.learn.experience.acting import play
from policrf.learn.experience.engines import kept_engines
from policrf.learn.experience.self_play import play_game
from policrf.mdp.rewards import load_reward
from policrf.policy.engine import Engine
from policrf.search.search import SearchOptions, TreeSearch

INSTANCES = [random_instance(30 + 5 * k, k) for k in range(4)]


def policies(kind: str, costs: str) -> list:
    return [random_policy(INSTANCES[0], kind, costs, seed) for seed in (2, 8, 14)]


@pytest.mark.parametrize(("kind", "costs"), [("paper", "partial"), ("residual", "expected")])
def test_episodes_on_kept_engines_are_those_on_new_ones(kind: str, costs: str) -> None:
    engines = kept_engines(INSTANCES)
    for seed, policy in enumerate(policies(kind, costs)):
        for k, instance in enumerate(INSTANCES):
            options = {
                "epsilon": 0.5,
                "seed": seed,
                "reward": load_reward("sign"),
                "best_views": True,
            }
            with engines.lent(policy, k) as engine:
                kept = play(engine, **options)
            for one, other in zip(kept, play(Engine(policy, instance), **options), strict=True):
                np.testing.assert_array_equal(one, other)
    assert len(engines) == len(INSTANCES)


def test_games_on_a_kept_search_are_those_on_a_new_one() -> None:
    options = SearchOptions(simulations=6, depth=3, root="gumbel", gumbel_scale=1.0, borrow=0)
    one, two, three = policies("residual", "expected")
    search = TreeSearch(one, INSTANCES[1], options)
    play_game(search, which=1, seed=7, refine=False)
    for seed, policy in enumerate((two, three)):
        search.engine.load(policy)
        kept = play_game(search, which=1, seed=seed, refine=False)
        fresh = TreeSearch(policy, INSTANCES[1], options)
        new = play_game(fresh, which=1, seed=seed, refine=False)
        for name in ("nodes", "labels", "actions", "policy", "values", "rewards"):
            np.testing.assert_array_equal(getattr(kept, name), getattr(new, name))


def test_memory_is_bounded_and_the_first_engines_stay() -> None:
    policy = policies("paper", "partial")[0]
    room = sum(Engine(policy, instance).nbytes for instance in INSTANCES[:2])
    engines = kept_engines(INSTANCES, largest=room)
    first = {}
    for turn in range(2):
        for k in range(4):
            with engines.lent(policy, k) as engine:
                first.setdefault(k, engine)
                assert (engine is first[k]) == (turn == 0 or k < 2)
    assert engines.nbytes == room
    assert len(engines) == 2


def test_two_threads_never_share_an_engine() -> None:
    policy = policies("residual", "relaxed")[0]
    engines = kept_engines(INSTANCES)
    with engines.lent(policy, 0) as one, engines.lent(policy, 0) as two:
        assert one is not two
    expected = [Engine(policy, instance).label_all()[0] for instance in INSTANCES]

    def label(k: int) -> np.ndarray:
        with engines.lent(policy, k % 4) as engine:
            return engine.label_all()[0]

    with ThreadPoolExecutor(4) as pool:
        for k, labels in enumerate(pool.map(label, range(40))):
            np.testing.assert_array_equal(labels, expected[k % 4])
    assert len(engines) == 4


def test_an_engine_that_failed_is_not_lent_again() -> None:
    engines = kept_engines(INSTANCES)
    policy = policies("paper", "partial")[0]
    with pytest.raises(ZeroDivisionError), engines.lent(policy, 0):
        raise ZeroDivisionError
    assert len(engines) == 0
