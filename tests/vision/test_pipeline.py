import numpy as np
import pytest
from tests.vision.builders import LABELS, detections, recipe, scene, write_onnx

from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.boxes import Detections
from policrf.vision.energy.weights import Energy
from policrf.vision.images import read_image, read_mask
from policrf.vision.nets.hypercolumns import Reduction
from policrf.vision.pipeline import Pipeline
from policrf.vision.pixels.options import PixelStage
from policrf.vision.pixels.stage import refined_labels
from policrf.vision.record import ARRAYS
from policrf.vision.segment import Segmenter
from policrf.vision.superpixels.project import project


def uniform(height, width):
    return np.full((height, width, len(LABELS)), 1 / len(LABELS), np.float32)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (3, 2), (7, 300)])
def test_images_of_any_size(shape):
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    view = Pipeline(recipe()).view(image, scores=uniform(*shape))
    assert view.segments.shape == shape
    assert view.record.size.sum() == shape[0] * shape[1]
    assert np.isfinite(view.record.distribution).all()


def test_large_images_are_worked_on_small_and_judged_large():
    rendered = scene(0, (200, 300))
    view = Pipeline(recipe(max_side=60)).view(
        rendered.image, scores=rendered.scores, detections=detections(rendered),
        truth=rendered.truth,
    )  # fmt: skip
    assert view.segments.shape == (40, 60)
    assert view.record.size.sum() == 200 * 300
    assert view.record.truth.sum() == (rendered.truth >= 0).sum()
    assert view.record.boxes.max() <= 1
    labels = view.record.truth.argmax(axis=1)
    pixels = project(labels, view.segments, (200, 300))
    known = rendered.truth >= 0
    assert (pixels == rendered.truth)[known].mean() > 0.85


@pytest.mark.slow
def test_twenty_four_megapixels():
    image = np.kron(scene(0, (40, 60)).image, np.ones((100, 100, 1), np.uint8))
    view = Pipeline(recipe(superpixels=250)).view(image, scores=uniform(40, 60))
    assert (view.record.height, view.record.width) == (4000, 6000)
    assert view.segments.shape == (1365, 2048)


def test_scores_of_any_resolution():
    rendered = scene(0)
    plain = Pipeline(recipe(follow_net=False))  # the same superpixels for both
    full = plain.view(rendered.image, scores=rendered.scores).record
    coarse = plain.view(rendered.image, scores=rendered.scores[::4, ::4]).record
    agree = full.distribution.argmax(axis=1) == coarse.distribution.argmax(axis=1)
    assert agree.mean() > 0.9


def test_a_mask_of_another_size_is_refused():
    rendered = scene(0)
    with pytest.raises(InvalidFile, match="96×71"):
        Pipeline(recipe()).view(rendered.image, scores=rendered.scores, truth=rendered.truth[:71])


def test_something_must_give_scores():
    with pytest.raises(InvalidOption, match="segmentation net or scores"):
        Pipeline(recipe()).view(scene(0).image)


def test_boxes_outside_and_empty_do_not_matter():
    rendered = scene(0)
    found = detections(rendered)
    extra = np.asarray([[500, 500, 600, 600], [5, 5, 5, 5], [-50, 3, -20, 9]], np.float32)
    more = Detections(
        np.concatenate([found.boxes, extra]),
        np.concatenate([found.scores, [0.99, 0.98, 0.97]]).astype(np.float32),
        np.concatenate([found.labels, [1, 1, 1]]),
        np.concatenate([found.roles, [0, 0, 0]]),
    )
    views = [
        Pipeline(recipe()).view(rendered.image, scores=rendered.scores, detections=given)
        for given in (found, more)
    ]
    np.testing.assert_array_equal(views[0].record.boxes, views[1].record.boxes)


def test_same_input_same_record_whatever_came_before():
    def once(pipeline, seed):
        rendered = scene(seed)
        return pipeline.view(
            rendered.image, scores=rendered.scores, detections=detections(rendered)
        ).record

    fresh, used = Pipeline(recipe()), Pipeline(recipe())
    once(used, 5)
    first, second = once(fresh, 0), once(used, 0)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_components_must_fit_the_hypercolumns():
    reduction = Reduction(np.zeros(3, np.float32), np.zeros((2, 3), np.float32))
    rendered = scene(0)
    with pytest.raises(InvalidOption, match="fitted on 3"):
        Pipeline(recipe(components=2), reduction=reduction).view(
            rendered.image, scores=rendered.scores
        )


