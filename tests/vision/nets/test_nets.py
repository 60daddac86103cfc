import numpy as np
import pytest
from tests.vision.builders import LABELS, scene, write_onnx, write_onnx_detector

from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.nets.detectors import ClassRoles, Detector, detector_names
from policrf.vision.nets.hypercolumns import Reduction, edge_products, hypercolumns
from policrf.vision.nets.segmentation_net import NetOptions, SegmentationNet, _axis, open_net


def test_scores_and_inner_tensors_of_an_onnx_net(tmp_path):
    path, weights = write_onnx(tmp_path / "net.onnx", len(LABELS))
    image = scene(0, (20, 30)).image
    maps = SegmentationNet(path, len(LABELS), NetOptions(hypercolumns=("inner",)))(image)
    first = weights["first"][:, :, 0, 0]
    inner = image.astype(np.float32) @ first.T
    np.testing.assert_allclose(maps.inner[0][0].values, inner, atol=1e-3)
    np.testing.assert_allclose(
        maps.scores[0].values, inner @ weights["second"][:, :, 0, 0].T, atol=1e-3
    )
    assert maps.scores[0].at_pixels().shape == (len(LABELS), 20, 30)


def test_mean_and_deviation_are_applied(tmp_path):
    path, weights = write_onnx(tmp_path / "net.onnx", 2)
    options = NetOptions(hypercolumns=("inner",), mean=(10, 20, 30), deviation=(2, 2, 2), bgr=True)
    image = scene(0, (16, 16)).image
    maps = SegmentationNet(path, 2, options)(image)
    fed = (image[:, :, ::-1].astype(np.float32) - (10, 20, 30)) / 2
    np.testing.assert_allclose(
        maps.inner[0][0].values, fed @ weights["first"][:, :, 0, 0].T, atol=1e-3
    )


def test_a_missing_tensor_lists_those_there_are(tmp_path):
    path, _ = write_onnx(tmp_path / "net.onnx", 5)
    with pytest.raises(InvalidOption, match=r"no tensor 'conv9'.*inner.*scores"):
        SegmentationNet(path, 5, NetOptions(hypercolumns=("conv9",)))


def test_another_class_count_is_refused(tmp_path):
    path, _ = write_onnx(tmp_path / "net.onnx", 5)
    with pytest.raises(InvalidOption, match="5 channels"):
        SegmentationNet(path, 7)(scene(0, (16, 16)).image)


@pytest.mark.parametrize("name", ["net.onnx", "net.tflite", "net.pt"])
def test_files_that_are_no_nets(tmp_path, name):
    with pytest.raises(InvalidFile, match="no such"):
        open_net(tmp_path / name)
    (tmp_path / name).write_bytes(b"\x00\x01nonsense")
    with pytest.raises(InvalidFile, match="net"):
        open_net(tmp_path / name)


@pytest.mark.parametrize(
    ("size", "cells", "pixel", "cell"),
    [(513, 33, 0, 0.0), (513, 33, 512, 32.0), (512, 64, 0, -0.4375), (512, 64, 511, 63.4375)],
)
def test_where_pixels_fall_on_maps(size, cells, pixel, cell):
    start, step = _axis(0, size, 1.0, cells)
    assert start + step * pixel == pytest.approx(cell)


def test_hypercolumns_have_unit_length_and_products_are_cosines(tmp_path):
    path, _ = write_onnx(tmp_path / "net.onnx", 5)
    image = scene(0, (24, 24)).image
    maps = SegmentationNet(path, 5, NetOptions(hypercolumns=("inner", "scores")))(image)
    segments = np.arange(576, dtype=np.int32).reshape(24, 24) // 48
    columns = hypercolumns(maps.inner, np.full((12, 5), 0.2, np.float32), segments)
    assert columns.shape == (12, 9)
    np.testing.assert_allclose((columns**2).sum(axis=1), 1, atol=1e-5)
    edges = np.asarray([[0, 1], [3, 9]], np.int32)
    expected = (columns[edges[:, 0]] * columns[edges[:, 1]]).sum(axis=1)
    np.testing.assert_allclose(edge_products(columns, edges), expected, atol=1e-6)


def test_without_maps_products_are_bhattacharyya_coefficients():
    distribution = np.asarray([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]], np.float32)
    columns = hypercolumns([], distribution, np.zeros((1, 1), np.int32))
    products = edge_products(columns, np.asarray([[0, 1], [0, 2]], np.int32))
    np.testing.assert_allclose(products, [1.0, 0.6], atol=1e-6)


def test_reduction_finds_the_large_directions():
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(500, 2)) @ np.asarray([[5, 0, 0, 0], [0, 0, 3, 0]])
    columns = (spread + rng.normal(0, 0.01, (500, 4)) + 7).astype(np.float32)
    reduced = Reduction.fit(columns, 2)(columns)
    np.testing.assert_allclose(np.cov(reduced.T), np.eye(2), atol=0.02)
    assert abs(np.corrcoef(reduced[:, 0], columns[:, 0])[0, 1]) > 0.99


def test_onnx_detector_rows_are_scaled_to_the_image(tmp_path):
    rows = [[4, 8, 16, 24, 0.9, 1], [0, 0, 8, 8, 0.2, 0], [0, 0, 32, 32, 0.8, 2]]
    path = write_onnx_detector(tmp_path / "detector.onnx", rows)
    roles = ClassRoles.of(("star", "disc", "cloud"), LABELS, chosen=None, riders=False)
    found = Detector(path, roles, threshold=0.3)(np.zeros((64, 96, 3), np.uint8))
    assert found.labels.tolist() == [1]  # the second is unsure, and cloud is no label
    np.testing.assert_allclose(found.boxes, [[12, 16, 48, 48]])


def test_class_maps_must_cover_the_detector():
    with pytest.raises(InvalidOption, match="cloud"):
        ClassRoles.of(("disc", "cloud"), LABELS, chosen={"disc": "disc"}, riders=False)
    with pytest.raises(InvalidOption, match="the labels are"):
        ClassRoles.of(("disc",), LABELS, chosen={"disc": "moon"}, riders=False)
    with pytest.raises(InvalidOption, match="none of the detector's classes"):
        ClassRoles.of(("cloud",), LABELS, chosen=None, riders=False)
    roles = ClassRoles.of(("d", "c"), LABELS, chosen={"d": "disc", "c": None}, riders=False)
    assert roles.labels.tolist() == [1, -1]


def test_names_of_the_right_length_are_found_beside_the_detector(tmp_path):
    (tmp_path / "tiny.cfg").write_text("[net]\nwidth=32\n[yolo]\nclasses=2\n")
    (tmp_path / "three.names").write_text("a\nb\nc\n")
    (tmp_path / "two.names").write_text("a\nb\n")
    assert detector_names(tmp_path / "tiny.cfg", None) == ("a", "b")
    (tmp_path / "two.names").unlink()
    with pytest.raises(InvalidOption, match="2 class names"):
        detector_names(tmp_path / "tiny.cfg", None)
