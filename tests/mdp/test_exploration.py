"""M1, M2, M3: kept step by step against the formulas of appendix B1."""

from __future__ import annotations

import numpy as np
import pytest
from tests.policy.builders import halfway_instance

import policrf as pc
from policrf.crf.changes import assign, unassign
from policrf.crf.state import new_state
from policrf.mdp.exploration import (
    EXPLOIT,
    M1,
    M2,
    M3,
    RANDOM,
    draw_set,
    explore,
    new_explorer,
    note_labeled,
    note_unlabeled,
    start_exploring,
)
from policrf.mdp.graph import build_graph
from policrf.random_numbers import below, new_generator, uniform
from policrf.testing.exploration_scores import m1_scores, m2_scores, m3_scores


@pytest.fixture(scope="module")
def scene() -> pc.Instance:
    return pc.make_scene(60, "B", seed=5)


@pytest.mark.parametrize("halfway", [False, True])
def test_every_set_picks_an_argmax_of_its_formula(scene: pc.Instance, halfway: bool) -> None:
    if halfway:  # its cliques are all that M3 can see
        scene = halfway_instance(2, n_nodes=60, size=20)
    n_labels = scene.crf.n_labels
    arrays, graph = scene.crf.arrays, build_graph(scene)
    generator = new_generator(3)
    state, explorer = new_state(arrays), new_explorer(scene.crf)
    start_exploring(graph, explorer, state.labels, generator)
    for t in range(60):
        labels = state.labels.copy()
        open_nodes = labels < 0
        one = m1_scores(scene, labels)
        node, label = explore(arrays, state, explorer, M1, False, generator)
        assert label == -1
        assert open_nodes[node]
        assert one[node] == pytest.approx(one[open_nodes].max())
        node, _ = explore(arrays, state, explorer, M2, False, generator)
        assert m2_scores(scene, labels)[node] == pytest.approx(m2_scores(scene, labels).max())
        three = m3_scores(scene, labels) * open_nodes[:, None]
        node, label = explore(arrays, state, explorer, M3, False, generator)
        assert open_nodes[node]
        assert three[node, label] == three.max()
        assert t == 0 or not halfway or three.max() == 1.0 or not has_mates(scene, labels)
        node, label = explore(arrays, state, explorer, (M1, RANDOM)[t % 2], True, generator)
        assert open_nodes[node]
        assert 0 <= label < n_labels
        assign(arrays, state, node, label)
        note_labeled(graph, explorer, node)


def has_mates(scene: pc.Instance, labels: np.ndarray) -> bool:
    """Whether some clique has both labeled and unlabeled members."""
    return any(
        0 < int((labels[clique] >= 0).sum()) < len(clique)
        for group in scene.crf.potentials[1:]
        for clique in group.cliques
    )


def test_taking_a_label_away_is_the_reverse(scene: pc.Instance) -> None:
    arrays, graph = scene.crf.arrays, build_graph(scene)
    generator = new_generator(0)
    state, explorer = new_state(arrays), new_explorer(scene.crf)
    start_exploring(graph, explorer, state.labels, generator)
    rng = np.random.default_rng(2)
    trail = []
    for node in rng.permutation(60)[:40]:
        trail.append((int(node), _copy(explorer)))
        assign(arrays, state, int(node), 0)
        note_labeled(graph, explorer, int(node))
    while trail:
        node, before = trail.pop()
        unassign(arrays, state, node)
        note_unlabeled(graph, explorer, node)
        now = _copy(explorer)
        assert now["labeled_neighbours"] == before["labeled_neighbours"]
        assert now["adjacency"] == before["adjacency"]
        assert now["certainty"] == before["certainty"]
        assert now["open"] == before["open"]


def _copy(explorer: object) -> dict[str, object]:
    return {
        "labeled_neighbours": explorer.labeled_neighbours.tolist(),
        "adjacency": explorer.adjacency.values.tolist(),
        "certainty": explorer.certainty.values.tolist(),
        "open": sorted(explorer.remaining[: explorer.left[0]].tolist()),
    }


def test_m1_counts_labeled_neighbours() -> None:
    crf = pc.CRF(np.zeros((4, 2)), pc.Potts([[0, 1], [0, 2], [0, 3], [1, 2]]))
    labels = np.array([-1, 1, -1, -1])
    assert m1_scores(pc.Instance.from_crf(crf), labels) == pytest.approx([1 / 3, 0, 0.5, 0])


def test_m2_prefers_the_lowest_entropy() -> None:
    crf = pc.CRF([[0.0, 0.0], [0.0, 9.0], [0.0, 1.0]])
    scores = m2_scores(pc.Instance.from_crf(crf), np.array([-1, -1, -1]))
    assert scores.sum() == pytest.approx(1.0)
    assert np.argsort(scores).tolist() == [0, 2, 1]


def test_m3_counts_a_mate_once_however_many_cliques_are_shared() -> None:
    cliques = [[0, 1, 2, 3], [0, 1], [0, 1]]
    crf = pc.CRF(np.zeros((4, 3)), pc.BoxAgreement(cliques, [0, 0, 0], 1.0))
    labels = np.array([-1, 1, 2, 2])
    assert m3_scores(pc.Instance.from_crf(crf), labels)[0].tolist() == [0.0, 0.0, 1.0]
    state, explorer = new_state(crf.arrays), new_explorer(crf)
    graph, generator = build_graph(pc.Instance.from_crf(crf)), new_generator(0)
    for node in (1, 2, 3):
        assign(crf.arrays, state, node, int(labels[node]))
    start_exploring(graph, explorer, state.labels, generator)
    assert explore(crf.arrays, state, explorer, M3, False, generator) == (0, 2)


def test_m3_without_cliques_takes_a_random_action(scene: pc.Instance) -> None:
    crf = pc.CRF([[0.0, np.inf, 1.0]] * 5)
    state, explorer, generator = new_state(crf.arrays), new_explorer(crf), new_generator(1)
    start_exploring(build_graph(pc.Instance.from_crf(crf)), explorer, state.labels, generator)
    picks = {explore(crf.arrays, state, explorer, M3, False, generator) for _ in range(200)}
    assert picks == {(node, label) for node in range(5) for label in (0, 2)}


def test_epsilon_is_the_probability_of_exploiting() -> None:
    generator = new_generator(7)
    draws = np.bincount([draw_set(generator, 0.6) for _ in range(20_000)], minlength=5) / 20_000
    assert draws[EXPLOIT] == pytest.approx(0.6, abs=0.015)
    assert draws[[M1, M2, M3, RANDOM]] == pytest.approx([0.1] * 4, abs=0.01)


def test_the_generator_is_uniform_and_owns_its_state() -> None:
    one, other = new_generator(1), new_generator(1)
    draws = np.array([uniform(one) for _ in range(5000)])
    assert draws.tolist() == [uniform(other) for _ in range(5000)]
    assert 0 <= draws.min() <= draws.max() < 1
    assert draws.mean() == pytest.approx(0.5, abs=0.02)
    counts = np.bincount([below(one, 7) for _ in range(7000)], minlength=7)
    assert counts.min() > 850
    assert len(counts) == 7
    assert new_generator(2)[0] != new_generator(3)[0]
