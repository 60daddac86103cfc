"""The incremental engine against full forward passes of the network: same order, same labels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policy.builders import KINDS, halfway_instance, random_instance, random_policy

import policrf as pc
from policrf.policy.engine import Engine
from policrf.testing import random_crf
from policrf.testing.batch import join, make_batch
from policrf.testing.random_groups import BUILT_IN
from policrf.testing.reference import reference_energy

torch = pytest.importorskip("torch")
network = pytest.importorskip("policrf.testing.network")
torch.set_num_threads(1)


def follow(
    instance: pc.Instance, policy: pc.Policy, default: np.ndarray | None, every: int = 1
) -> None:
    """Label with the engine and hold every `every`-th state against a full forward in float64."""
    engine = Engine(policy, instance, default=default)
    # The shared kind's scores are differences of sums over some hundred terms, in float32.
    near = 2e-5 if policy.spec.any_labels else 3e-6
    module = network.PolicyNetwork.from_policy(policy).double()
    for t in range(instance.crf.n_nodes):
        node, label, _ = engine.best()
        if t % every == 0:
            batch = make_batch(policy.spec, instance, engine.labels, default=default)
            with torch.no_grad():
                raw = module(batch)
                full = network.mask_scores(raw, batch).numpy()
                choice = network.best_actions(raw, batch)[0].tolist()
            now = engine.all_scores()
            assert np.array_equal(np.isfinite(now), batch.allowed)
            np.testing.assert_allclose(
                now[batch.allowed], full[batch.allowed], atol=near, rtol=near
            )
            # What the engine kept is to the bit what it would compute now: nothing went stale.
            assert np.array_equal(engine.parts.work.scores.values, now.max(axis=1))
            assert choice == [node, label]
        engine.step(node, label)
    assert engine.remaining == 0


@pytest.mark.parametrize(("kind", "costs"), KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_planar_graphs(kind: str, costs: str, seed: int) -> None:
    instance = random_instance(60 + 37 * seed, seed)
    default = np.random.default_rng(seed).integers(0, 5, instance.crf.n_nodes) if seed else None
    follow(instance, random_policy(instance, kind, costs, seed), default)


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_disconnected_graphs(kind: str, costs: str) -> None:
    instance = random_instance(48, 3, parts=4)
    follow(instance, random_policy(instance, kind, costs, 3, layers=4, width=16), None)


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_a_hub_of_degree_500(kind: str, costs: str) -> None:
    instance = random_instance(560, 4, hub=500)
    follow(instance, random_policy(instance, kind, costs, 4, width=8), None, every=40)


@pytest.mark.parametrize("layers", [1, 2, 5])
@pytest.mark.parametrize("width", [3, 20, 50])
def test_other_sizes_of_the_network(layers: int, width: int) -> None:
    instance = random_instance(24, layers * width, n_labels=2 + width % 19)
    for kind, costs in KINDS[::4]:
        policy = random_policy(instance, kind, costs, width, layers=layers, width=width)
        follow(instance, policy, None, every=3)


@pytest.mark.parametrize(("kind", "costs"), KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_every_kind_of_potential(kind: str, costs: str, seed: int) -> None:
    """Tables, custom functions, forbidden labels and unequal label sets."""
    crf = random_crf(seed, n_nodes=14, n_labels=4, forbidden=0.1, ragged=seed % 2 == 1)
    instance = pc.Instance.from_crf(crf)
    follow(instance, random_policy(instance, kind, costs, seed), None)


@pytest.mark.parametrize(("kind", "costs"), KINDS)
@pytest.mark.parametrize("group", sorted(BUILT_IN))
def test_every_built_in_group(kind: str, costs: str, group: str) -> None:
    for seed in range(2):
        crf = random_crf(
            seed, n_nodes=11, n_labels=4, groups=("potts", group), forbidden=0.1, ragged=seed == 1
        )
        instance = pc.Instance.from_crf(crf)
        follow(instance, random_policy(instance, kind, costs, seed), None)


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_two_thousand_nodes(kind: str, costs: str) -> None:
    instance = random_instance(2000, 6)
    follow(instance, random_policy(instance, kind, costs, 6), None, every=400)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_two_thousand_nodes_step_by_step(kind: str, costs: str) -> None:
    instance = random_instance(2000, 7, parts=2)
    follow(instance, random_policy(instance, kind, costs, 7), None)


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_a_batch_gives_what_its_graphs_give_alone(kind: str, costs: str) -> None:
    instances = [random_instance(n, n) for n in (20, 33, 57)]
    policy = random_policy(instances[0], kind, costs, 1)
    module = network.PolicyNetwork.from_policy(policy).double()
    rng = np.random.default_rng(0)
    batches = []
    for instance in instances:
        labels = rng.integers(-1, 5, instance.crf.n_nodes)
        batches.append(make_batch(policy.spec, instance, labels))
    together = join(batches)
    with torch.no_grad():
        alone = torch.cat([module(batch) for batch in batches])
        joined = module(together)
        np.testing.assert_allclose(joined.numpy(), alone.numpy(), atol=1e-12)
        choices = [network.best_actions(module(batch), batch)[0].tolist() for batch in batches]
        assert network.best_actions(joined, together).tolist() == choices


def test_a_network_and_a_policy_turn_into_each_other() -> None:
    instance = random_instance(20, 0)
    policy = random_policy(instance, "residual", "relaxed", 5)
    back = network.PolicyNetwork.from_policy(policy).to_policy("again", training={"steps": 3})
    assert back.spec == policy.spec
    assert back.training == {"steps": 3}
    for name, array in policy.weights.items():
        assert np.array_equal(back.weights[name], array)


def test_gradients_reach_every_tensor() -> None:
    instance = random_instance(20, 0)
    for kind, costs in KINDS:
        policy = random_policy(instance, kind, costs, 5)
        module = network.PolicyNetwork.from_policy(policy)
        batch = make_batch(policy.spec, instance, np.arange(20) % 3 - 1)
        scores = module(batch)
        scores[torch.from_numpy(batch.allowed)].square().sum().backward()
        for name, parameter in module.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().sum() > 0, name


def test_the_papers_formula_by_hand() -> None:
    """Two nodes, K = 2, p = 1, L = 2, F = 1: every number of the update rule written out."""
    crf = pc.CRF(np.zeros((2, 2)))
    instance = pc.Instance(crf, [[1.0], [2.0]], [[0, 1]], [[0.5, 0.25]])
    spec = {"n_labels": 2, "n_features": 1, "kind": "paper", "layers": 2, "width": 1}
    weights = {
        "theta1": [[0.1], [0.2]],
        "theta2": [[[1.0, -5.0]], [[2.0, 3.0]]],
        "theta3": [[[0.5]], [[-0.25]]],
        "theta4": [[[2.0]]],
        "theta5": [[1.0], [-1.0]],
    }
    policy = pc.Policy(pc.Policy.untrained(**spec).spec, weights)
    engine = Engine(policy, instance)
    # μ(1) = ReLU(0.5 b); μ(2)_0 = ReLU(−0.25·1 + 2·0.5·1.0), μ(2)_1 = ReLU(−0.25·2 + 2·0.25·0.5)
    assert engine.all_scores() == pytest.approx(np.array([[0.75, -0.75], [0.0, 0.0]]))
    engine.step(0, 0)
    # Node 0 labeled 0: μ(1)_0 = 0.1 + 1 + 0.5 = 1.6; μ(2)_1 = −0.5 + 2·0.25·1.6
    assert engine.scores(1) == pytest.approx([0.3, -0.3])
    engine.reset()
    engine.step(0, 1)
    # Labeled 1: μ(1)_0 = ReLU(0.1 − 5 + 0.5) = 0, so node 1 hears nothing
    assert engine.scores(1) == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_potentials_asked_half_way(kind: str, costs: str) -> None:
    instance = halfway_instance(1)
    follow(instance, random_policy(instance, kind, costs, 2), None)


@pytest.mark.parametrize("costs", ["partial", "expected"])
def test_a_clique_of_all_nodes_asked_half_way(costs: str) -> None:
    """Large enough for gains to change in between, small enough for labels to appear late."""
    instance = halfway_instance(3, n_nodes=40, size=40, forms=("counts",))
    follow(instance, random_policy(instance, "residual", costs, 4), None)


@pytest.mark.parametrize("journal", [4000, 1])
@pytest.mark.parametrize(("kind", "costs"), KINDS)
def test_undo_of_potentials_asked_half_way(kind: str, costs: str, journal: int) -> None:
    """To the last bit, from what was kept or by computing it once more, at every length."""
    instance = halfway_instance(1)
    engine = Engine(random_policy(instance, kind, costs, 2), instance, journal=journal)
    rng = np.random.default_rng(0)
    before = []
    for _ in range(18):
        before.append((engine.all_scores(), engine.parts.work.scores.values.copy()))
        node = int(rng.choice(np.flatnonzero(engine.labels < 0)))
        engine.step(node, int(rng.integers(4)))
    while before:
        engine.undo()
        scores, kept = before.pop()
        assert np.array_equal(engine.all_scores(), scores)
        assert np.array_equal(engine.parts.work.scores.values, kept)


def test_half_way_costs_are_differences_of_the_energy_of_a_part() -> None:
    """Untrained, with partial costs and no gain: margins of E(labels + l) over the labels l."""
    instance = halfway_instance(2)
    sizes = {"n_labels": 4, "n_features": instance.features.shape[1]}
    policy = pc.Policy.untrained(costs="partial", gain=0.0, squash=False, units=False, **sizes)
    engine = Engine(policy, instance)
    rng = np.random.default_rng(0)
    for node in rng.permutation(18)[:12]:
        labels = engine.labels
        energies = []
        for label in range(4):
            labels[node] = label
            energies.append(reference_energy(instance.crf, labels.tolist()))
        least, second = np.sort(energies)[:2]
        margins = [(second if e == least else least) - e for e in energies]
        np.testing.assert_allclose(engine.scores(int(node)), margins, atol=1e-5)
        engine.step(int(node), int(rng.integers(4)))
