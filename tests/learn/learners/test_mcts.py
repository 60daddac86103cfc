"""Learning from tree search: what is stored and what is learned; and resuming a run."""

import json

import numpy as np
import pytest
import torch

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.experience.corpus import Corpus
from policrf.learn.learners.mcts import MCTSLearner
from policrf.learn.learners.tree_targets import (
    advantages,
    hindsight_targets,
    rows_of,
    visit_targets,
)
from policrf.learn.options import MCTS, Search
from policrf.learn.options.flat_fields import with_fields
from policrf.learn.train import train
from policrf.learn.validate import validate
from policrf.mdp.rewards import load_reward
from policrf.policy.network import Spec
from policrf.testing.batch import make_batch
from policrf.testing.network import PolicyNetwork, mask_scores

SCENES = [pc.make_scene(20, "A", seed=seed) for seed in range(12)]
QUICK = {
    "validate_rounds": 2, "episodes": 2, "updates": 4, "batch": 8, "capacity": 500,
    "simulations": 10, "depth": 3,
}  # fmt: skip


class Pool:
    """Runs a task when it is given, as a pool of threads would later."""

    def submit(self, function, *arguments):
        result = function(*arguments)
        return type("Done", (), {"result": lambda self: result})()


def learner(kind="residual", **options):
    corpus = Corpus(SCENES)
    spec = Spec(n_labels=corpus.n_labels, n_features=corpus.features.shape[1], kind=kind)
    fields = {"simulations": 10, "depth": 3, "capacity": 500, "batch": 4}
    return MCTSLearner(with_fields(MCTS(), fields | options, "mcts"), spec, corpus)


def test_self_play_stores_states_with_their_tree_policies():
    one = learner()
    one.begin(Pool())
    steps = one.replay.sample(50, np.random.default_rng(0))
    for b in range(50):
        real = steps.actions[b, :, 0] >= 0
        policy, values = steps.kept.policy[b], steps.kept.values[b]
        assert policy[real].sum() == pytest.approx(1.0, abs=1e-5)
        assert (policy[~real] == 0).all()
        assert np.isnan(values[~real]).all()
        assert (np.abs(values[np.isfinite(values)]) <= 1).all()
        left = int((steps.states[b, :20] < 0).sum())
        assert steps.kept.depths[b] == min(3, left)
        assert (steps.states[b, steps.actions[b, real, 0]] == -1).all()
        chosen = (steps.actions[b] == [steps.nodes[b], steps.labels[b]]).all(axis=1)
        assert policy[chosen] > 0
        assert np.isfinite(values[chosen])


@pytest.mark.parametrize("kind", ["paper", "residual"])
def test_the_loss_is_the_cross_entropy_over_all_valid_actions(kind):
    one = learner(
        kind, target="visits", root="puct", others=10**6, learning_rate=0.0, learning_rate_final=0.0
    )
    one.begin(Pool())
    state = one.generator.bit_generator.state
    steps = one.replay.sample(4, one.generator)
    one.generator.bit_generator.state = state
    found = one.update()
    network = PolicyNetwork(one.spec, one.policy().weights)
    expected = []
    for b in range(4):
        instance = SCENES[steps.instances[b]]
        batch = make_batch(one.spec, instance, steps.states[b, :20].astype(np.int64))
        with torch.no_grad():
            policy = torch.log_softmax(mask_scores(network(batch), batch).flatten(), 0)
        shares = steps.kept.policy[b]
        real = shares > 0
        at = steps.actions[b, real, 0] * instance.crf.n_labels + steps.actions[b, real, 1]
        expected.append(-float((policy[at].numpy() * shares[real]).sum()))
    assert found == pytest.approx(np.mean(expected), rel=1e-4)


@pytest.mark.parametrize("reward", ["sign", "difference"])
def test_values_are_completed_by_the_known_rewards(reward):
    one = learner("paper", reward=reward, others=10**6)
    one.begin(Pool())
    steps = one.replay.sample(4, one.generator)
    rows = rows_of(one.corpus, steps, 10**6, one.generator)
    found = advantages(one.corpus, rows, steps, load_reward(reward), False)
    assert found.shape == (len(rows.node), one.corpus.n_labels)
    for b in range(4):
        crf = SCENES[steps.instances[b]].crf
        state = steps.states[b, :20].astype(np.int64)
        shares, values = steps.kept.policy[b], steps.kept.values[b]
        taken = np.isfinite(values)
        tree = {
            tuple(action): value for action, value in zip(steps.actions[b], values, strict=True)
        }
        mean = (shares[taken] * values[taken]).sum() / shares[taken].sum()
        width = 2.0 if reward == "sign" else values[taken].max() - values[taken].min()
        depth = steps.kept.depths[b]
        unlabeled = np.flatnonzero(state < 0)
        assert rows.node[rows.first[b] : rows.first[b + 1]].tolist() == unlabeled.tolist()
        for k, i in enumerate(unlabeled):
            costs = np.array(
                [crf.partial_energy(np.where(np.arange(20) == i, l, state)) for l in range(21)]
            )
            rewards = crf.partial_energy(state) - costs
            if reward == "sign":
                lowest = costs == costs.min()
                rewards = np.where(lowest & (lowest.sum() == 1), 1.0, -1.0)
            for label in range(21):
                value = mean + (rewards[label] - mean) / depth
                known = tree.get((i, label), np.nan)
                value = known if np.isfinite(known) else value
                expected = np.clip((value - mean) / width, -1, 1)
                assert found[rows.first[b] + k, label] == pytest.approx(expected, abs=1e-4)


