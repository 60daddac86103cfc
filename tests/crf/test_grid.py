import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidPotential

RNG = np.random.default_rng(0)


def plain_energy(unary, weights, labels, steps, table):
    """Pixel by pixel, in plain Python."""
    height, width, _ = unary.shape
    total = 0.0
    for y in range(height):
        for x in range(width):
            total += unary[y, x, labels[y, x]]
            for down, right in steps:
                v, u = y + down, x + right
                if v < height and 0 <= u < width:
                    weight = (weights[y, x] + weights[v, u]) / 2 / np.hypot(down, right)
                    total += weight * table[labels[y, x], labels[v, u]]
    return total


@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("shape", [(4, 5, 3), (1, 6, 2), (6, 1, 2), (1, 1, 4)])
def test_energies_are_those_of_the_pixels(shape, connectivity):
    unary, weights = RNG.normal(size=shape), RNG.random(shape[:2])
    steps = ((0, 1), (1, 0), (1, 1), (1, -1))[: 2 if connectivity == 4 else 4]
    different = 1.0 - np.eye(shape[2])
    linear = np.abs(np.subtract.outer(np.arange(shape[2]), np.arange(shape[2]))).astype(float)
    for table in (None, linear):
        crf = pc.grid(unary, weights, connectivity=connectivity, table=table)
        used = different if table is None else table
        for _ in range(3):
            labels = RNG.integers(0, shape[2], shape[:2])
            expected = plain_energy(unary, weights, labels, steps, used)
            assert crf.energy(labels.ravel()) == pytest.approx(expected)


def test_one_number_weighs_all_edges():
    unary = RNG.normal(size=(3, 4, 2))
    labels = RNG.integers(0, 2, 12)
    assert pc.grid(unary, 0.7).energy(labels) == pytest.approx(
        pc.grid(unary, np.full((3, 4), 0.7)).energy(labels)
    )


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"unary": np.zeros((3, 2))}, "[H, W, L]"),
        ({"unary": np.zeros((3, 0, 2))}, "[H, W, L]"),
        ({"unary": np.zeros((3, 4, 2)), "connectivity": 6}, "4 or 8"),
        ({"unary": np.zeros((3, 4, 2)), "weights": np.ones((4, 3))}, "weights"),
        ({"unary": "photo"}, "unary"),
    ],
)
def test_wrong_grids_are_refused(arguments, part):
    with pytest.raises(InvalidPotential) as told:
        pc.grid(**arguments)
    assert part in str(told.value)
