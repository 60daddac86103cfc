"""Fast scenes: determinism, the presets' accuracy, the graph, the quotas, and real failures."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import policrf as pc
from policrf.crf.instance import Instance
from policrf.errors import InvalidOption
from policrf.scenes import PRESETS, make_scene
from policrf.scenes.description import describe


def unary_accuracy(instance: Instance) -> float:
    true = instance.true_labels
    return float(np.mean((instance.crf.unary.argmin(axis=1) == true)[true >= 0]))


def group(instance: Instance, kind: type) -> pc.BoxSupport:
    return instance.crf.groups(kind)[0]  # type: ignore[return-value]


def meet_quotas(instance: Instance, labels: np.ndarray) -> np.ndarray:
    """Give every quota's whole clique its label, the first (most confident) box last."""
    out = labels.copy()
    support = group(instance, pc.BoxSupport)
    for b in reversed(range(len(support))):
        out[support.cliques[b]] = support.labels[b]
    return out


def test_same_arguments_give_identical_arrays() -> None:
    first, second = make_scene(120, "B", seed=7), make_scene(120, "B", seed=7)
    for name in ("features", "edges", "edge_weights", "truth"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    np.testing.assert_array_equal(first.crf.unary, second.crf.unary)
    for one, other in zip(first.crf.potentials[1:], second.crf.potentials[1:], strict=True):
        np.testing.assert_array_equal(one.cliques.nodes, other.cliques.nodes)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(one.labels, other.labels)  # type: ignore[attr-defined]
    assert first.source == second.source
    assert not np.array_equal(first.crf.unary, make_scene(120, "B", seed=8).crf.unary)


@pytest.mark.parametrize(
    ("preset", "wanted", "slack"), [("A", 0.85, 0.02), ("B", 0.50, 0.03), ("C", 0.60, 0.03)]
)
@pytest.mark.parametrize(("n_nodes", "scenes"), [(50, 80), (250, 60), (1000, 40), (10_000, 10)])
def test_presets_have_their_accuracy(
    preset: str, wanted: float, slack: float, n_nodes: int, scenes: int
) -> None:
    # One set of scenes for all sizes: their own accuracies vary by 0.03.
    found = [unary_accuracy(make_scene(n_nodes, preset, seed=s)) for s in range(scenes)]
    assert abs(np.mean(found) - wanted) <= slack


@settings(max_examples=25, deadline=None)
@given(st.integers(20, 400), st.integers(0, 10_000), st.sampled_from("AB"), st.integers(2, 25))
def test_every_scene_is_well_formed(n_nodes: int, seed: int, preset: str, n_labels: int) -> None:
    instance = make_scene(n_nodes, preset, seed=seed, n_labels=n_labels)
    crf = instance.crf
    assert (crf.n_nodes, crf.n_labels) == (n_nodes, n_labels)
    assert instance.features.shape == (n_nodes, 4 * n_labels + 1)
    assert len(instance.feature_names) == 4 * n_labels + 1
    np.testing.assert_allclose(np.exp(-crf.unary).sum(axis=1), 1.0, atol=1e-6)
    into = np.bincount(instance.edges[:, 0], instance.edge_weights[:, 0], n_nodes)
    into += np.bincount(instance.edges[:, 1], instance.edge_weights[:, 1], n_nodes)
    np.testing.assert_allclose(into, 1.0, atol=1e-4)
    links = coo_array((np.ones(len(instance.edges)), instance.edges.T), (n_nodes, n_nodes))
    assert connected_components(links, directed=False)[0] == 1
    agreement, support = group(instance, pc.BoxAgreement), group(instance, pc.BoxSupport)
    assert 3 <= len(agreement) <= 6
    assert 1 <= len(support) <= len(agreement)
    assert crf.terms(meet_quotas(instance, crf.unary.argmin(axis=1)))["hop2"] == 0.0
    assert json.loads(json.dumps(instance.source)) == instance.source


@pytest.mark.parametrize("n_nodes", [20, 60, 150])
def test_graph_is_planar_as_drawn(n_nodes: int) -> None:
    instance = make_scene(n_nodes, seed=1)
    place = instance.positions
    assert place.min() >= 0
    assert place.max() <= 1
    start, end = place[instance.edges[:, 0]], place[instance.edges[:, 1]]

    def side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        u, v = b - a, c - a
        return np.asarray(np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]))

    a, b, c, d = start[:, None], end[:, None], start[None], end[None]
    crossing = (side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0)
    assert not crossing.any()


def test_mean_degree_and_twenty_thousand_nodes() -> None:
    instance = make_scene(20_000, "B", seed=2)
    assert 5.8 < 2 * len(instance.edges) / 20_000 < 6.0
    assert instance.features.shape == (20_000, 85)
    assert abs(unary_accuracy(instance) - 0.5) < 0.12
    assert np.isfinite(instance.crf.energy(instance.crf.unary.argmin(axis=1)))


