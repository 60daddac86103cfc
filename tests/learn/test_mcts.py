"""Learning from tree search: what is stored and what is learned; and resuming a run."""

import json

import numpy as np
import pytest
import torch

import policrf as pc
from policrf.errors import InvalidOption
from policrf.learn.corpus import Corpus
from policrf.learn.mcts import MCTS, MCTSLearner, train_mcts
from policrf.learn.validate import validate
from policrf.policy.batch import make_batch
from policrf.policy.network import PolicyNetwork, mask_scores
from policrf.policy.spec import Spec

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
    spec = Spec(corpus.n_labels, corpus.features.shape[1], kind)
    fields = {"simulations": 10, "depth": 3, "capacity": 500, "batch": 4}
    return MCTSLearner(MCTS(**(fields | options)), spec, corpus)


def test_self_play_stores_states_with_their_tree_policies():
    one = learner()
    one.begin(Pool())
    steps = one.replay.sample(50, np.random.default_rng(0))
    for b in range(50):
        real = steps.actions[b, :, 0] >= 0
        assert steps.values[b, real].sum() == pytest.approx(1.0, abs=1e-5)
        assert (steps.values[b, ~real] == 0).all()
        assert (steps.states[b, steps.actions[b, real, 0]] == -1).all()
        chosen = (steps.actions[b] == [steps.nodes[b], steps.labels[b]]).all(axis=1)
        assert steps.values[b, chosen] > 0


@pytest.mark.parametrize("kind", ["paper", "residual"])
def test_the_loss_is_the_cross_entropy_over_all_valid_actions(kind):
    one = learner(kind, others=10**6, learning_rate=0.0, learning_rate_final=0.0)
    one.begin(Pool())
    state = one.generator.bit_generator.state
    steps = one.replay.sample(4, one.generator)
    one.generator.bit_generator.state = state
    found = one._update()
    network = PolicyNetwork(one.spec, one.policy().weights)
    expected = []
    for b in range(4):
        instance = SCENES[steps.instances[b]]
        batch = make_batch(one.spec, instance, steps.states[b, :20].astype(np.int64))
        with torch.no_grad():
            policy = torch.log_softmax(mask_scores(network(batch), batch).flatten(), 0)
        real = steps.values[b] > 0
        at = steps.actions[b, real, 0] * instance.crf.n_labels + steps.actions[b, real, 1]
        expected.append(-float((policy[at].numpy() * steps.values[b, real]).sum()))
    assert found == pytest.approx(np.mean(expected), rel=1e-4)


def test_neighbourhoods_do_not_depend_on_what_was_asked_before():
    corpus = Corpus(SCENES)
    states = np.full((9, 20), -1, np.int16)
    which, nodes = np.arange(9) % 3, np.arange(9)
    alone = corpus.neighbourhoods(which[:2], nodes[:2], states[:2], 3)
    corpus.neighbourhoods(which, nodes, states, 3)
    after = corpus.neighbourhoods(which[:2], nodes[:2], states[:2], 3)
    for one, other in zip(alone, after, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("options", [{}, {"root": "gumbel", "kind": "residual", "actors": 1}])
def test_same_seed_same_policy(options):
    one, two = (train_mcts(SCENES, rounds=2, seed=1, **(QUICK | options)) for _ in range(2))
    for name, array in one.weights.items():
        np.testing.assert_array_equal(array, two.weights[name])


def test_a_resumed_run_ends_where_an_unbroken_one_does(tmp_path):
    options = QUICK | {"checkpoint_seconds": 0.0}
    train_mcts(SCENES, rounds=4, out=tmp_path / "whole", seed=3, **options)
    train_mcts(SCENES, rounds=2, out=tmp_path / "parts", seed=3, **options)
    train_mcts(SCENES, rounds=4, out=tmp_path / "parts", seed=3, resume=True, **options)
    whole = pc.load_policy(tmp_path / "whole" / "last.safetensors")
    parts = pc.load_policy(tmp_path / "parts" / "last.safetensors")
    for name, array in whole.weights.items():
        np.testing.assert_array_equal(array, parts.weights[name])
    lines = (tmp_path / "parts" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["round"] for line in lines][-2:] == [2, 4]
    started = train_mcts(SCENES, rounds=0, start=str(tmp_path / "parts" / "last.safetensors"))
    np.testing.assert_array_equal(started.weights["theta5"], parts.weights["theta5"])


def test_learning_lowers_the_energy():
    held_out = [pc.make_scene(20, "A", seed=1000 + seed) for seed in range(10)]
    options = QUICK | {"repeats": 1, "episodes": 6, "updates": 40, "learning_rate": 3e-3}
    before = validate(train_mcts(SCENES, rounds=0, **options), held_out)
    after = validate(train_mcts(SCENES, rounds=8, **(options | {"validate_rounds": 8})), held_out)
    assert after.energy < 0.9 * before.energy


def test_options_are_checked():
    with pytest.raises(InvalidOption, match="leaf is"):
        MCTS(leaf="value")
    with pytest.raises(InvalidOption, match="repeats is 0"):
        MCTS(repeats=0)
