"""prepare and segment go on past files that are damaged in any way, and name them."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.vision.builders import call, prepare_arguments, without_truth, write_scene_folder

from policrf.datasets.store import Prepared

NAMES = [f"scene{k:03d}" for k in range(6)]


def _packed(scores: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, scores=scores)
    return out.getvalue()


def _spoil(folder: Path) -> None:
    """Scores of the first five images: cut, a wrong zlib stream, encrypted, objects, no array."""
    scores = np.load(folder / f"{NAMES[0]}.npy")
    whole = _packed(scores)
    middle = len(whole) // 2
    encrypted = bytearray(whole)
    encrypted[whole.index(b"PK\x03\x04") + 6] |= 1
    encrypted[whole.index(b"PK\x01\x02") + 8] |= 1
    objects = io.BytesIO()
    np.save(objects, np.array([print], object), allow_pickle=True)
    contents = {
        ".npz": whole[:middle],
        ".npz ": whole[:middle] + bytes(40) + whole[middle + 40 :],
        ".npz  ": bytes(encrypted),
        ".npy": objects.getvalue(),
        ".npy ": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'shape': (9999999999999,)}",
    }
    for name, (suffix, content) in zip(NAMES, contents.items(), strict=False):
        (folder / f"{name}.npy").unlink()
        (folder / f"{name}{suffix.strip()}").write_bytes(content)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = tmp_path_factory.mktemp("damaged")
    write_scene_folder(root, len(NAMES), (32, 40))
    _spoil(root / "scores")
    return root


def test_prepare_skips_every_damaged_scores_file(scenes: Path, capsys) -> None:
    assert call([*prepare_arguments(scenes, scenes / "prepared"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["prepared"] == 1
    reasons = {skip["name"]: skip["reason"] for skip in report["skipped"]}
    assert list(reasons) == NAMES[:5]
    for name, reason in reasons.items():
        assert str(scenes / "scores" / name) in reason
    assert "encrypted" in reasons[NAMES[2]]
    assert Prepared(scenes / "prepared").names == NAMES[5:]


def test_segment_skips_every_damaged_scores_file(scenes: Path, tmp_path: Path, capsys) -> None:
    command = [
        "segment", str(scenes / "images"), "--scores", str(scenes / "scores"), "--score-kind",
        "probabilities", "--labels", str(scenes / "labels.names"), "--superpixels", "40",
        "--solver", "unary", "--out", str(tmp_path), "--json",
    ]  # fmt: skip
    assert call(command) == 0
    report = json.loads(capsys.readouterr().out)
    assert [image["image"] for image in report["images"]] == NAMES[5:]
    assert [skip["name"] for skip in report["skipped"]] == NAMES[:5]


def test_names_of_files_need_not_be_text(tmp_path: Path, capsys) -> None:
    write_scene_folder(tmp_path, 2, (32, 40))
    images = os.fsencode(tmp_path / "images")
    try:
        os.rename(images + b"/scene000.png", images + b"/caf\xe9.png")
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    arguments = without_truth(prepare_arguments(tmp_path, tmp_path / "out"))
    assert call([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [skip["name"] for skip in report["skipped"]] == ["caf\\xe9"]  # it has no scores
    assert json.loads((tmp_path / "out" / "report.json").read_text())["prepared"] == 1
    command = ["segment", os.fsdecode(images + b"/caf\xe9.png"), "--solver", "unary"]
    scores = np.load(tmp_path / "scores" / "scene000.npy")
    np.save(tmp_path / "scores" / "given.npy", scores)
    command += ["--scores", str(tmp_path / "scores" / "given.npy"), "--out", str(tmp_path / "cut")]
    command += ["--labels", str(tmp_path / "labels.names"), "--score-kind", "probabilities"]
    assert call(command) == 0
    assert Image.open(tmp_path / "cut" / "caf\\xe9.png").size == (40, 32)


def test_an_image_of_no_text_at_all_is_named_on_the_terminal(tmp_path: Path, capsys) -> None:
    path = os.fsencode(tmp_path) + b"/m\xff.uai"
    try:
        Path(os.fsdecode(path)).write_text("MARKOV\n1\n2\n1\n1 0\n2\n0.5 0.25\n")
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    assert call(["solve", os.fsdecode(path), "--solver", "icm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == 1
