"""auto: takes every model, is never worse than its start, uses its time, stops at a proof."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.timing import best_of_several

import policrf as pc
from policrf.scenes import make_family
from policrf.testing import random_crf
from policrf.testing.reference import reference_minimum


@pytest.mark.parametrize("seed", range(8))
def test_small_models_of_all_kinds_are_proven(seed):
    crf = random_crf(seed, n_nodes=6, forbidden=0.1 * (seed % 2), ragged=seed % 3 == 0)
    solution = pc.solve(crf)
    assert solution.solver == "auto"
    assert solution.energy == pytest.approx(reference_minimum(crf), abs=1e-9)


def test_tables_of_order_three_are_taken():
    crf = random_crf(3, n_nodes=40, groups=("tables",))
    solution = pc.solve(crf)
    assert solution.info["steps"][0][0] == "belief_propagation"
    assert solution.energy <= pc.solve(crf, "icm").energy


def test_small_custom_cliques_are_written_out():
    rng = np.random.default_rng(0)
    cliques = [rng.choice(60, 6, replace=False) for _ in range(30)]

    def near_six(labels, parameters):
        return 2.0 * abs(float(labels.sum()) - 6.0)

    crf = pc.CRF(rng.exponential(size=(60, 3)), pc.Custom(cliques, near_six))
    solution = pc.solve(crf)
    assert [step[0].split(":")[0] for step in solution.info["steps"]][:2] == [
        "refine",
        "belief_propagation",
    ]
    assert solution.energy <= pc.solve(crf, "belief_propagation").energy


@best_of_several
def test_it_stops_at_a_proof_and_goes_on_without():
    scene = pc.make_scene(120, "B", seed=3)
    proven = pc.solve(scene, seconds=600)
    assert proven.optimal
    assert proven.energy == pytest.approx(pc.solve(scene, "exact").energy)

    def parity(counts, parameters):
        return float(counts[0] % 2)

    crf = pc.CRF(scene.crf.unary, pc.Custom([np.arange(120)], parity, of="counts"))
    pc.solve(crf, seconds=0.5)  # kernels may have to be compiled
    open_ended = pc.solve(crf, seconds=0.5)
    steps = [step[0] for step in open_ended.info["steps"]]
    assert (steps[0], steps[-1]) == ("icm", "refine")
    assert "untrained" not in steps  # what a parity adds changes at every step
    assert open_ended.seconds >= 0.49


def test_an_initial_labeling_is_never_made_worse():
    crf = pc.make_scene(80, "B", seed=1).crf
    best = pc.solve(crf, "exact")
    assert pc.solve(crf, initial=best.labels).energy == best.energy


FAMILIES_ASKED = ("two_labels", "parity", "order", "connectivity")


@pytest.mark.parametrize("family", FAMILIES_ASKED)
def test_where_cliques_are_asked_half_way_it_is_never_above_icm(family):
    for seed in (7, 8):
        crf = make_family(family, 64, seed=seed)
        icm = pc.solve(crf, "icm").energy
        assert pc.solve(crf).energy <= icm
        assert pc.solve(crf, seconds=0.5).energy <= icm


def test_it_begins_with_few_questions_where_they_are_expensive():
    rng = np.random.default_rng(0)

    def slow(labels, parameters):
        time.sleep(0.001)
        return float(len(set(labels.tolist())))

    edges = np.stack([np.arange(99), np.arange(1, 100)], 1)
    group = pc.Custom([np.arange(100)], slow, partial="subset")
    crf = pc.CRF(rng.exponential(size=(100, 4)), pc.Potts(edges, 0.5), group)
    pc.solve(crf, seconds=0.05)
    solution = pc.solve(crf, seconds=0.05)
    assert solution.info["steps"][0][0] == "few questions"
    assert solution.energy <= pc.solve(crf, "unary").energy
    assert solution.calls < 100


def test_a_callback_sees_energies_that_only_fall_and_the_last_is_the_answer():
    crf = make_family("label_cost", 100, seed=9)
    energies = []
    solution = pc.solve(crf, seconds=0.1, callback=lambda p: energies.append(p.energy) is not None)
    assert energies == sorted(energies, reverse=True)
    assert energies[-1] == solution.energy