def test_a_net_gives_scores_and_hypercolumns(tmp_path):
    path, _ = write_onnx(tmp_path / "net.onnx", len(LABELS))
    pipeline = Pipeline(recipe(score_kind="logits", hypercolumns=("inner",)), net=path)
    pipeline.load()
    record = pipeline.view(scene(0).image).record
    assert record.distribution.std() > 0.01
    assert -1.001 <= record.product.min() <= record.product.max() <= 1.001


def test_segment_in_three_lines(tmp_path):
    rendered = scene(0)
    segmenter = Segmenter(recipe=recipe(), energy=Energy(alpha=0.05))
    result = segmenter(
        rendered.image, "icm", scores=rendered.scores, detections=detections(rendered),
        truth=rendered.truth, name="first",
    )  # fmt: skip
    paths = result.save(tmp_path / "out", figure=True)
    assert [path.name for path in paths] == [
        "first.png", "first.overlay.png", "first.json", "first.figure.png",
    ]  # fmt: skip
    np.testing.assert_array_equal(read_mask(paths[0]), result.labels)
    assert read_image(paths[1]).shape == rendered.image.shape
    figure = read_image(paths[3])
    assert figure.shape[1] > 3 * figure.shape[0]
    report = result.report()
    assert sum(report["terms"].values()) == pytest.approx(report["energy"])
    assert sum(report["labels"].values()) == pytest.approx(1)
    assert report["seconds"]["total"] >= report["seconds"]["solver"]


def test_both_stages_of_a_segmentation():
    rendered = scene(1, preset="C")
    energy = Energy(alpha=1.0, sigma_colour=5.0)
    given = {"scores": rendered.scores, "truth": rendered.truth}
    segmenter = Segmenter(recipe=recipe(), energy=energy, potentials="u+p")
    fine = segmenter(rendered.image, "alpha_expansion", **given)
    np.testing.assert_array_equal(fine.net_labels, fine.view.distribution.argmax(axis=0))
    np.testing.assert_array_equal(fine.coarse_labels, fine.solution.labels[fine.view.segments])
    expected = refined_labels(fine.view, fine.solution.labels, PixelStage())
    np.testing.assert_array_equal(fine.labels, expected)
    assert fine.report()["moved"] == pytest.approx((fine.labels != fine.coarse_labels).mean())
    coarse = Segmenter(recipe=recipe(), energy=energy, potentials="u+p", pixels=False)(
        rendered.image, "alpha_expansion", **given
    )
    np.testing.assert_array_equal(coarse.labels, fine.coarse_labels)
    assert (fine.labels != coarse.labels).any()
    for strength in (0.0, 0.25):
        weighed = Segmenter(
            recipe=recipe(), energy=energy.replace(pixels=strength), potentials="u+p"
        )(rendered.image, "alpha_expansion", **given)
        expected = coarse.labels
        if strength > 0:
            stage = PixelStage().scaled(strength)
            expected = refined_labels(fine.view, fine.solution.labels, stage)
            assert (expected != fine.labels).any()
        np.testing.assert_array_equal(weighed.labels, expected)


def test_seconds_come_from_the_timer_that_was_chosen():
    rendered = scene(0)
    segmenter = Segmenter(recipe=recipe())
    ticks = iter(range(1000))
    segmenter.timer = lambda: float(next(ticks))
    seconds = segmenter(rendered.image, "icm", scores=rendered.scores).seconds
    assert {"net", "superpixels", "graph", "instance", "solver", "pixels"} <= set(seconds)
    assert seconds.pop("total") > sum(seconds.values())
    assert all(value == int(value) and value >= 1 for value in seconds.values())


def test_a_result_larger_than_the_working_size_is_enlarged():
    rendered = scene(0)
    result = Segmenter(recipe=recipe(max_side=48), energy=Energy(alpha=1.0))(
        rendered.image, "alpha_expansion", scores=rendered.scores
    )
    assert result.view.segments.shape == (36, 48)
    assert result.labels.shape == rendered.image.shape[:2]
    small = result.labels[::2, ::2]
    np.testing.assert_array_equal(np.repeat(np.repeat(small, 2, 0), 2, 1), result.labels)
