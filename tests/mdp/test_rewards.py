"""The rewards: the paper's Table 1, exact sums, ties, and the shaped reward as a potential."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.builders import HALFWAY, halfway_crf

import policrf as pc
from policrf.errors import InvalidLabeling, UnknownName
from policrf.mdp.rewards import load_reward
from policrf.mdp.state import Episode
from policrf.testing import random_crf, reference_energy


def table_1() -> tuple[pc.CRF, np.ndarray, np.ndarray, np.ndarray]:
    """Three fully connected nodes with a term on each node, each pair and all three."""
    rng = np.random.default_rng(4)
    unary, pairs, triple = (
        rng.normal(size=(3, 2)),
        rng.normal(size=(3, 2, 2)),
        rng.normal(size=(2, 2, 2)),
    )
    crf = pc.CRF(
        unary, pc.Tables([[0, 1], [1, 2], [0, 2]], pairs), pc.Tables([[0, 1, 2]], triple[None])
    )
    return crf, unary, pairs, triple


@pytest.mark.parametrize("labels", list(itertools.product(range(2), repeat=3)))
def test_the_papers_table_1(labels: tuple[int, int, int]) -> None:
    crf, f, (f12, f23, f13), f123 = table_1()
    y1, y2, y3 = labels

    def energies(a: int, b: int, c: int) -> list[float]:
        first = f[0, a]
        second = first + f[1, b] + f12[a, b]
        return [first, second, second + f[2, c] + f23[b, c] + f13[a, c] + f123[a, b, c]]

    expected = energies(y1, y2, y3)
    others = [energies(1 - y1, y2, y3)[0], energies(y1, 1 - y2, y3)[1], energies(y1, y2, 1 - y3)[2]]
    episode = Episode(crf)
    previous = 0.0
    for t, label in enumerate(labels):
        rewards = episode.step(t, label)
        assert episode.energy == pytest.approx(expected[t])
        assert rewards["difference"] == pytest.approx(previous - expected[t])
        assert rewards["sign"] == (1.0 if expected[t] < others[t] else -1.0)
        previous = expected[t]
    assert episode.done
    assert episode.order == [0, 1, 2]


@given(seed=st.integers(0, 10_000), forbidden=st.sampled_from([0.0, 0.15]))
@settings(max_examples=40, deadline=None)
def test_rewards_sum_to_the_energy(seed: int, forbidden: float) -> None:
    """R1 sums to −E(ŷ) exactly as the model has it, the shaped reward to Φ(s_1) − E(ŷ)."""
    crf = random_crf(seed, n_nodes=7, n_labels=3, forbidden=forbidden, ragged=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    episode = Episode(crf, default=_any_allowed(crf, rng))
    start = episode.completed_energy
    sums = dict.fromkeys(("difference", "sign", "shaped"), 0.0)
    while not episode.done:
        actions = np.argwhere(episode.actions())
        node, label = actions[rng.integers(len(actions))]
        before = episode.completed_energy
        rewards = episode.step(int(node), int(label))
        assert rewards["shaped"] == pytest.approx(before - episode.completed_energy, abs=1e-6)
        for name, value in rewards.items():
            sums[name] += value
    final = crf.energy(episode.labels)
    assert sums["difference"] == pytest.approx(-final)
    if np.isfinite(final):
        assert sums["shaped"] == pytest.approx(start - final, abs=1e-6)


@pytest.mark.parametrize("form", HALFWAY)
@pytest.mark.parametrize("seed", range(4))
def test_rewards_of_potentials_asked_half_way(form: str, seed: int) -> None:
    """R1 is the change of the energy of a part and sums to −E; R2 compares labels by it; undo."""
    crf = halfway_crf(seed, n_nodes=9, size=5, forms=(form,))
    rng = np.random.default_rng(seed)
    episode = Episode(crf)
    total, shaped, heard, start = 0.0, 0.0, False, episode.completed_energy
    for node in rng.permutation(9):
        label = int(rng.integers(4))
        labels = episode.labels
        before = reference_energy(crf, labels.tolist())
        costs = []
        for other in range(4):
            labels[node] = other
            costs.append(reference_energy(crf, labels.tolist()) - before)
        rewards = episode.step(int(node), label)
        episode.undo()
        assert episode.energy == pytest.approx(before)
        assert episode.step(int(node), label) == pytest.approx(rewards)
        assert rewards["difference"] == pytest.approx(-costs[label])
        lowest_other = min(cost for other, cost in enumerate(costs) if other != label)
        if abs(costs[label] - lowest_other) > 1e-9:
            assert rewards["sign"] == (1.0 if costs[label] < lowest_other else -1.0)
        total += rewards["difference"]
        shaped += rewards["shaped"]
        heard |= bool(episode.state.value.any()) and not episode.done
    assert heard
    assert total == pytest.approx(-crf.energy(episode.labels))
    assert shaped == pytest.approx(start - crf.energy(episode.labels))


def test_sign_is_strict_unless_ties_are_allowed() -> None:
    crf = pc.CRF([[1.0, 1.0, 2.0]])
    assert [Episode(crf).step(0, label)["sign"] for label in range(3)] == [-1.0, -1.0, -1.0]
    assert [Episode(crf, ties=True).step(0, label)["sign"] for label in range(3)] == [
        1.0,
        1.0,
        -1.0,
    ]


def test_sign_compares_with_every_other_label_in_the_same_state() -> None:
    crf = random_crf(3, n_nodes=6, n_labels=3)
    rng = np.random.default_rng(1)
    episode = Episode(crf)
    for node in rng.permutation(6):
        partial = episode.labels.tolist()
        energies = []
        for label in range(3):
            partial[node] = label
            energies.append(reference_energy(crf, partial))
        label = int(rng.integers(3))
        lowest = all(energies[label] < e for k, e in enumerate(energies) if k != label)
        assert episode.step(int(node), label)["sign"] == (1.0 if lowest else -1.0)


def quota(n_nodes: int, count: int) -> pc.CRF:
    """All nodes prefer label 0; a quota of λ = 10 wants `count` of them to have label 1."""
    unary = np.tile([0.0, 1.0], (n_nodes, 1))
    return pc.CRF(unary, pc.BoxSupport([list(range(n_nodes))], [1], 10.0, count))


def test_a_quota_speaks_at_every_step_of_the_shaped_reward() -> None:
    crf = quota(6, 4)
    episode = Episode(crf)
    # Each of the first four nodes takes its share λ/q = 2.5 off the hinge, for a unary of 1.
    assert [episode.step(i, 1)["shaped"] for i in range(4)] == pytest.approx([1.5] * 4)
    assert episode.step(4, 1)["shaped"] == pytest.approx(-1.0)  # the quota is met: nothing to gain
    assert episode.step(5, 0)["shaped"] == pytest.approx(0.0)
    # R1 hears of the quota with the last node only.
    other = Episode(crf)
    assert [other.step(i, 1)["difference"] for i in range(4)] == pytest.approx([-1.0] * 4)


def test_a_lost_quota_is_charged_when_it_is_lost() -> None:
    episode = Episode(quota(6, 4))
    shaped = [episode.step(i, 0)["shaped"] for i in range(3)]
    # Six nodes, four wanted: the third refusal makes it impossible; the hinge stood at λ already.
    assert shaped == pytest.approx([0.0, 0.0, 0.0])
    episode = Episode(quota(6, 4))
    episode.step(0, 1)
    episode.step(1, 1)
    episode.step(2, 0)
    episode.step(3, 0)
    assert episode.step(4, 0)["shaped"] == pytest.approx(-5.0)  # from λ · 2/4 to λ
    assert episode.step(5, 1)["shaped"] == pytest.approx(-1.0)  # and nothing can be won back


def test_a_quota_above_the_cliques_size_is_a_constant() -> None:
    episode = Episode(quota(3, 5))
    assert episode.completed_energy == pytest.approx(10.0)
    assert [episode.step(i, 1)["shaped"] for i in range(3)] == pytest.approx([-1.0] * 3)


def test_undo_restores_the_energy_to_the_last_bit() -> None:
    crf = random_crf(11, n_nodes=8, n_labels=3)
    rng = np.random.default_rng(0)
    episode = Episode(crf)
    trail = []
    for node in rng.permutation(8):
        trail.append((episode.energy, episode.completed_energy, episode.labels.tolist()))
        episode.step(int(node), int(rng.integers(3)))
    while trail:
        episode.undo()
        assert (episode.energy, episode.completed_energy, episode.labels.tolist()) == trail.pop()
    with pytest.raises(InvalidLabeling, match="no step to undo"):
        episode.undo()


def test_actions_are_unlabeled_nodes_with_their_allowed_labels() -> None:
    crf = pc.CRF([[0.0, np.inf, 1.0], [0.0, 1.0, np.inf]], cardinalities=[3, 2])
    episode = Episode(crf)
    assert episode.actions().tolist() == [[True, False, True], [True, True, False]]
    episode.step(0, 2)
    assert episode.actions().tolist() == [[False, False, False], [True, True, False]]
    for node, label, message in ((0, 0, "already"), (1, 2, "not allowed"), (5, 0, "outside")):
        with pytest.raises(InvalidLabeling, match=message):
            episode.step(node, label)


def test_unknown_reward_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="difference, shaped, sign"):
        load_reward("r3")


def _any_allowed(crf: pc.CRF, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(np.flatnonzero(np.isfinite(row))) for row in crf.unary])
