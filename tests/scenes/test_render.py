"""Rendered scenes: the same scene as the fast one, in pixels."""

from __future__ import annotations

import numpy as np
import pytest

from policrf.errors import InvalidOption
from policrf.scenes import PRESETS, make_scene, render_scene
from policrf.scenes.description import describe


def test_same_arguments_give_identical_arrays() -> None:
    first, second = render_scene(40, "B", seed=3), render_scene(40, "B", seed=3)
    np.testing.assert_array_equal(first.image, second.image)
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(first.truth, second.truth)
    for one, other in zip(first.detections, second.detections, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(first.image, render_scene(40, "B", seed=4).image)


def test_shapes_and_ranges() -> None:
    scene = render_scene((96, 130), seed=1, n_labels=7)
    assert scene.image.shape == (96, 130, 3)
    assert scene.image.dtype == np.uint8
    assert scene.scores.shape == (96, 130, 7)
    assert scene.scores.dtype == np.float32
    np.testing.assert_allclose(scene.scores.sum(axis=2), 1.0, atol=1e-5)
    assert set(np.unique(scene.truth)) <= {*range(7), -1}
    assert 0 < np.mean(scene.truth == -1) < 0.2
    boxes, labels, confidences = scene.detections
    assert boxes.shape == (len(labels), 4)
    assert (boxes[:, 2:] > boxes[:, :2]).all()
    assert boxes.min() >= 0
    assert (boxes[:, 2:] <= [130, 96]).all()
    assert (labels > 0).all()
    assert (np.diff(confidences) <= 0).all()


@pytest.mark.parametrize("n_nodes", [20, 250, 3000])
def test_size_by_nodes_gives_a_hundred_pixels_each(n_nodes: int) -> None:
    height, width = render_scene(n_nodes).truth.shape
    assert abs(height * width - 100 * n_nodes) < width + height
    assert 1.2 < width / height < 1.5


@pytest.mark.parametrize("preset", ["A", "B"])
def test_fast_and_rendered_scenes_are_the_same_scene(preset: str) -> None:
    right, same_errors, by_chance = [], [], []
    for seed in range(6):
        graph, picture = make_scene(1500, preset, seed=seed), render_scene(1500, preset, seed=seed)
        height, width = picture.truth.shape
        place = (graph.positions * [width, height]).astype(int)
        true_pixel = picture.truth[place[:, 1], place[:, 0]]
        true_node = graph.true_labels
        known = (true_pixel != -1) & (true_node >= 0)
        right.append(np.mean(true_pixel[known] == true_node[known]))
        wrong_node = graph.crf.unary.argmin(axis=1)[known] != true_node[known]
        chosen = picture.scores.argmax(axis=2)[place[:, 1], place[:, 0]]
        wrong_pixel = chosen[known] != true_pixel[known]
        same_errors.append(np.mean(wrong_node & wrong_pixel))
        by_chance.append(np.mean(wrong_node) * np.mean(wrong_pixel))
        found = describe(PRESETS[preset], seed, 21).detections
        np.testing.assert_allclose(
            picture.detections.boxes / [width, height, width, height], [d.box for d in found]
        )
        weights = PRESETS[preset].agreement_weight * picture.detections.confidences
        np.testing.assert_allclose(graph.crf.potentials[1].weights, weights)  # type: ignore[attr-defined]
    assert np.mean(right) > 0.98
    assert np.mean(same_errors) > 1.2 * np.mean(by_chance)


@pytest.mark.parametrize(("preset", "wanted"), [("A", 0.85), ("B", 0.50)])
def test_scores_have_the_presets_accuracy(preset: str, wanted: float) -> None:
    found = []
    for seed in range(25):
        scene = render_scene(200, preset, seed=seed)
        known = scene.truth != -1
        found.append(np.mean((scene.scores.argmax(axis=2) == scene.truth)[known]))
    assert abs(np.mean(found) - wanted) < 0.04


def test_objects_differ_from_their_background_mostly() -> None:
    contrasts = []
    for seed in range(15):
        scene = render_scene(150, seed=seed)
        ground = scene.image[scene.truth == 0].mean(axis=0)
        for label in set(np.unique(scene.truth)) - {0, -1}:
            colour = scene.image[scene.truth == label].mean(axis=0)
            contrasts.append(np.linalg.norm(colour - ground))
    assert np.mean(np.asarray(contrasts) > 40) > 0.7
    assert np.min(contrasts) < 60


@pytest.mark.parametrize(
    ("size", "options", "message"),
    [
        (19, {}, "n_nodes must be at least 20"),
        (100_001, {}, "n_nodes must be at most 100000"),
        ((100, 15), {}, "width must be at least 16"),
        ((100, 100, 3), {}, "size must be"),
        ((2000, 2000), {}, "too large"),
        ((100.5, 100), {}, "size must be a whole number or"),
        (50, {"preset": "D"}, "unknown preset"),
        (50, {"n_labels": 1}, "n_labels must be at least 2"),
        (50, {"n_labels": 256}, "n_labels must be at most 255"),
    ],
)
def test_mistakes_are_told_in_one_sentence(size: object, options: dict, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        render_scene(size, **options)  # type: ignore[arg-type]