def test_weights_of_the_regimes() -> None:
    for preset, weight, penalty in (("A", 0.2, 0.1), ("B", 0.5, 0.3), ("C", 0.5, 0.3)):
        instance = make_scene(300, preset, seed=4)
        found = describe(PRESETS[preset], 4, 21).detections
        agreement, support = instance.crf.potentials[1:]
        assert (instance.crf.potentials[0].weights == 1.0).all()  # type: ignore[attr-defined]
        np.testing.assert_allclose(
            agreement.weights,  # type: ignore[attr-defined]
            [weight * d.confidence for d in found],
        )
        np.testing.assert_allclose(support.penalties, penalty * 300)  # type: ignore[attr-defined]
        halves = np.ceil(support.cliques.sizes / 2)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(support.counts, halves)  # type: ignore[attr-defined]


def error_statistics(preset: str, n_nodes: int) -> tuple[float, float]:
    """How much likelier two neighbours err together than alone, and share their wrong label."""
    lift, same_label = [], []
    for seed in range(12):
        instance = make_scene(n_nodes, preset, seed=seed)
        chosen, true = instance.crf.unary.argmin(axis=1), instance.true_labels
        wrong = chosen != true
        i, j = instance.edges.T
        both = wrong[i] & wrong[j]
        lift.append(both.mean() / wrong.mean() ** 2)
        same_label.append((chosen[i] == chosen[j])[both].mean())
    return float(np.mean(lift)), float(np.mean(same_label))


@pytest.mark.parametrize(("preset", "fewest"), [("A", 2.0), ("B", 1.25)])
def test_score_errors_come_in_patches(preset: str, fewest: float) -> None:
    lift, same_label = error_statistics(preset, 1000)
    # Independent errors have a lift of 1, and random wrong labels agree on 1 edge in 20.
    assert lift > fewest
    assert same_label > 0.3


@pytest.mark.parametrize("n_nodes", [1000, 10_000])
def test_errors_of_c_are_independent(n_nodes: int) -> None:
    lift, same_label = error_statistics("C", n_nodes)
    # Not exactly 1: nodes at object borders err more often.
    assert lift < 1.2
    assert same_label < 0.15


def test_detector_misses_objects_shows_false_ones_and_confuses_labels() -> None:
    for recipe in PRESETS.values():
        false = missing = confused = shown = 0
        for seed in range(60):
            scene = describe(recipe, seed, 21)
            seen = [d.shows for d in scene.detections if d.shows > 0]
            false += sum(d.shows < 0 for d in scene.detections)
            missing += len(scene.layout.objects) - len(set(seen))
            shown += len(seen)
            confused += sum(
                scene.layout.objects[d.shows - 1].label != d.label
                for d in scene.detections
                if d.shows > 0
            )
        assert 0.05 < false / (false + shown) < 0.45
        assert 0.05 < missing / (missing + shown) < 0.35
        assert 0.01 < confused / shown < 0.25


def test_scores_miss_small_objects_that_boxes_show() -> None:
    for recipe, share in ((PRESETS["A"], 0.12), (PRESETS["B"], 0.9)):
        scenes = [describe(recipe, seed, 21) for seed in range(80)]
        small = [thing for s in scenes for thing in s.layout.objects if thing.parent]
        assert abs(np.mean([thing.missed for thing in small]) - share) < 0.12
        assert all(not t.missed for s in scenes for t in s.layout.objects if not t.parent)
    # Where an object is missed, hardly any node of its box's foreground has its label.
    recipe = replace(PRESETS["A"], missed_small=1.0, wrong_box_label=0.0, accuracy=0.93)
    for seed in range(5):
        instance = make_scene(800, recipe=recipe, seed=seed)
        scene = describe(recipe, seed, 21)
        chosen = instance.crf.unary.argmin(axis=1)
        for b, detection in enumerate(scene.detections):
            thing = scene.layout.objects[detection.shows - 1] if detection.shows > 0 else None
            if thing is not None and thing.missed:
                nodes = instance.crf.potentials[1].cliques[b]  # type: ignore[attr-defined]
                assert np.mean(chosen[nodes] == thing.label) < 0.35


def test_pairwise_gate_follows_boundaries_mostly_not_always() -> None:
    at_boundary, inside = [], []
    for seed in range(20):
        instance = make_scene(1000, seed=seed)
        gated = {tuple(edge) for edge in instance.crf.potentials[0].edges.tolist()}  # type: ignore[attr-defined]
        on = np.asarray([tuple(edge) in gated for edge in instance.edges.tolist()])
        true = instance.true_labels
        boundary = true[instance.edges[:, 0]] != true[instance.edges[:, 1]]
        at_boundary.append(on[boundary].mean())
        inside.append(on[~boundary].mean())
    assert 0.05 < np.mean(at_boundary) < 0.4
    assert 0.8 < np.mean(inside) < 0.99


