"""The learner's scores are the engine's: at the centres of neighbourhoods, for both kinds."""

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidInstance
from policrf.learn.experience.acting import play
from policrf.learn.experience.corpus import Corpus
from policrf.learn.experience.replay import states_before
from policrf.learn.learners.forward import CostView, parameters, scores
from policrf.mdp.rewards import load_reward
from policrf.mdp.state import Episode
from policrf.policy.engine import Engine
from policrf.policy.policy import Policy

torch = pytest.importorskip("torch")


def random_policy(kind, layers, costs="relaxed"):
    policy = Policy.untrained(
        n_labels=21, n_features=85, kind=kind, layers=layers, width=8, costs=costs
    )
    rng = np.random.default_rng(layers)
    noisy = {k: v + rng.normal(scale=0.3, size=v.shape) for k, v in policy.weights.items()}
    return Policy(policy.spec, noisy)


SCENES = [pc.make_scene(30 + 7 * k, "B", seed=k) for k in range(3)]


@pytest.mark.parametrize("kind", ["paper", "residual"])
@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_scores_are_those_of_the_engine(kind, layers):
    policy = random_policy(kind, layers)
    corpus = Corpus(SCENES)
    theta, features = parameters(policy.weights), torch.from_numpy(corpus.features)
    for k, scene in enumerate(SCENES):
        engine = Engine(policy, scene)
        trail = play(engine, epsilon=0.5, seed=k, reward=load_reward("sign"))
        wanted = np.arange(0, scene.crf.n_nodes, 5)
        states = states_before(trail.nodes, trail.labels, wanted, corpus.largest)
        chosen = np.full(len(wanted), k)
        around = corpus.neighbourhoods(chosen, trail.nodes[wanted], states, layers)
        seen = trail.views[wanted] if kind == "residual" else None
        view = None if seen is None else CostView(seen[:, :, 0].copy(), seen[:, :, 1:].copy())
        ours = scores(policy.spec, theta, features, around, view).detach().numpy()
        for b, t in enumerate(wanted):
            given = states[b, : scene.crf.n_nodes].astype(np.int64)
            engine.reset(given)
            np.testing.assert_allclose(ours[b], engine.scores(int(trail.nodes[t])), atol=2e-4)


@pytest.mark.parametrize("reward", ["sign", "difference", "shaped"])
def test_every_labels_reward_is_what_taking_it_earns(reward):
    scene = SCENES[0]
    trail = play(
        Engine(random_policy("paper", 2), scene), epsilon=0.3, seed=1, reward=load_reward(reward)
    )
    episode = Episode(scene.crf)
    for t, (node, taken) in enumerate(zip(trail.nodes, trail.labels, strict=True)):
        for label in {int(taken), 0, 7}:
            assert trail.rewards[t, label] == pytest.approx(
                episode.step(node, label)[reward], abs=1e-4
            )
            episode.undo()
        episode.step(node, taken)
    assert trail.energy[0] == pytest.approx(episode.energy)


def test_a_corpus_holds_instances_of_one_kind():
    other = pc.Instance.from_crf(pc.CRF(np.zeros((3, 2))))
    with pytest.raises(InvalidInstance, match="instance 1 has other labels"):
        Corpus([SCENES[0], other])
    with pytest.raises(InvalidInstance, match="no instances"):
        Corpus([])
