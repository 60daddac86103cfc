"""What people and other programs leave beside images: read, or refused in one sentence."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from PIL import Image

from policrf import limits
from policrf.crf.io.json_text import read_json
from policrf.datasets.base import relabeled
from policrf.errors import InvalidFile, InvalidOption, PolicrfError, TooLarge
from policrf.vision.classes import read_class_map, read_names
from policrf.vision.energy.weights import Energy
from policrf.vision.images import read_image, read_mask


def test_a_mark_in_front_of_names_is_no_letter(tmp_path):
    path = tmp_path / "labels.names"
    path.write_bytes("\ufeffbackground\nStraße\n".encode())
    assert read_names(path) == ("background", "Straße")
    path.write_bytes("background\nStraße\n".encode("latin-1"))
    with pytest.raises(InvalidFile, match=r"labels.names: .* byte 15 is no UTF-8 text"):
        read_names(path)
    path.write_bytes("background\n".encode("utf-16"))
    with pytest.raises(InvalidFile, match="UTF-8"):
        read_names(path)


def test_deep_json_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "detections.json"
    path.write_text("[" * 100_000)
    with pytest.raises(InvalidFile, match=r"detections.json: .*nested too deeply"):
        read_json(path)


def test_aliases_are_counted_before_they_are_followed(tmp_path):
    path = tmp_path / "map.yaml"
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 9)]
    path.write_text("\n".join(lines))  # 500 bytes for 10^9 letters
    with pytest.raises(TooLarge, match="50,000 values once its aliases are written out"):
        read_class_map(path)
    path.write_text("a: &a [*a]")
    with pytest.raises(PolicrfError, match=r"map.yaml"):
        read_class_map(path)
    path.write_text("first: &name disc\nsecond: *name\n")
    assert read_class_map(path) == {"first": "disc", "second": "disc"}
    path.write_text("- " * 50_000)
    with pytest.raises(InvalidFile, match="nested too deeply"):
        read_class_map(path)


def test_a_large_value_in_a_small_mask_takes_little_memory(tmp_path):
    path = tmp_path / "mask.tif"
    Image.fromarray(np.full((4, 4), 2_000_000_000, np.int32)).save(path)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match="value 2000000000 at row 0, column 0"):
            relabeled(read_mask(path), {0: 0, 255: -1}, str(path))
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def chunk(kind: bytes, content: bytes) -> bytes:
    body = kind + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def test_the_header_of_a_picture_is_believed_up_to_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "bomb.png"
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(1000))))
    for read in (read_image, read_mask):
        with pytest.raises(PolicrfError, match="too large a picture"):
            read(path)
    Image.fromarray(np.zeros((30, 40, 3), np.uint8)).save(path)
    assert read_image(path).shape == (30, 40, 3)
    monkeypatch.setattr(limits, "IMAGE_PIXELS", 1000)
    with pytest.raises(TooLarge, match="40×30 pixels; the limit is 1,000"):
        read_image(path)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "energy.yaml"
    Energy(alpha=1.25).save(path, {"score": 0.5, "grid": (1, 2), "about": {3: "three"}})
    return path


def test_an_energy_that_was_changed_is_refused_with_the_way_out(saved):
    assert Energy.load(saved) == Energy(alpha=1.25)
    text = saved.read_text()
    saved.write_text(text.replace("1.25", "1.75"))
    with pytest.raises(InvalidFile, match="delete its lines sha256 and complete"):
        Energy.load(saved)
    lines = saved.read_text().splitlines()
    kept = [line for line in lines if not line.startswith(("sha256", "complete"))]
    saved.write_text("\n".join(kept))
    assert Energy.load(saved).alpha == 1.75


def test_an_energy_that_is_cut_at_either_end_is_refused(saved):
    lines = saved.read_text().splitlines(keepends=True)
    for part in (lines[:-1], lines[1:], lines[:8], lines[8:]):
        saved.write_text("".join(part))
        with pytest.raises(PolicrfError, match="damaged"):
            Energy.load(saved)


@pytest.mark.parametrize(
    "line", ["alpha: 1.0e+300", "band: 99999999999999999999", "alpha: " + "9" * 400, "C: .inf"]
)
def test_weights_have_ranges(tmp_path, line):
    path = tmp_path / "energy.yaml"
    path.write_text(line)
    with pytest.raises(InvalidOption, match=r"energy.yaml: \w+ is .*; it must be"):
        Energy.load(path)
