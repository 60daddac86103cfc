import numpy as np
import pytest
from scipy import ndimage
from tests.vision.builders import scene

from policrf.vision.opencv import to_lab
from policrf.vision.superpixels.assign import Cells, assign
from policrf.vision.superpixels.slic import superpixels


def lab(image):
    return to_lab(image, 1.0)


def assert_connected(segments):
    numbers = np.unique(segments)
    np.testing.assert_array_equal(numbers, np.arange(len(numbers)))
    for number in numbers:
        assert ndimage.label(segments == number)[1] == 1


@pytest.mark.parametrize("count", [1, 20, 100])
def test_about_as_many_as_asked_and_connected(count):
    segments = superpixels(lab(scene(0, (72, 96)).image), count)
    assert_connected(segments)
    assert 0.7 * count <= segments.max() + 1 <= 1.3 * count


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 2)])
def test_images_with_few_pixels_get_one_each(shape):
    segments = superpixels(lab(np.zeros((*shape, 3), np.uint8)), 250)
    assert segments.shape == shape
    assert len(np.unique(segments)) == shape[0] * shape[1]


@pytest.mark.parametrize("shape", [(1, 300), (300, 1), (2, 96), (400, 3)])
def test_strips_are_cut_along_their_length(shape):
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    segments = superpixels(lab(image), 12)
    assert_connected(segments)
    assert 6 <= segments.max() + 1 <= 24


def test_one_colour_gives_the_grid():
    segments = superpixels(lab(np.full((40, 60, 3), 7, np.uint8)), 24)
    assert_connected(segments)
    assert segments.max() + 1 == 24
    assert np.bincount(segments.reshape(-1)).min() >= 80


def test_pieces_have_a_quarter_of_the_mean_size():
    image = np.random.default_rng(1).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    assert np.bincount(superpixels(to_lab(image), 100).reshape(-1)).min() >= 60 * 80 // 100 // 4


def test_same_image_same_segments():
    image = lab(scene(1).image)
    np.testing.assert_array_equal(superpixels(image, 50), superpixels(image.copy(), 50))


def test_two_colours_are_separated():
    image = np.zeros((40, 40, 3), np.uint8)
    image[:, 23:] = 255
    segments = superpixels(to_lab(image), 16)
    assert not set(segments[:, :23].reshape(-1)) & set(segments[:, 23:].reshape(-1))


def test_assign_against_a_loop():
    rng = np.random.default_rng(2)
    planes = rng.normal(0, 10, (3, 13, 17)).astype(np.float32)
    cells = Cells(rows=3, columns=4, step=2.0)
    found = assign(planes, cells, 1)
    middle = [(int((k // 4 + 0.5) * 13 / 3), int((k % 4 + 0.5) * 17 / 4)) for k in range(12)]
    for v in range(13):
        for u in range(17):
            near = [
                k
                for k in range(12)
                if abs(k // 4 - v * 3 // 13) <= 1 and abs(k % 4 - u * 4 // 17) <= 1
            ]
            distance = [
                ((planes[:, v, u] - planes[:, middle[k][0], middle[k][1]]) ** 2).sum()
                + 4 * ((v - middle[k][0]) ** 2 + (u - middle[k][1]) ** 2)
                for k in near
            ]
            assert distance[near.index(found[v, u])] == pytest.approx(min(distance), rel=1e-5)
