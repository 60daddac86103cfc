import numpy as np
import pytest
from PIL import Image

from policrf.errors import InvalidFile
from policrf.plots.colours import label_colours, overlay
from policrf.vision.images import image_size, read_image, read_mask, write_labels

RGB = np.random.default_rng(0).integers(0, 256, (6, 9, 3)).astype(np.uint8)


def saved(tmp_path, image, name="x.png", **options):
    path = tmp_path / name
    image.save(path, **options)
    return path


@pytest.mark.parametrize("mode", ["L", "1", "RGBA", "LA", "P"])
def test_every_mode_becomes_rgb(tmp_path, mode):
    expected = np.asarray(Image.fromarray(RGB).convert(mode).convert("RGB"))
    read = read_image(saved(tmp_path, Image.fromarray(RGB).convert(mode)))
    assert read.dtype == np.uint8
    np.testing.assert_array_equal(read, expected)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparent_pixels_are_laid_over_white(tmp_path, mode):
    """Half seen: half white; hidden: white, whatever colour is hidden."""
    black = np.zeros((1, 3, 4), np.uint8)
    black[0, :, 3] = 255, 128, 0
    image = Image.fromarray(black)
    if mode == "P":
        image = Image.fromarray(np.asarray([[0, 1, 2]], np.uint8), "P")
        image.putpalette([0] * 9)
        image.info["transparency"] = bytes([255, 128, 0])
        path = saved(tmp_path, image, transparency=bytes([255, 128, 0]))
    else:
        path = saved(tmp_path, image.convert(mode))
    np.testing.assert_allclose(read_image(path)[0, :, 0], [0, 127, 255], atol=1)


def test_cmyk_jpeg(tmp_path):
    flat = np.full((8, 8, 3), (200, 30, 60), np.uint8)
    path = saved(tmp_path, Image.fromarray(flat).convert("CMYK"), "x.jpg", quality=95)
    assert np.abs(read_image(path).astype(int) - flat).max() <= 8


def test_sixteen_bits_keep_the_high_byte(tmp_path):
    deep = np.arange(0, 65536, 257 * 4, dtype=np.uint16)[None, :]
    read = read_image(saved(tmp_path, Image.fromarray(deep)))
    np.testing.assert_array_equal(read[0, :, 0], np.round(deep[0] / 257))


def test_exif_rotation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # stored lying on its side
    path = saved(tmp_path, Image.fromarray(RGB), "x.png", exif=exif)
    np.testing.assert_array_equal(read_image(path), np.rot90(RGB, -1))


def test_one_pixel(tmp_path):
    assert read_image(saved(tmp_path, Image.fromarray(RGB[:1, :1]))).shape == (1, 1, 3)


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\xff\xd8\xff\xe0 cut"])
def test_damaged_files_are_named(tmp_path, content):
    path = tmp_path / "bad.jpg"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=r"bad\.jpg"):
        read_image(path)


def test_truncated_jpeg(tmp_path):
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    path = saved(tmp_path, Image.fromarray(noise), "cut.jpg")
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(InvalidFile, match=r"cut\.jpg"):
        read_image(path)


def test_missing_file(tmp_path):
    with pytest.raises(InvalidFile, match="no such file"):
        read_image(tmp_path / "none.png")


def test_the_size_of_a_file(tmp_path):
    assert image_size(saved(tmp_path, Image.fromarray(RGB))) == (6, 9)
    with pytest.raises(InvalidFile, match="no such file"):
        image_size(tmp_path / "none.png")


def test_masks_come_as_stored(tmp_path):
    labels = np.arange(54, dtype=np.uint8).reshape(6, 9)
    write_labels(labels, tmp_path / "p.png")
    np.testing.assert_array_equal(read_mask(tmp_path / "p.png"), labels)
    deep = np.asarray([[0, 1003, 10000]], np.uint16)
    np.testing.assert_array_equal(read_mask(saved(tmp_path, Image.fromarray(deep))), deep)


def test_colour_masks_are_refused(tmp_path):
    with pytest.raises(InvalidFile, match="one label a pixel"):
        read_mask(saved(tmp_path, Image.fromarray(RGB)))


def test_palette_is_pascals():
    assert label_colours(21)[[0, 1, 15, 20]].tolist() == [
        [0, 0, 0], [128, 0, 0], [192, 128, 128], [0, 64, 128],
    ]  # fmt: skip


def test_overlay_leaves_the_background_alone():
    labels = np.zeros((6, 9), int)
    labels[2, 3] = 1
    mixed = overlay(RGB, labels)
    changed = (mixed != RGB).any(axis=2)
    assert changed[2, 3]
    assert changed.sum() == 1
