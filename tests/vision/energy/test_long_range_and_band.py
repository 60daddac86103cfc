"""Long-range edges against plain loops; the band of superpixels that may change."""

import math

import numpy as np
import pytest
from tests.vision.builders import LABELS, recipe, record, scene
from tests.vision.energy.test_build import RECORD, plain

import policrf as pc
from policrf.crf.potentials import Potts
from policrf.vision.energy.build import pairwise, to_instance, unary
from policrf.vision.pipeline import Pipeline


def far_weights(record, energy):
    """W K_ij n_i n_j / sqrt(D_i D_j) by pairs, with plain loops."""
    height, width = record.working_size
    place = record.position * [height, width]
    kernel = {}
    for i, j in record.far_edges.tolist():
        away = ((place[i] - place[j]) ** 2).sum() / (2 * energy.reach**2)
        other = ((record.colour[i] - record.colour[j]) ** 2).sum() / (2 * energy.sigma_far**2)
        kernel[i, j] = math.exp(-float(away + other))
    n = record.pixels.astype(float)
    mass = n.copy()
    for (i, j), value in kernel.items():
        mass[i] += value * n[j]
        mass[j] += value * n[i]
    return {
        (i, j): energy.long_range * value * n[i] * n[j] / math.sqrt(mass[i] * mass[j])
        for (i, j), value in kernel.items()
    }


def test_long_range_edges_add_to_the_borders():
    energy = plain(alpha=0.5, long_range=2.0, reach=30.0, sigma_far=8.0)
    expected = far_weights(RECORD, energy)
    near = pairwise(RECORD, energy.replace(long_range=0))
    both = 0
    for edge, weight in zip(map(tuple, near.edges.tolist()), near.weights, strict=True):
        both += edge in expected
        expected[edge] = expected.get(edge, 0.0) + weight
    found = pairwise(RECORD, energy)
    lookup = dict(zip(map(tuple, found.edges.tolist()), found.weights, strict=True))
    assert both > 10
    assert len(lookup) == len(found.edges)
    assert set(lookup) <= set(expected)
    for edge, weight in expected.items():
        assert lookup.get(edge, 0.0) == pytest.approx(weight, rel=1e-3, abs=1e-8)


def test_long_range_edges_know_the_working_size():
    rendered = scene(0, (144, 192))
    record = Pipeline(recipe(max_side=96)).view(rendered.image, scores=rendered.scores).record
    np.testing.assert_allclose(record.working_size, [72, 96])
    assert record.pixels.sum() * 4 == record.size.sum()
    assert pairwise(record, plain(alpha=0, long_range=1.0)).weights.sum() > 0


@pytest.mark.parametrize("rings", [1, 2])
def test_the_band_is_what_lies_within_some_rings_of_a_boundary(rings):
    labels = unary(RECORD, plain()).argmin(axis=1)
    neighbours = [set() for _ in labels]
    for i, j in RECORD.edges.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    near = {i for i in range(len(labels)) if any(labels[j] != labels[i] for j in neighbours[i])}
    for _ in range(rings - 1):
        near |= {j for i in near for j in neighbours[i]}
    instance = to_instance(RECORD, plain(band=rings))
    free = np.isfinite(instance.crf.unary).sum(axis=1)
    assert 0 < len(near) < len(labels)
    assert set(np.flatnonzero(free > 1).tolist()) == near
    assert set(free.tolist()) == {1, len(LABELS)}
    unsure = to_instance(RECORD, plain(band=rings, unsure=0.999))
    more = np.isfinite(unsure.crf.unary).sum(axis=1) > 1
    np.testing.assert_array_equal(
        more, (free > 1) | (RECORD.distribution.max(axis=1) < np.float32(0.999))
    )


def test_a_band_leaves_the_energy_as_it_is():
    whole = plain(unary="pixels", alpha=4, long_range=1, w=0.2, lambda_=0.2)
    loose, held = to_instance(RECORD, whole).crf, to_instance(RECORD, whole.replace(band=1)).crf
    free = np.isfinite(held.unary).sum(axis=1) > 1
    labels = loose.unary.argmin(axis=1)
    rng = np.random.default_rng(0)
    for _ in range(10):
        labels[free] = rng.integers(0, len(LABELS), free.sum())
        assert held.energy(labels) == pytest.approx(loose.energy(labels), rel=1e-9)
    assert len(held.groups(Potts)[0]) < len(loose.groups(Potts)[0])
    np.testing.assert_array_equal(held.unary.argmin(axis=1), loose.unary.argmin(axis=1))


@pytest.mark.parametrize(
    "solver", ["alpha_expansion", "icm", "belief_propagation", "mean_field", "untrained", "exact"]
)
def test_superpixels_outside_the_band_keep_the_nets_label(solver):
    energy = plain(
        unary="pixels", alpha=4, sigma_colour=20, long_range=1, band=1, w=0.2, lambda_=0.2
    )
    record_ = record(3, size=(48, 64), superpixels=20)
    instance = to_instance(record_, energy)
    fixed = np.isfinite(instance.crf.unary).sum(axis=1) == 1
    assert 0 < fixed.sum() < len(fixed)
    solution = pc.solve(instance, solver, seconds=5)
    assert math.isfinite(solution.energy)
    best = unary(record_, energy).argmin(axis=1)
    np.testing.assert_array_equal(solution.labels[fixed], best[fixed])
