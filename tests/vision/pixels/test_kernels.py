"""The compiled kernels against plain Python on tiny images."""

import math

import numpy as np
import pytest

from policrf.vision.pixels.around import BLOCK, PRIOR, SOFT, Around, Widths, look_around
from policrf.vision.pixels.distance import boundary_distance, near_boundary
from policrf.vision.pixels.grid import Contrast, grid_of


def random_case(seed, shape=(11, 19), n_labels=3, n_nodes=12):
    rng = np.random.default_rng(seed)
    lab = rng.normal(50, 4, (*shape, 3)).astype(np.float32)
    free = rng.random(shape) < 0.6
    number = np.full(shape, -1, np.int32)
    number[free] = np.arange(free.sum())
    labels = rng.integers(0, n_labels, shape).astype(np.int32)
    around = Around(
        position=(rng.random((n_nodes, 2)) * shape).astype(np.float32),
        colour=rng.normal(50, 4, (n_nodes, 3)).astype(np.float32),
        size=rng.integers(1, 60, n_nodes).astype(np.float32),
        label=rng.integers(0, n_labels, n_nodes).astype(np.int32),
    )
    return number, lab, labels, around


def plain_around(y, x, colour, around, widths, n_labels):
    """V and log(D + floor) of one pixel."""
    votes, hits, mass = np.zeros(n_labels), np.zeros(n_labels), np.full(n_labels, PRIOR)
    middle = np.asarray([y // BLOCK, x // BLOCK]) * BLOCK + BLOCK / 2
    for position, mean, size, label in zip(*around, strict=True):
        away = ((position - middle) ** 2).sum()
        if away >= widths.reach**2:
            continue
        weight = size * math.exp(-away / (2 * widths.reach**2))
        apart = ((mean.astype(float) - colour) ** 2).sum()
        votes[label] += weight * math.exp(-apart / (2 * widths.sharp**2))
        hits[label] += weight * math.exp(-apart / (2 * (SOFT * widths.sharp) ** 2))
        mass[label] += weight
    return votes / max(votes.sum(), 1e-12), np.log(hits / mass + widths.floor)


@pytest.mark.parametrize("seed", range(3))
def test_votes_and_shares_of_colours(seed):
    number, lab, _, around = random_case(seed)
    widths = Widths(reach=9.0, sharp=3.0, floor=0.01)
    votes, ratio = look_around(number, lab, around, widths, 3)
    for y, x in np.argwhere(number >= 0):
        expected = plain_around(y, x, lab[y, x], around, widths, 3)
        # The table has steps of a quarter of a unit of ‖ΔLab‖².
        np.testing.assert_allclose(votes[number[y, x]], expected[0], atol=0.02)
        np.testing.assert_allclose(ratio[number[y, x]], expected[1], atol=0.02)


def test_a_pixel_with_nobody_around_has_no_votes():
    number, lab, _, around = random_case(0)
    alone = around._replace(position=around.position + 1000)
    votes, ratio = look_around(number, lab, alone, Widths(9.0, 3.0, 0.01), 3)
    assert (votes == 0).all()
    np.testing.assert_allclose(ratio, math.log(0.01), rtol=1e-5)


def plain_energy(number, lab, labels, chosen, cost):
    """Of all pairs with a numbered pixel, numbered pixels having the label that is chosen."""
    final = labels.copy()
    final[number >= 0] = chosen
    total = 0.0
    for y, x in np.ndindex(*number.shape):
        for v, u in ((y, x + 1), (y + 1, x)):
            inside = v < number.shape[0] and u < number.shape[1]
            if not inside or max(number[y, x], number[v, u]) < 0 or final[y, x] == final[v, u]:
                continue
            apart = ((lab[y, x].astype(float) - lab[v, u]) ** 2).sum()
            total += cost.weight * math.exp(-apart / (2 * cost.width**2))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_grid_has_the_energy_of_its_pixels(seed):
    number, lab, labels, _ = random_case(seed)
    cost = Contrast(weight=10.0, width=5.0)
    grid = grid_of(number, lab, labels, 3, cost)
    count = number.max() + 1
    chosen = np.random.default_rng(seed).integers(0, 3, count)
    first, second = grid.pairs.T
    energy = grid.paid[np.arange(count), chosen].sum()
    energy += grid.weights[chosen[first] != chosen[second]].sum()
    assert energy == pytest.approx(plain_energy(number, lab, labels, chosen, cost), rel=1e-6)


def plain_distance(labels):
    """By Bellman–Ford over all steps."""
    shape = labels.shape
    distance = np.full(shape, 1 << 29)
    steps = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]

    def inside(y, x):
        return 0 <= y < shape[0] and 0 <= x < shape[1]

    for y, x in np.ndindex(*shape):
        sides = [(y + dy, x + dx) for dy, dx in steps if dy == 0 or dx == 0]
        if any(inside(*side) and labels[side] != labels[y, x] for side in sides):
            distance[y, x] = 0
    for _ in range(sum(shape)):
        for y, x in np.ndindex(*shape):
            for dy, dx in steps:
                if inside(y + dy, x + dx):
                    length = 4 if dy and dx else 3
                    distance[y, x] = min(distance[y, x], distance[y + dy, x + dx] + length)
    return distance


@pytest.mark.parametrize("seed", range(3))
def test_distances_to_the_boundary(seed):
    rng = np.random.default_rng(seed)
    labels = np.zeros((9, 13), np.int32)
    labels[rng.integers(0, 9), rng.integers(0, 13)] = 1
    labels[rng.integers(0, 9) :, : rng.integers(1, 4)] = 2
    expected = plain_distance(labels)
    np.testing.assert_array_equal(boundary_distance(labels), expected)
    np.testing.assert_array_equal(near_boundary(labels, 2.5), expected < 7.5)


def test_one_label_has_no_boundary():
    assert not near_boundary(np.zeros((5, 6), np.int32), 1000.0).any()
