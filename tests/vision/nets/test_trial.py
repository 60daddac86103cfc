"""Net files over which a library crashes: one sentence; whole ones are tried once."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from tests.vision.builders import (
    LABELS,
    call,
    write_darknet,
    write_onnx,
    write_onnx_detector,
    write_scene_folder,
)

from policrf.errors import InvalidFile, PolicrfError, TooLarge
from policrf.vision.nets import trial
from policrf.vision.nets.detectors import ClassRoles, Detector
from policrf.vision.nets.segmentation_net import SegmentationNet, open_net

ROLES = ClassRoles.of(LABELS[1:3], LABELS, chosen=None, riders=False)
GREY = np.full((48, 64, 3), 128, np.uint8)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(trial, "_passed", set())


def test_a_crash_of_the_library_is_one_sentence(tmp_path, capsys):
    write_scene_folder(tmp_path, 1)
    cfg = write_darknet(tmp_path, groups=0)  # OpenCV divides by it
    with pytest.raises(InvalidFile, match=r"opencv.* crashes over it \(signal 8\)"):
        Detector(cfg, ROLES, threshold=0.5)
    command = [
        "segment", str(tmp_path / "images"), "--scores", str(tmp_path / "scores"), "--labels",
        str(tmp_path / "labels.names"), "--score-kind", "probabilities", "--detector", str(cfg),
        "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    assert call(command) == 2
    assert "the net is damaged" in capsys.readouterr().err


def test_a_whole_net_is_tried_once(tmp_path, monkeypatch):
    cfg = write_darknet(tmp_path)
    assert Detector(cfg, ROLES, threshold=0.0)(GREY).boxes.shape[1] == 4

    def never(*_):
        raise AssertionError("it has been tried")

    monkeypatch.setattr(trial, "run_apart", never)
    monkeypatch.setattr(trial, "_passed", set())  # as another process finds it
    Detector(cfg, ROLES, threshold=0.5)
    with cfg.open("a") as file:
        file.write("# another file\n")
    with pytest.raises(AssertionError):
        Detector(cfg, ROLES, threshold=0.5)


def test_no_folder_to_remember_in_is_borne(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    net, _ = write_onnx(tmp_path / "net.onnx", len(LABELS))
    assert SegmentationNet(net, len(LABELS))(GREY).scores[0].values.shape[2] == len(LABELS)


@pytest.mark.parametrize("change", [-4, 4])
def test_weights_of_another_length_are_refused(tmp_path, change):
    cfg = write_darknet(tmp_path)
    weights = cfg.with_suffix(".weights")
    content = weights.read_bytes()
    weights.write_bytes(content[:change] if change < 0 else content + bytes(change))
    with pytest.raises(InvalidFile, match=f"has {len(content) + change} bytes, where the layers"):
        Detector(cfg, ROLES, threshold=0.5)


def test_a_net_that_takes_all_memory_or_time_is_refused(tmp_path, monkeypatch):
    with pytest.raises(PolicrfError):
        Detector(write_darknet(tmp_path, filters=2_000_000_000), ROLES, threshold=0.5)
    cfg = write_darknet(tmp_path)

    def hangs(*_):
        raise subprocess.TimeoutExpired("policrf", 1)

    monkeypatch.setattr(trial, "run_apart", hangs)
    with pytest.raises(InvalidFile, match="does not come to an end"):
        Detector(cfg, ROLES, threshold=0.5)
    monkeypatch.setattr(trial, "run_apart", lambda *_: trial.NO_MEMORY)
    with pytest.raises(TooLarge, match="does not fit in memory"):
        Detector(cfg, ROLES, threshold=0.5)


def test_numbers_that_are_not_finite_are_refused(tmp_path):
    net, weights = write_onnx(tmp_path / "net.onnx", len(LABELS))
    content = net.read_bytes()
    first = weights["first"].tobytes()
    net.write_bytes(content.replace(first, np.full_like(weights["first"], np.nan).tobytes()))
    with pytest.raises(InvalidFile, match="not finite"):
        SegmentationNet(net, len(LABELS))(GREY)
    rows = [[1.0, 2.0, 9.0, 9.0, 0.9, np.inf]]
    detector = Detector(write_onnx_detector(tmp_path / "d.onnx", rows), ROLES, threshold=0.1)
    with pytest.raises(InvalidFile, match="not finite"):
        detector(GREY)


@pytest.mark.parametrize("suffix", [".tflite", ".onnx"])
@pytest.mark.parametrize("content", [b"", b"TFL3", bytes(100), b"\x1c\0\0\0TFL3" + bytes(40)])
def test_what_is_no_net_is_refused(tmp_path, suffix, content):
    path = tmp_path / f"net{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match="net"):
        open_net(path)
