import json

import numpy as np
import pytest
from tests.vision.builders import LABELS

from policrf.crf.box_overlap import covered_share
from policrf.errors import InvalidFile
from policrf.vision.boxes import (
    PLAIN,
    RIDDEN,
    Detections,
    box_distribution,
    box_nodes,
    cleaned,
    support_labels,
)
from policrf.vision.nets.coco import CocoDetections
from policrf.vision.nets.detectors import ClassRoles
from policrf.vision.opencv import to_lab
from policrf.vision.superpixels.slic import superpixels


def boxes_of(rows, labels, scores=None, roles=None):
    count = len(rows)
    return Detections(
        np.asarray(rows, np.float32).reshape(count, 4),
        np.asarray(scores if scores is not None else [0.9] * count, np.float32),
        np.asarray(labels, np.int64),
        np.asarray(roles if roles is not None else [PLAIN] * count, np.int64),
    )


def test_boxes_are_cut_dropped_and_suppressed():
    rows = [
        [-10, -10, 20, 20],  # reaches outside
        [200, 200, 220, 220],  # wholly outside
        [5, 5, 5, 9],  # empty
        [0, 0, 19, 20],  # the first again, less sure
        [0, 0, 19, 20],  # the same place, another label
        [np.nan, 0, 5, 5],
    ]
    scores = [0.9, 0.9, 0.9, 0.5, 0.7, 0.9]
    found = cleaned(boxes_of(rows, [1, 1, 1, 1, 2, 1], scores), 100, 100, overlap=0.45)
    assert found.labels.tolist() == [1, 2]
    np.testing.assert_allclose(found.boxes[0], [0, 0, 20, 20])
    assert found.scores.tolist() == pytest.approx([0.9, 0.7])


def test_classes_without_label_stay_only_for_their_role():
    rows = [[0, 0, 9, 9], [20, 20, 40, 40]]
    found = cleaned(boxes_of(rows, [-1, -1], roles=[PLAIN, RIDDEN]), 50, 50, overlap=0.5)
    assert found.roles.tolist() == [RIDDEN]


def test_foreground_is_the_object_not_the_box():
    rng = np.random.default_rng(0)
    image = rng.integers(90, 110, (80, 100, 3)).astype(np.uint8)
    yy, xx = np.mgrid[:80, :100]
    disc = (yy - 40) ** 2 + (xx - 50) ** 2 < 20**2
    image[disc] = rng.integers(0, 20, (int(disc.sum()), 3)) + np.asarray([220, 20, 20])
    segments = superpixels(to_lab(image, 1.0), 120)
    found = box_nodes(image, segments, boxes_of([[25, 15, 75, 65]], [1]), scale=0.5)
    inside = found.nodes[found.shares >= 0.5]
    wanted = np.bincount(segments[disc], minlength=segments.max() + 1)
    wanted = np.flatnonzero(wanted >= 0.5 * np.bincount(segments.reshape(-1)))
    chosen, right = np.isin(segments, inside), np.isin(segments, wanted)
    assert (chosen & right).sum() / (chosen | right).sum() > 0.85


@pytest.mark.parametrize("box", [[0, 0, 60, 40], [10, 10, 11, 11], [0, 0, 60, 1], [59, 39, 60, 40]])
def test_boxes_grabcut_cannot_work_on_count_whole(box):
    image = np.full((40, 60, 3), 128, np.uint8)
    segments = np.arange(2400, dtype=np.int32).reshape(40, 60)
    found = box_nodes(image, segments, boxes_of([box], [1]), scale=1.0)
    width, height = box[2] - box[0], box[3] - box[1]
    assert len(found.nodes) == width * height
    assert (found.shares == 1).all()


def test_box_distribution_is_the_mean_inside():
    pixels = np.zeros((2, 10, 10), np.float32)
    pixels[0, :, :5], pixels[1, :, 5:] = 1, 1
    found = box_distribution(pixels, boxes_of([[0, 0, 5, 10], [0, 2, 10, 4]], [1, 1]))
    np.testing.assert_allclose(found, [[1, 0], [0.5, 0.5]])


def test_covered_share():
    share = covered_share(np.asarray([[0, 0, 4, 4], [2, 0, 4, 4], [8, 8, 9, 9]], np.float32))
    np.testing.assert_allclose(share, [[1, 0.5, 0], [1, 1, 0], [0, 0, 1]])


def test_support_for_boxes_inside_larger_ones():
    rows = [[0, 0, 100, 100], [10, 10, 30, 30], [95, 95, 130, 130]]
    assert support_labels(boxes_of(rows, [3, 2, 4]), "inside").tolist() == [-1, 2, -1]
    assert support_labels(boxes_of(rows, [3, 2, 4]), "none").tolist() == [-1, -1, -1]


def test_riders_should_be_background():
    rows = [[0, 0, 20, 60], [0, 30, 20, 70], [50, 0, 70, 60], [0, 0, 20, 60]]
    found = support_labels(
        boxes_of(rows, [2, -1, 2, 1], roles=[PLAIN, RIDDEN, PLAIN, PLAIN]), "rider"
    )
    assert found.tolist() == [0, -1, -1, -1]  # the car cannot ride, the other walks


def test_ridden_classes_keep_their_role_only_where_wanted():
    names = ("person", "car", "bicycle")
    labels = ("background", "car", "pedestrian")
    roles = ClassRoles.of(names, labels, chosen=None, riders=True)
    assert roles.labels.tolist() == [2, 1, -1]
    assert roles.roles.tolist() == [PLAIN, PLAIN, RIDDEN]
    assert ClassRoles.of(names, labels, chosen=None, riders=False).roles.tolist() == [PLAIN] * 3


@pytest.fixture
def coco(tmp_path):
    def write(rows, categories="disc\nsquare\nmoon\n"):
        (tmp_path / "results.json").write_text(json.dumps(rows))
        (tmp_path / "categories.names").write_text(categories)
        return CocoDetections(
            tmp_path / "results.json", tmp_path / "categories.names", LABELS, threshold=0.3
        )

    return write


def test_coco_results(coco):
    row = {"image_id": "a/b", "category_id": 2, "bbox": [1, 2, 10, 20], "score": 0.8}
    found = coco(
        [row | {"image_id": "b"}, row | {"image_id": "b", "score": 0.1}, row | {"image_id": 42}]
    )
    assert found("b").boxes.tolist() == [[1, 2, 11, 22]]
    assert found("b").labels.tolist() == [2]
    assert len(found("000042")) == 1
    assert len(found("elsewhere")) == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"a": 1}, "list of detections"),
        ([{"image_id": 1}], "detection 0"),
        ([{"image_id": 1, "category_id": 9, "bbox": [0, 0, 1, 1], "score": 1}], "category 9"),
    ],
)
def test_wrong_coco_results(coco, rows, message):
    with pytest.raises(InvalidFile, match=message):
        coco(rows)


def test_coco_annotation_files_map_ids_to_names(tmp_path):
    annotations = {
        "categories": [{"id": 18, "name": "disc"}],
        "images": [{"id": 7, "file_name": "folder/first.jpg"}],
    }
    (tmp_path / "annotations.json").write_text(json.dumps(annotations))
    row = {"image_id": 7, "category_id": 18, "bbox": [0, 0, 5, 5], "score": 0.5}
    (tmp_path / "results.json").write_text(json.dumps([row]))
    found = CocoDetections(tmp_path / "results.json", tmp_path / "annotations.json", LABELS)
    assert found("first").labels.tolist() == [1]
