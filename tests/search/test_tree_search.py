"""The tree against hand-worked ones, against a plain one, and against the optimum."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.policy.builders import halfway_instance
from tests.search.reference import (
    PlainSearch,
    plain_as_dictionary,
    tiny_instance,
    tree_as_dictionary,
)

import policrf as pc
from policrf.errors import InvalidLabeling, InvalidOption
from policrf.policy.engine import Engine
from policrf.random_numbers import new_generator
from policrf.scenes import make_family
from policrf.search.search import SearchOptions, TreeSearch
from policrf.search.select_action import halving_schedule
from policrf.testing.reference import reference_minimum

GOLDEN = Path(__file__).parent / "golden"


def hcf(instance, **fields):
    return pc.Policy.untrained(
        n_labels=instance.crf.n_labels, n_features=instance.features.shape[1], **fields
    )


def search_of(instance, seed=0, policy=None, **options):
    options = {"stop_early": False, "reward": "sign", "exploration": 1.0, "borrow": 0} | options
    return TreeSearch(policy or hcf(instance), instance, SearchOptions(**options), seed=seed)


@pytest.mark.parametrize("name", ["potts", "quota"])
def test_golden_tree(name):
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    terms = []
    if "edges" in golden:
        terms.append(pc.Potts(golden["edges"], np.array(golden["weights"], float)))
    if "quota" in golden:
        q = golden["quota"]
        terms.append(
            pc.BoxSupport([q["clique"]], [q["label"]], [float(q["penalty"])], [q["count"]])
        )
    instance = pc.Instance.from_crf(pc.CRF(np.array(golden["unary"], float), *terms))
    search = search_of(instance, **golden["options"])
    for expected in golden["after"]:
        search.simulate(1)
        found = {
            "".join(f"{node}{label}" for node, label in path): [
                visits,
                [[*action, taken, total] for action, (taken, total, _) in actions.items()],
            ]
            for path, (visits, actions) in tree_as_dictionary(search).items()
        }
        assert found == expected


@pytest.mark.parametrize("encourage", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_statistics_are_those_of_the_plain_search(seed, encourage):
    instance = tiny_instance(seed, n_nodes=5, groups=("potts", "hop1", "hop2"), forbidden=0.15)
    policy = hcf(instance, seed=seed, kind=("paper", "residual")[seed % 2])
    options = SearchOptions(
        simulations=12,
        depth=3,
        candidates=0,
        encourage=encourage,
        stop_early=False,
        reward="sign",
        exploration=1.0,
        borrow=0,
    )
    search = TreeSearch(policy, instance, options, seed=seed)
    plain = PlainSearch(policy, instance, options, new_generator(0))
    plain.generator[:] = search._search.generator
    while search.remaining:
        search.simulate()
        for _ in range(12):
            plain.simulate()
        expected, found = plain_as_dictionary(plain), tree_as_dictionary(search)
        assert set(expected) == set(found)
        for path, (visits, actions) in expected.items():
            assert found[path][0] == visits
            assert set(found[path][1]) == set(actions)
            for action, numbers in actions.items():
                assert found[path][1][action] == pytest.approx(numbers, abs=1e-9)
        plain.commit(search.commit())


def test_bounded_candidates_hold_the_best_priors():
    instance = tiny_instance(3, n_nodes=12, n_labels=4)
    policy = hcf(instance, kind="paper")
    every = TreeSearch(policy, instance, SearchOptions(candidates=0, encourage=False))
    few = TreeSearch(policy, instance, SearchOptions(candidates=5, encourage=False))
    for search in (every, few):
        search.simulate(1)
    assert few.tree.n_actions[0] == 5
    assert few.tree.action[0, :5].tolist() == every.tree.action[0, :5].tolist()
    scores = np.sort(Engine(policy, instance).all_scores().reshape(-1))[::-1]
    assert few.tree.score[0, :5].tolist() == scores[:5].tolist()


def test_as_many_candidates_as_visits_change_nothing_but_the_normaliser():
    instance = tiny_instance(5, n_nodes=9, n_labels=3, groups=("potts", "hop1"))
    options = {"simulations": 6, "depth": 1, "encourage": False, "exploration": 0.0}
    every = search_of(instance, candidates=0, reward="difference", **options)
    few = search_of(instance, candidates=6, reward="difference", **options)
    for search in (every, few):
        search.simulate()
    taken = [s.tree.taken[0, : s.tree.n_actions[0]] for s in (every, few)]
    assert taken[0][:6].tolist() == taken[1].tolist()
    assert taken[0][6:].sum() == 0


@pytest.mark.parametrize("seed", range(5))
def test_rollouts_converge_to_the_optimum(seed):
    instance = tiny_instance(seed, n_nodes=6, n_labels=3, groups=("potts", "hop1", "hop2"))
    optimum = reference_minimum(instance.crf)
    policy = hcf(instance)
    gaps = []
    for simulations in (1, 30, 1000):
        options = {"depth": 6, "leaf": "rollout", "candidates": 0, "encourage": False}
        solution = pc.solve(instance, policy, search=simulations, **options)
        gaps.append(solution.energy - optimum)
    greedy = pc.solve(instance, policy).energy
    assert gaps[0] <= greedy - optimum + 1e-9
    assert gaps[2] == pytest.approx(0.0, abs=1e-9)
    assert gaps[2] <= gaps[1] + 1e-9 <= gaps[0] + 2e-9


@pytest.mark.parametrize("leaf", ["rewards", "rollout"])
@pytest.mark.parametrize("kind", ["paper", "residual"])
@pytest.mark.parametrize("halfway", [False, True])
def test_search_leaves_the_engine_as_it_was(kind, leaf, halfway):
    instance = tiny_instance(7, n_nodes=14, n_labels=4)
    if halfway:
        instance = halfway_instance(7, n_nodes=14)
    policy = hcf(instance, kind=kind)
    search = TreeSearch(policy, instance, SearchOptions(leaf=leaf, simulations=30))
    for _ in range(5):
        search.simulate()
        search.commit()
    search.simulate()
    while search.engine.parts.work.journal.used[0]:
        search.engine.undo()
    fresh = Engine(policy, instance)
    for node, label in zip(search.order[:5], search.labels[:5], strict=True):
        fresh.step(int(node), int(label))
    for name in ("rows", "best"):
        same = getattr(search.engine.parts.work, name), getattr(fresh.parts.work, name)
        if name == "best":
            open_nodes = fresh.labels < 0
            same = same[0][open_nodes], same[1][open_nodes]
        assert np.array_equal(*same)
    assert np.array_equal(search.engine.parts.work.scores.values, fresh.parts.work.scores.values)
    assert np.array_equal(search.engine.labels, fresh.labels)
    assert search.engine.parts.state.total[0] == fresh.parts.state.total[0]


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_forbidden_labels_and_labeled_nodes_are_never_in_the_tree(root):
    instance = tiny_instance(2, n_nodes=8, n_labels=4, forbidden=0.4, ragged=True)
    allowed = np.isfinite(instance.crf.unary)
    search = search_of(instance, root=root, gumbel_scale=1.0, candidates=4)
    while search.remaining:
        search.simulate()
        labels = search.engine.instance.crf.unary[:, 0] * 0 - 1
        labels[search.order[: search.done]] = search.labels[: search.done]
        for path, (_, actions) in tree_as_dictionary(search).items():
            gone = {node for node, _ in path}
            assert len(gone) == len(path)
            for node, label in actions:
                assert allowed[node, label]
                assert labels[node] < 0
                assert node not in gone
        search.commit(draw=True)
    assert np.isfinite(instance.crf.unary[np.arange(8), search.engine.labels]).all()


def test_kept_statistics_are_those_of_the_chosen_child():
    instance = tiny_instance(1, n_nodes=8)
    search = search_of(instance, simulations=40, depth=4, encourage=True)
    search.simulate()
    before = tree_as_dictionary(search)
    action = search.commit()
    after = tree_as_dictionary(search)
    assert after == {path[1:]: rest for path, rest in before.items() if path[:1] == (action,)}
    assert len(after) > 1


def test_the_tree_policy_is_the_share_of_visits():
    instance = tiny_instance(4, n_nodes=8)
    search = search_of(instance, simulations=25)
    search.simulate()
    actions, policy = search.tree_policy()
    taken = search.tree.taken[0, : len(actions)]
    assert taken.sum() == search.tree.visits[0] == 25
    assert policy.tolist() == pytest.approx((taken / 25).tolist())
    assert search.commit() == tuple(actions[np.argmax(policy)])


def test_the_same_seed_gives_the_same_labeling_and_another_may_not():
    scene = pc.make_scene(60, "B", seed=3)
    policy = hcf(scene)
    found = [
        pc.solve(scene, policy, search=10, encourage=True, seed=s).order.tolist() for s in (1, 1, 2)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_stopping_early_decides_the_same():
    instance = tiny_instance(6, n_nodes=10, n_labels=3)
    for seed in range(10):
        both = [
            search_of(instance, seed, simulations=30, stop_early=early) for early in (False, True)
        ]
        for search in both:
            search.simulate()
        assert both[0].commit() == both[1].commit()


def test_a_borrowing_state_has_its_parents_actions_until_it_was_reached_often_enough():
    instance = tiny_instance(4, n_nodes=12, n_labels=3)
    search = search_of(instance, simulations=40, candidates=5, borrow=2)
    seen = {0: 0, 1: 0}
    for _ in range(40):
        search.simulate(1)
        tree = search.tree
        for state in range(tree.used[0]):
            for k in range(max(0, tree.n_actions[state])):
                child = tree.child[state, k]
                if child < 0 or tree.n_actions[child] < 0:
                    continue
                seen[int(tree.borrowed[child])] += 1
                if not tree.borrowed[child]:
                    continue
                assert tree.visits[child] <= 2
                gone = tree.action[state, k, 0]
                kept = [
                    (tuple(action), score)
                    for action, score in zip(
                        tree.action[state, : tree.n_actions[state]].tolist(),
                        tree.score[state].tolist(),
                        strict=False,
                    )
                    if action[0] != gone
                ]
                count = tree.n_actions[child]
                found = zip(
                    map(tuple, tree.action[child, :count].tolist()),
                    tree.score[child, :count].tolist(),
                    strict=True,
                )
                if not tree.borrowed[state] or tree.visits[state] <= 2:
                    assert list(found) == kept
                assert tree.prior[child, :count].sum() == pytest.approx(1.0)
    assert seen[0] > 0
    assert seen[1] > 0


def test_gumbel_halves_the_actions():
    assert halving_schedule(4, 8).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert halving_schedule(1, 3).tolist() == [0, 1, 2]
    instance = tiny_instance(9, n_nodes=10, n_labels=3)
    search = search_of(instance, root="gumbel", candidates=4, encourage=False, simulations=8)
    search.simulate()
    assert sorted(search.tree.taken[0, :4].tolist()) == [1, 1, 3, 3]
    _, policy = search.tree_policy()
    assert policy.sum() == pytest.approx(1.0)
    assert (policy > 0).all()


def test_rollouts_find_a_quota_that_labels_one_by_one_do_not():
    scene = pc.make_scene(50, "B", seed=11)
    policy = hcf(scene)
    greedy = pc.solve(scene, policy).energy
    searched = pc.solve(scene, policy, search=8, depth=4, leaf="rollout", encourage=False)
    assert searched.energy <= greedy
    assert searched.energy == scene.crf.energy(searched.labels)
    assert sorted(searched.order.tolist()) == list(range(50))


def test_search_lowers_the_energy_of_the_greedy_policy():
    scenes = [pc.make_scene(100, "B", seed=seed) for seed in range(6)]
    policy = hcf(scenes[0])
    greedy = np.array([pc.solve(scene, policy).energy for scene in scenes])
    searched = np.array([pc.solve(scene, policy, search=20, depth=4).energy for scene in scenes])
    assert searched.mean() < greedy.mean()
    assert (searched <= greedy + 1e-9).sum() >= 5


@pytest.mark.parametrize("family", ["two_labels", "parity", "order"])
def test_search_lowers_the_energy_of_potentials_asked_half_way(family):
    """A rollout is the greedy labeling or better; the best one is kept."""
    lowered = 0
    for seed in range(3):
        instance = pc.Instance.from_crf(make_family(family, 36, 3, seed=seed))
        policy = hcf(instance)
        greedy = pc.solve(instance, policy).energy
        searched = pc.solve(instance, policy, search=12, leaf="rollout").energy
        assert searched <= greedy + 1e-9
        lowered += searched < greedy - 1e-9
    assert lowered


def test_options_are_checked():
    instance = tiny_instance(0)
    policy = hcf(instance)
    with pytest.raises(InvalidOption, match="leaf is 'value'"):
        pc.solve(instance, policy, search=5, leaf="value")
    with pytest.raises(InvalidOption, match="no option 'width'"):
        pc.solve(instance, policy, search=5, width=3)
    with pytest.raises(InvalidOption, match="depth is an option of search"):
        pc.solve(instance, policy, depth=3)
    with pytest.raises(InvalidOption, match="no option 'simulations'"):
        pc.solve(instance, policy, simulations=3)
    with pytest.raises(InvalidOption, match="depth is 0"):
        pc.solve(instance, policy, search=5, depth=0)
    search = search_of(instance)
    search.decide(10**6)
    while search.remaining:
        search.decide(10**6)
    with pytest.raises(InvalidLabeling, match="nothing to search"):
        search.simulate()


def test_as_a_solver_it_keeps_the_contract():
    from policrf.testing import check_solver

    def searching(run):
        policy = hcf(run.instance or pc.Instance.from_crf(run.crf))
        policy(run, search=4, depth=2)

    assert set(check_solver(searching).values()) == {"ok"}
