import numpy as np
import pytest

from policrf.vision.nets.grids import Grid, map_means
from policrf.vision.nets.segmentation_net import windows

RNG = np.random.default_rng(0)


def naive(grid):
    """Bilinear interpolation, one pixel at a time."""
    top, left, bottom, right = grid.window
    h, w, channels = grid.values.shape
    out = np.zeros((channels, bottom - top, right - left))
    for y in range(top, bottom):
        for x in range(left, right):
            v = min(max(grid.y0 + grid.dy * y, 0), h - 1)
            u = min(max(grid.x0 + grid.dx * x, 0), w - 1)
            j, i = int(v), int(u)
            b, a = v - j, u - i
            j1, i1 = min(j + 1, h - 1), min(i + 1, w - 1)
            value = (1 - b) * ((1 - a) * grid.values[j, i] + a * grid.values[j, i1])
            value = value + b * ((1 - a) * grid.values[j1, i] + a * grid.values[j1, i1])
            out[:, y - top, x - left] = value
    return out


def random_grid(shape, window, *place):
    return Grid(RNG.normal(size=shape).astype(np.float32), window, *place)


@pytest.mark.parametrize(
    "grid",
    [
        Grid.over_image(RNG.normal(size=(4, 5, 3)).astype(np.float32), 13, 17),
        Grid.over_image(RNG.normal(size=(26, 34, 2)).astype(np.float32), 13, 17),
        random_grid((1, 1, 2), (0, 0, 5, 6), 0.0, 0.1, 0.0, 0.1),
        random_grid((6, 4, 2), (3, 2, 11, 9), -0.4, 0.5, -1.0, 0.3),
    ],
)
def test_interpolation_against_a_loop(grid):
    np.testing.assert_allclose(grid.at_pixels(), naive(grid), atol=1e-5)


def test_same_size_is_the_identity():
    values = RNG.normal(size=(6, 7, 3)).astype(np.float32)
    np.testing.assert_array_equal(
        Grid.over_image(values, 6, 7).at_pixels(), values.transpose(2, 0, 1)
    )


@pytest.mark.parametrize("n_nodes", [4, 60])
def test_node_means_are_means_of_pixels(n_nodes):
    height, width = 40, 48
    segments = RNG.integers(0, n_nodes, (height, width)).astype(np.int32)
    grid = Grid.over_image(RNG.normal(size=(5, 6, 3)).astype(np.float32), height, width)
    pixels = grid.at_pixels()
    expected = np.stack([pixels[:, segments == node].mean(axis=1) for node in range(n_nodes)])
    (found,) = map_means([[grid]], segments)
    # Large superpixels are read at every second pixel; the map is smooth between its cells.
    np.testing.assert_allclose(found, expected, atol=1e-5 if n_nodes == 60 else 0.1)


def test_tiny_superpixels_keep_all_their_pixels():
    segments = np.zeros((40, 40), np.int32)
    segments[1, 1] = 1  # on no sampled row or column
    grid = Grid.over_image(RNG.normal(size=(5, 5, 2)).astype(np.float32), 40, 40)
    (found,) = map_means([[grid]], segments)
    np.testing.assert_allclose(found[1], grid.at_pixels()[:, 1, 1], atol=1e-5)


@pytest.mark.parametrize("shape", [(30, 100), (100, 30)])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_windows_cover_the_image(shape, count):
    covered = np.zeros(shape, int)
    for top, left, bottom, right in windows(np.zeros((*shape, 3), np.uint8), count):
        covered[top:bottom, left:right] += 1
    assert covered.min() >= 1
    assert count == 1 or covered.max() >= 2
