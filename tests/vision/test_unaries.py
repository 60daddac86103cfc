import numpy as np
import pytest

from policrf.errors import InvalidFile
from policrf.vision.nets.grids import Grid
from policrf.vision.unaries import (
    best_labels,
    checked_scores,
    merge_classes,
    node_distribution,
    node_log_probability,
    pixel_distribution,
    read_scores,
)

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(6, 8, 4)).astype(np.float32)


def test_logits_become_distributions():
    grid = Grid.over_image(LOGITS.copy(), 6, 8)
    found = pixel_distribution([grid], 6, 8, "logits")
    expected = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(found, expected.transpose(2, 0, 1), atol=1e-6)


def test_overlapping_windows_are_averaged():
    left = Grid(np.full((6, 5, 2), (0.8, 0.2), np.float32), (0, 0, 6, 5), y0=0, dy=1, x0=0, dx=1)
    right = Grid(np.full((6, 5, 2), (0.4, 0.6), np.float32), (0, 3, 6, 8), y0=0, dy=1, x0=-3, dx=1)
    found = pixel_distribution([left, right], 6, 8, "probabilities")
    np.testing.assert_allclose(found[0, 0], [0.8] * 3 + [0.6] * 2 + [0.4] * 3, atol=1e-6)


def test_mean_of_distributions_not_distribution_of_mean():
    pixels = np.asarray([[[0.9, 0.1]], [[0.1, 0.9]]], np.float32)  # [2, 1, 2]
    segments = np.zeros((1, 2), np.int32)
    np.testing.assert_allclose(node_distribution(pixels, segments), [[0.5, 0.5]])


def test_the_best_label_is_the_first_of_equals():
    pixels = np.random.default_rng(0).integers(0, 4, (5, 7, 9)).astype(np.float32)
    np.testing.assert_array_equal(best_labels(pixels), pixels.argmax(axis=0))


def test_pixels_without_a_say_are_left_out():
    pixels = np.asarray([[[0.9, 0.1, 0.3]], [[0.1, 0.9, 0.7]]], np.float32)
    segments = np.asarray([[0, -1, 0]], np.int32)
    np.testing.assert_allclose(node_distribution(pixels, segments), [[0.6, 0.4]])
    expected = [[(np.log(0.9) + np.log(0.3)) / 2, (np.log(0.1) + np.log(0.7)) / 2]]
    np.testing.assert_allclose(node_log_probability(pixels, segments), expected, rtol=1e-5)


def test_classes_that_share_a_label_add_up():
    pixels = np.asarray([0.5, 0.3, 0.2], np.float32).reshape(3, 1, 1)
    merged = merge_classes(pixels, np.asarray([0, 1, 0]), 2)
    np.testing.assert_allclose(merged[:, 0, 0], [0.7, 0.3])


def test_reads_npy_and_npz_in_both_layouts(tmp_path):
    np.save(tmp_path / "a.npy", LOGITS)
    np.savez(tmp_path / "b.npz", other=np.zeros(3), scores=LOGITS.transpose(2, 0, 1))
    for name in ("a.npy", "b.npz"):
        np.testing.assert_array_equal(read_scores(tmp_path / name, 4, "logits"), LOGITS)


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (LOGITS[:, :, :3], "logits", "4 classes"),
        (LOGITS[0], "logits", r"\[8, 4\]"),
        (np.where(LOGITS > 2, np.nan, LOGITS), "logits", "not finite"),
        (LOGITS, "probabilities", "declare them as logits"),
        (np.zeros((6, 8, 4)), "probabilities", "probability 0 for every class"),
        (np.full((6, 8, 4), "x"), "logits", "not numbers"),
    ],
)
def test_wrong_scores_say_what_is_wrong(values, kind, message):
    with pytest.raises(InvalidFile, match=message):
        checked_scores(values, 4, kind, "file.npy")


def test_damaged_score_file(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"nonsense")
    with pytest.raises(InvalidFile, match=r"a\.npy"):
        read_scores(tmp_path / "a.npy", 4, "logits")
