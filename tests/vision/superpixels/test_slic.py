import numpy as np
import pytest
from tests.vision.builders import scene

from policrf.vision.superpixels.adjacency import adjacency
from policrf.vision.superpixels.slic import renumber, superpixels


@pytest.mark.parametrize("count", [1, 20, 100])
def test_about_as_many_as_asked(count):
    segments = superpixels(scene(0, (72, 96)).image, count)
    numbers = np.unique(segments)
    np.testing.assert_array_equal(numbers, np.arange(len(numbers)))
    assert 0.7 * count <= len(numbers) <= 1.3 * count


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 2)])
def test_images_with_few_pixels_get_one_each(shape):
    segments = superpixels(np.zeros((*shape, 3), np.uint8), 250)
    assert segments.shape == shape
    assert len(np.unique(segments)) == shape[0] * shape[1]


def test_flat_and_thin_images_work():
    assert superpixels(np.full((40, 60, 3), 7, np.uint8), 20).max() >= 5
    assert superpixels(scene().image[:2], 10).shape == (2, 96)


def test_same_image_same_segments():
    image = scene(1).image
    np.testing.assert_array_equal(superpixels(image, 50), superpixels(image.copy(), 50))


def test_renumber_closes_gaps():
    assert renumber(np.asarray([[5, 2], [9, 2]])).tolist() == [[1, 0], [2, 0]]


def test_adjacency_against_a_loop():
    segments = np.random.default_rng(0).integers(0, 6, (9, 11)).astype(np.int32)
    counts = {}
    for y in range(9):
        for x in range(11):
            for v, u in ((y + 1, x), (y, x + 1)):
                if v < 9 and u < 11 and segments[y, x] != segments[v, u]:
                    pair = tuple(sorted((int(segments[y, x]), int(segments[v, u]))))
                    counts[pair] = counts.get(pair, 0) + 1
    found = adjacency(segments)
    assert [tuple(edge) for edge in found.edges.tolist()] == sorted(counts)
    assert found.length.tolist() == [counts[pair] for pair in sorted(counts)]


def test_one_segment_has_no_edges():
    found = adjacency(np.zeros((4, 4), np.int32))
    assert found.edges.shape == (0, 2)
    assert found.length.shape == (0,)
