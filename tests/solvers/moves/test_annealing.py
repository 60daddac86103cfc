"""Annealing: minima of small CRFs, determinism, exchanges, wrong options."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.testing import random_crf
from policrf.testing.reference import reference_energy, reference_minimum


@pytest.mark.parametrize("seed", range(12))
def test_it_reaches_the_minimum_of_small_crfs(seed):
    crf = random_crf(seed, n_nodes=6, forbidden=0.1 * (seed % 2), ragged=seed % 3 == 0)
    solution = pc.solve(crf, "annealing", sweeps=200, runs=8)
    least = reference_minimum(crf)
    assert solution.energy == pytest.approx(reference_energy(crf, solution.labels.tolist()))
    assert solution.energy == pytest.approx(least, abs=1e-9) if np.isfinite(least) else True


def test_it_goes_below_icm_and_the_same_seed_gives_the_same():
    crf = pc.make_scene(150, "B", seed=1).crf
    first = pc.solve(crf, "annealing", seed=3)
    assert first.energy < pc.solve(crf, "icm").energy
    assert first.labels.tolist() == pc.solve(crf, "annealing", seed=3).labels.tolist()
    assert first.info["runs"] == 4


def test_exchanges_move_where_single_relabels_are_forbidden():
    unary = np.random.default_rng(0).random((12, 2))

    def half(counts, parameters):
        return 0.0 if counts[0] == 6 or counts.sum() < 12 else np.inf

    crf = pc.CRF(unary, pc.Custom([np.arange(12)], half, of="counts"))
    start = np.arange(12) % 2
    stuck = pc.solve(crf, "annealing", exchanges=0.0, initial=start)
    moved = pc.solve(crf, "annealing", exchanges=0.5, initial=start)
    assert stuck.energy == pytest.approx(crf.energy(start))
    assert moved.energy == pytest.approx(pc.solve(crf, "brute_force").energy)


def test_more_time_is_used():
    crf = pc.make_scene(60, "B", seed=1).crf
    short = pc.solve(crf, "annealing", runs=1, sweeps=5)
    long = pc.solve(crf, "annealing", seconds=0.5, sweeps=5)
    assert long.info["runs"] > short.info["runs"] == 1
    assert long.energy <= short.energy


@pytest.mark.parametrize(
    "options", [{"hot": 0.0}, {"cold": 0.0}, {"exchanges": 2.0}, {"sweeps": 0}]
)
def test_wrong_options(options):
    with pytest.raises(InvalidOption):
        pc.solve(pc.CRF([[0.0, 1.0]]), "annealing", **options)