def test_hindsight_gives_the_visits_of_a_node_to_its_best_known_label():
    one = learner("paper", target="hindsight")
    one.begin(Pool())
    steps = one.replay.sample(6, one.generator)
    rows = rows_of(one.corpus, steps, 0, one.generator)
    visits = visit_targets(rows, one.corpus.n_labels)
    found = hindsight_targets(rows, steps, one.best)
    np.testing.assert_allclose(found.sum(axis=1), visits.sum(axis=1))
    known = one.best.of(steps.instances[rows.sample], rows.node)
    np.testing.assert_allclose(found[np.arange(len(known)), known], visits.sum(axis=1))
    played = np.unique(steps.instances)
    energies = [SCENES[k].crf.energy(one.best.labels[20 * k : 20 * k + 20]) for k in played]
    np.testing.assert_allclose(one.best.energies[played], energies)


def test_neighbourhoods_do_not_depend_on_what_was_asked_before():
    corpus = Corpus(SCENES)
    states = np.full((9, 20), -1, np.int16)
    which, nodes = np.arange(9) % 3, np.arange(9)
    alone = corpus.neighbourhoods(which[:2], nodes[:2], states[:2], 3)
    corpus.neighbourhoods(which, nodes, states, 3)
    after = corpus.neighbourhoods(which[:2], nodes[:2], states[:2], 3)
    for one, other in zip(alone, after, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "options",
    [{}, {"root": "puct", "target": "visits", "kind": "residual"}, {"target": "hindsight"}],
)
def test_same_seed_same_policy(options):
    one, two = (train(SCENES, "mcts", rounds=2, seed=1, **(QUICK | options)) for _ in range(2))
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, two.weights[name])


def test_a_resumed_run_ends_where_an_unbroken_one_does(tmp_path):
    options = QUICK
    train(SCENES, "mcts", rounds=4, out=tmp_path / "whole", seed=3, **options)
    train(SCENES, "mcts", rounds=2, out=tmp_path / "parts", seed=3, **options)
    train(SCENES, "mcts", rounds=4, out=tmp_path / "parts", seed=3, resume=True, **options)
    whole = pc.load_policy(tmp_path / "whole" / "last.safetensors")
    parts = pc.load_policy(tmp_path / "parts" / "last.safetensors")
    for name, array in whole.weights.items():
        np.testing.assert_array_equal(array, parts.weights[name])
    lines = (tmp_path / "parts" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["round"] for line in lines][-2:] == [2, 4]
    started = train(SCENES, "mcts", rounds=0, start=str(tmp_path / "parts" / "last.safetensors"))
    np.testing.assert_array_equal(started.weights["theta5"], parts.weights["theta5"])


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"reward": "difference"},
        {"target": "hindsight"},
        {"target": "visits", "root": "puct"},
        {"target": "visits", "root": "puct", "reward": "difference"},
    ],
)
def test_learning_lowers_the_energy(way):
    held_out = [pc.make_scene(20, "A", seed=1000 + seed) for seed in range(10)]
    options = QUICK | {"repeats": 1, "episodes": 6, "updates": 40, "learning_rate": 3e-3} | way
    before = validate(train(SCENES, "mcts", rounds=0, **options), held_out)
    after = validate(
        train(SCENES, "mcts", rounds=8, **(options | {"validate_rounds": 8})), held_out
    )
    assert after.energy < 0.9 * before.energy


def test_options_are_checked():
    with pytest.raises(InvalidOption, match="leaf is"):
        MCTS(search=Search(leaf="value"))
    with pytest.raises(InvalidOption, match="repeats is 0"):
        train(SCENES, "mcts", repeats=0)
    with pytest.raises(InvalidOption, match="target is 'counts'"):
        MCTS(target="counts")
