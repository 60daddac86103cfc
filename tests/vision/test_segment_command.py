import json
import shutil
from dataclasses import fields, replace

import numpy as np
import pytest
from tests.vision.builders import (
    LABELS,
    call,
    prepared_scenes,
    write_onnx,
    write_onnx_detector,
)

from policrf.cli.segment import Config, started
from policrf.datasets.options import PrepareOptions
from policrf.datasets.store import Prepared
from policrf.errors import InvalidOption
from policrf.vision.energy.weights import Energy
from policrf.vision.image_options import ImageOptions
from policrf.vision.images import read_mask
from policrf.vision.segment import Segmenter


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
    assert report["net_windows"] == 1
    assert call([*command, "--net-windows", "3"]) == 0
    assert json.loads((out / "scene000.json").read_text())["net_windows"] == 3
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


def report_of(arguments, capsys):
    assert call([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def one_scene(scenes, out, *more):
    image, scores = scenes / "images" / "scene000.png", scenes / "scores" / "scene000.npy"
    given = arguments(scenes, image, out)
    given[given.index("--scores") + 1] = str(scores)
    return [*given, *more]


def test_truth_gives_the_iou(scenes, tmp_path, capsys):
    mask = scenes / "masks" / "scene000.png"
    given = one_scene(scenes, tmp_path, "--truth", str(mask))
    report = report_of(given, capsys)
    truth, labels = read_mask(mask), read_mask(tmp_path / "scene000.png")
    iou = report["images"][0]["iou"]
    expected = {}
    for label, name in enumerate(LABELS):
        hits = ((truth == label) & (labels == label)).sum()
        union = (truth != 255) & ((truth == label) | (labels == label))
        if union.any():
            expected[name] = hits / union.sum()
    assert iou["classes"] == pytest.approx(expected)
    assert iou["mean"] == pytest.approx(np.mean(list(expected.values())))
    assert json.loads((tmp_path / "scene000.json").read_text())["iou"] == iou
    assert report["iou"] == iou
    assert call(given) == 0
    assert f"IoU {100 * iou['mean']:.2f} (net {100 * iou['net']:.2f})" in capsys.readouterr().out


def test_truth_of_a_folder_is_counted_over_all_images(scenes, tmp_path, capsys):
    given = arguments(scenes, scenes / "images", tmp_path)
    assert call([*given, "--truth", str(scenes / "masks")]) == 0
    assert "all images: IoU " in capsys.readouterr().out


def test_folders_of_scores_and_masks_serve_one_image(scenes, tmp_path, capsys):
    given = arguments(scenes, scenes / "images" / "scene002.png", tmp_path)
    by_folder = report_of([*given, "--truth", str(scenes / "masks")], capsys)["images"][0]
    given[given.index("--scores") + 1] = str(scenes / "scores" / "scene002.npy")
    mask = scenes / "masks" / "scene002.png"
    by_file = report_of([*given, "--truth", str(mask)], capsys)["images"][0]
    assert by_folder["iou"] == by_file["iou"]
    assert by_folder["energy"] == by_file["energy"]


def test_without_truth_there_is_no_iou(scenes, tmp_path, capsys):
    report = report_of(one_scene(scenes, tmp_path), capsys)
    assert report["iou"] is None
    assert report["images"][0]["iou"] is None


def test_boxes_are_in_pixels_of_the_image(tmp_path, scenes, capsys):
    net, _ = write_onnx(tmp_path / "net.onnx", 21)
    # Rows of x0, y0, x1, y1, confidence, class in pixels of the detector's 32 × 32 input.
    detector = write_onnx_detector(tmp_path / "boxes.onnx", [[4, 8, 16, 24, 0.9, 0]])
    (tmp_path / "boxes.names").write_text("person\n")
    given = [
        "segment", str(scenes / "images" / "scene000.png"), "--net", str(net), "--out",
        str(tmp_path / "out"), "--superpixels", "40", "--detector", str(detector),
        "--detector-names", str(tmp_path / "boxes.names"), "--max-side", "32",
    ]  # fmt: skip
    (box,) = report_of(given, capsys)["images"][0]["boxes"]
    assert (box["label"], box["confidence"]) == ("person", pytest.approx(0.9))
    x0, y0, x1, y1 = box["box"]
    assert 0 <= x0 < x1 <= 64
    assert 0 <= y0 < y1 <= 48
    # 12 of 32 columns of a picture 64 wide, whatever the height was padded to.
    assert x1 - x0 == pytest.approx(24, abs=0.2)


def test_any_labels_and_names(tmp_path, scenes, capsys):
    net, _ = write_onnx(tmp_path / "net.onnx", 4)
    (tmp_path / "labels").write_text("nothing\nthing\nother\n")
    (tmp_path / "classes").write_text("nothing\nother\nthing\nunknown\n")
    given = [
        "segment", str(scenes / "images" / "scene000.png"), "--net", str(net), "--out",
        str(tmp_path / "out"), "--superpixels", "40", "--labels", str(tmp_path / "labels"),
        "--net-names", str(tmp_path / "classes"),
    ]  # fmt: skip
    assert set(report_of(given, capsys)["images"][0]["labels"]) <= {"nothing", "thing", "other"}


def test_options_go_before_the_recipe_and_the_recipe_before_defaults(scenes):
    default = Config(image=scenes)
    prepared = replace(default, recipe=scenes / "prepared")
    start = started(prepared)
    assert (default.superpixels, start.superpixels) == (1000, 40)
    assert start.score_kind == "probabilities"
    assert start.image == scenes
    assert started(default) is None


def test_an_option_that_equals_its_default_goes_before_the_recipe(scenes, tmp_path, capsys):
    few = report_of(one_scene(scenes, tmp_path), capsys)["images"][0]["superpixels"]
    given = one_scene(scenes, tmp_path, "--superpixels", "1000")
    many = report_of(given, capsys)["images"][0]["superpixels"]
    assert few < 100 < many


def test_the_options_of_prepare_are_those_of_segment():
    shared = {field.name: field.default for field in fields(ImageOptions)}
    for options in (PrepareOptions, Config):
        own = {field.name: field.default for field in fields(options)}
        assert issubclass(options, ImageOptions)
        different = {name for name in shared if own[name] != shared[name]}
        assert different <= {"superpixels"}


def test_pixels_at_the_end(scenes, tmp_path, capsys):
    strong = tmp_path / "strong.yaml"
    Energy(alpha=1.0, sigma_colour=5.0).save(strong)
    given = one_scene(scenes, tmp_path, "--superpixels", "20")
    given[given.index("--energy") + 1] = str(strong)
    assert report_of(given, capsys)["images"][0]["moved"] > 0
    assert report_of([*given, "--no-pixels"], capsys)["images"][0]["moved"] == 0
    # The net alone: no edges, or the solver that looks at no edges.
    assert report_of([*given, "--potentials", "u"], capsys)["images"][0]["moved"] == 0
    given[given.index("--solver") + 1] = "unary"
    assert report_of(given, capsys)["images"][0]["moved"] == 0


@pytest.mark.parametrize("what", ["missing", "text", "empty"])
def test_wrong_images_are_one_sentence(scenes, tmp_path, capsys, what):
    image = tmp_path / f"{what}.jpg"
    if what == "text":
        image.write_text("a text under a wrong name")
    if what == "empty":
        image.mkdir()
    given = one_scene(scenes, tmp_path / "out")
    given[1] = str(image)
    assert call(given) == 2
    error = capsys.readouterr().err
    message = {
        "missing": "there is no such image", "text": "not a readable picture",
        "empty": "there are no images",
    }  # fmt: skip
    assert f"{image}: {message[what]}" in error
    assert error.count("\n") == 1


def test_results_never_replace_what_is_read(scenes, tmp_path, capsys):
    folder = tmp_path / "photos"
    shutil.copytree(scenes / "images", folder)
    (folder / "scene001.png").unlink()
    before = {path: path.read_bytes() for path in folder.iterdir()}
    photo = folder / "scene000.png"
    for image in (folder, photo):
        assert call(arguments(scenes, image, folder)) == 2
        assert "scene000.png is one of the files that are read" in capsys.readouterr().err
    given = [*arguments(scenes, folder, scenes / "masks"), "--truth", str(scenes / "masks")]
    assert call(given) == 2
    assert "would replace it; choose another --out" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    found = Segmenter(recipe=Prepared(scenes / "prepared").recipe)(
        photo, "icm", scores=np.load(scenes / "scores" / "scene000.npy")
    )
    with pytest.raises(InvalidOption, match="one of the files that are read"):
        found.save(folder)


@pytest.mark.parametrize("other", ["scene000.jpg", "scene000.overlay.png"])
def test_two_images_of_one_name_are_refused(scenes, tmp_path, capsys, other):
    folder, out = tmp_path / "photos", tmp_path / "out"
    folder.mkdir()
    for name in ("scene000.png", other):
        shutil.copy(scenes / "images" / "scene000.png", folder / name)
    assert call(arguments(scenes, folder, out)) == 2
    assert "rename" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("name", ["../../x", "/x", "a/../../x", "..", "", "C:\\x", "a\0b"])
def test_a_name_that_leaves_the_folder_is_refused(scenes, tmp_path, name):
    segmenter = Segmenter(recipe=Prepared(scenes / "prepared").recipe)
    scores = np.load(scenes / "scores" / "scene000.npy")
    with pytest.raises(InvalidOption, match="it must be a plain name"):
        segmenter(scenes / "images" / "scene000.png", "icm", name=name, scores=scores)
    found = segmenter(scenes / "images" / "scene000.png", "icm", scores=scores)
    view = replace(found.view, record=replace(found.view.record, name=name))
    with pytest.raises(InvalidOption, match="it must be a plain name"):
        replace(found, view=view).save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
