import json

import numpy as np
import pytest
from tests.vision.builders import LABELS, call, prepared_scenes, write_onnx

from policrf.vision.energy_weights import Energy
from policrf.vision.images import read_mask


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    root = prepared_scenes(tmp_path_factory.mktemp("scenes"), 3)
    Energy(alpha=0.05).save(root / "energy.yaml")
    (root / "images" / "scene001.png").write_bytes(b"spoiled")
    return root


def arguments(root, image, out):
    return [
        "segment", str(image), "--scores", str(root / "scores"), "--recipe", str(root / "prepared"),
        "--energy", str(root / "energy.yaml"), "--solver", "icm", "--out", str(out),
    ]  # fmt: skip


def test_a_folder_goes_on_past_bad_files(scenes, tmp_path, capsys):
    assert call([*arguments(scenes, scenes / "images", tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [image["image"] for image in report["images"]] == ["scene000", "scene002"]
    assert report["skipped"][0]["name"] == "scene001"
    assert set(report["images"][0]["labels"]) <= set(LABELS)
    assert read_mask(tmp_path / "scene000.png").shape == (48, 64)
    assert call([*arguments(scenes, scenes / "images", tmp_path), "--strict"]) == 2
    assert "scene001" in capsys.readouterr().err


def test_one_image_with_truth_and_figure(scenes, tmp_path, capsys):
    given = arguments(scenes, scenes / "images" / "scene000.png", tmp_path)
    given[given.index("--scores") + 1] = str(scenes / "scores" / "scene000.npy")
    truth = scenes / "masks" / "scene000.png"
    assert call([*given, "--truth", str(truth), "--figure"]) == 0
    assert "scene000: " in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "scene000.png", "scene000.overlay.png", "scene000.json", "scene000.figure.png",
    }  # fmt: skip


def test_the_net_of_a_user(tmp_path, scenes):
    net, _ = write_onnx(tmp_path / "net.onnx", 21)
    out = tmp_path / "out"
    command = [
        "segment", str(scenes / "images" / "scene000.png"), "--net", str(net), "--out", str(out),
        "--superpixels", "50", "--solver", "unary", "--hypercolumns", "inner",
    ]  # fmt: skip
    assert call(command) == 0
    report = json.loads((out / "scene000.json").read_text())
    assert 20 <= report["superpixels"] <= 70
    assert np.isfinite(report["energy"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--solver", "magic"], "no solver"),
        (["--energy", "/nowhere.yaml"], "nowhere.yaml"),
        (["--recipe", "/nowhere"], "not a finished folder"),
        (["--net", "/nowhere.onnx"], "no such net file"),
    ],
)
def test_wrong_options(scenes, tmp_path, capsys, changes, message):
    given = arguments(scenes, scenes / "images" / "scene000.png", tmp_path)
    if changes[0] in given:
        at = given.index(changes[0])
        del given[at : at + 2]
    assert call([*given, *changes]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_something_must_give_scores(scenes, tmp_path, capsys):
    assert call(["segment", str(scenes / "images" / "scene000.png")]) == 2
    assert "--net or --scores" in capsys.readouterr().err