@pytest.mark.parametrize(("preset", "low", "high"), [("A", 0.0, 0.06), ("B", 0.12, 0.6)])
def test_quotas_bite_where_they_should(preset: str, low: float, high: float) -> None:
    loss = []
    for seed in range(12):
        instance = make_scene(300, preset, seed=seed)
        crf = instance.crf
        ignoring = pc.solve(crf.with_potentials(*crf.potentials[:2]), "icm").labels
        heeding = pc.solve(crf, "icm", initial=meet_quotas(instance, ignoring)).energy
        best = min(heeding, pc.solve(crf, "icm").energy)
        loss.append(crf.energy(ignoring) / best - 1)
    assert low <= np.mean(loss) <= high


def test_truth_counts_mix_labels_and_leave_void_out() -> None:
    scenes = [make_scene(1000, seed=seed) for seed in range(10)]
    counts = np.concatenate([s.truth for s in scenes if s.truth is not None])
    mixed = np.mean((counts > 0).sum(axis=1) > 1)
    void = np.mean(counts.sum(axis=1) == 0)
    assert 0.005 < mixed < 0.2
    assert 0 < void < 0.02
    assert 80 < counts.sum(axis=1).mean() < 120


def test_box_features_are_those_of_the_boxes() -> None:
    instance = make_scene(200, seed=3, n_labels=6)
    names = instance.feature_names
    agreement = group(instance, pc.BoxAgreement)
    found = describe(PRESETS["A"], 3, 6).detections
    np.testing.assert_allclose(instance.features[:, :6], np.exp(-instance.crf.unary), atol=1e-6)
    for label in range(6):
        column = instance.features[:, names.index(f"box_confidence:{label}")]
        wanted = np.zeros(200)
        for b, detection in enumerate(found):
            if detection.label == label:
                nodes = agreement.cliques[b]
                wanted[nodes] = np.maximum(wanted[nodes], detection.confidence)
        np.testing.assert_allclose(column, wanted, rtol=1e-6)
    # The first box is the most confident one: its nodes show its mean distribution.
    nodes = agreement.cliques[0]
    composition = instance.features[np.ix_(nodes, range(names.index("box_unary:0"), 19))]
    mean = instance.features[nodes, :6].mean(axis=0)
    np.testing.assert_allclose(composition, np.tile(mean, (len(nodes), 1)), atol=1e-6)


@pytest.mark.parametrize(
    ("asked", "kinds"),
    [
        ("u", []),
        ("p+u", ["Potts"]),
        ("hop1+u+p", ["Potts", "BoxAgreement"]),
        ("u+hop2", ["BoxSupport"]),
        ("u+p+hop1+hop2", ["Potts", "BoxAgreement", "BoxSupport"]),
    ],
)
def test_potentials_are_chosen_by_name_in_any_order(asked: str, kinds: list[str]) -> None:
    instance = make_scene(60, potentials=asked)
    assert [p.name for p in instance.crf.potentials] == kinds
    np.testing.assert_array_equal(instance.crf.unary, make_scene(60).crf.unary)
    np.testing.assert_array_equal(instance.features, make_scene(60).features)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((19,), "n_nodes must be at least 20"),
        ((100_001,), "n_nodes must be at most 100000"),
        ((50.0,), "n_nodes must be a whole number"),
        ((True,), "n_nodes must be a whole number"),
        ((50, "D"), "unknown preset 'D'; the presets are A, B, C"),
        ((50, "A", {"n_labels": 1}), "n_labels must be at least 2"),
        ((50, "A", {"seed": -1}), "seed must be a whole number ≥ 0"),
        ((50, "A", {"potentials": "p+hop1"}), "give 'u' and any of"),
        ((50, "A", {"potentials": "u+hop3"}), "give 'u' and any of"),
        ((50, "A", {"potentials": "u+p+p"}), "give 'u' and any of"),
        ((50, "A", {"recipe": {"accuracy": 0.9}}), "recipe must be a SceneRecipe"),
    ],
)
def test_mistakes_are_told_in_one_sentence(arguments: tuple, message: str) -> None:
    options = arguments[2] if len(arguments) > 2 else {}
    with pytest.raises(InvalidOption, match=message):
        make_scene(*arguments[:2], **options)


def test_recipe_of_ones_own_is_followed_and_recorded() -> None:
    recipe = replace(PRESETS["A"], name="easy", accuracy=0.95, boxes=(0, 0), missed_small=0.0)
    instance = make_scene(400, recipe=recipe, seed=1)
    assert [p.name for p in instance.crf.potentials] == ["Potts"]
    assert not instance.features[:, 22:].any()
    assert instance.source["preset"] == "easy"
    assert instance.source["recipe"]["accuracy"] == 0.95
    assert unary_accuracy(instance) > 0.88


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"boxes": (4, 3)}, "boxes is"),
        ({"accuracy": 1.2}, "accuracy is 1.2; it must be from 0 to 1"),
        ({"node_noise": 0.0}, "node_noise is 0.0; it must be at least"),
        ({"texture": -0.1}, "texture is -0.1; it must be at least 0"),
        ({"support_divisor": 0.5}, "support_divisor is 0.5; it must be at least 1"),
        ({"large_objects": (0, 2)}, "large_objects is 0; it must be at least 1"),
    ],
)
def test_impossible_recipes_are_refused(change: dict, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        replace(PRESETS["A"], **change)
