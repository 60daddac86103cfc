"""How many windows an image is read through if nobody says."""

import json

import numpy as np
import pytest
from PIL import Image
from tests.vision.builders import call, write_onnx

from policrf.vision.nets.segmentation_net import NetOptions, SegmentationNet, automatic_windows


@pytest.mark.parametrize(
    ("height", "width", "expected"),
    [(375, 1242, 4), (1242, 375, 4), (500, 375, 1), (400, 800, 1), (400, 801, 3), (100, 513, 1)],
)
def test_only_long_images_that_do_not_fit_ask_for_windows(height, width, expected):
    assert automatic_windows(height, width, (513, 513)) == expected
    assert automatic_windows(height, width, None) == 1


@pytest.mark.parametrize(("side", "expected"), [(32, 4), (None, 1), (80, 1)])
def test_a_net_is_run_on_every_window(tmp_path, side, expected):
    path, _ = write_onnx(tmp_path / "net.onnx", 3, side=side)
    image = np.random.default_rng(0).integers(0, 256, (20, 70, 3)).astype(np.uint8)
    assert len(SegmentationNet(path, 3, NetOptions(windows=0))(image).scores) == expected
    assert len(SegmentationNet(path, 3, NetOptions(windows=2))(image).scores) == 2


def prepared_windows(tmp_path, *more):
    """The number of windows in the recipe of wide images, the first of which cannot be read."""
    images, out = tmp_path / "images", tmp_path / "out"
    images.mkdir()
    (images / "a.png").write_bytes(b"spoiled")
    pixels = np.random.default_rng(0).integers(0, 256, (20, 70, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(images / "b.png")
    net, _ = write_onnx(tmp_path / "net.onnx", 21, side=32)
    given = ["--net", net, "--superpixels", 20, "--components", 0, "--jobs", 1, *more]
    command = ["prepare", "images", "--root", images, "--out", out, *given]
    assert call([str(word) for word in command]) == 0
    return json.loads((out / "recipe.json").read_text())["recipe"]["net_windows"]


def test_the_recipe_has_the_number_that_was_used(tmp_path):
    assert prepared_windows(tmp_path) == 4


def test_a_number_that_is_given_stays(tmp_path):
    assert prepared_windows(tmp_path, "--net-windows", 2) == 2


def test_no_windows_are_refused(tmp_path, capsys):
    command = ["prepare", "images", "--root", str(tmp_path), "--out", str(tmp_path / "out")]
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "a.png")
    net, _ = write_onnx(tmp_path / "net.onnx", 21)
    assert call([*command, "--net", str(net), "--net-windows", "0"]) == 2
    assert "net_windows is 0; it must be at least 1" in capsys.readouterr().err
