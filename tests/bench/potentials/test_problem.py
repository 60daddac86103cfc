"""Problems of the benchmark: families by seed, and superpixels from a folder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from policrf.bench.potentials.grid import PotentialGrid
from policrf.bench.potentials.problem import make_problem
from policrf.crf.model import CRF
from policrf.crf.potentials import Custom, Potts
from policrf.errors import InvalidFile
from policrf.scenes import make_scene


def test_a_seed_names_a_crf():
    grid = PotentialGrid()
    first, again, other = (make_problem(grid, "parity", 64, seed).crf for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.unary, again.unary)
    assert not np.array_equal(first.unary, other.unary)


def test_superpixels_come_from_images_with_many_labels(tmp_path):
    scenes = [make_scene(60, "B", seed=seed) for seed in range(3)]
    plain = np.ones((60, 21))
    plain[:, 0] = 0.0  # background everywhere
    scenes[1] = replace(scenes[1], crf=CRF(plain, *scenes[1].crf.potentials))
    wanted = [0, 2]
    for k, scene in enumerate(scenes):
        scene.save(tmp_path / f"{k}.npz")
    grid = PotentialGrid(data=tmp_path)
    for seed, k in enumerate(wanted):
        crf = make_problem(grid, "superpixels", 250, seed).crf
        np.testing.assert_array_equal(crf.unary, scenes[k].crf.unary)
        kinds = [type(group) for group in crf.potentials]
        assert kinds == [Potts, Custom, Custom, Custom]
    with pytest.raises(InvalidFile, match="2 images have 3 labels or more, and --seeds asks for 3"):
        make_problem(grid, "superpixels", 250, 2)
