"""Thermal cycles: crossing takes the best of every region; longer is never higher; threads."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from tests.timing import best_of_several

import policrf as pc
from policrf.errors import InvalidOption
from policrf.scenes import make_frustrated
from policrf.solvers.pace import Pace
from policrf.solvers.run import Run
from policrf.solvers.thermal import replica
from policrf.solvers.thermal.crossing import cross
from policrf.solvers.thermal.cycles import cycle_on
from policrf.solvers.thermal.kept_costs import new_kept
from policrf.solvers.thermal.schedule import luby
from policrf.solvers.thermal.sweeps import anneal
from policrf.testing.reference import reference_minimum


def crossed(crf: pc.CRF, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, float]:
    kept, before = new_kept(crf.arrays, second), first.copy()
    gained = cross(
        crf.arrays, kept, before, np.empty(crf.n_nodes, np.int64), np.empty(crf.n_nodes, bool)
    )
    assert before.tolist() == kept.labels.tolist()
    return kept.labels, gained


def test_crossing_finds_the_best_mixture_of_regions():
    rng = np.random.default_rng(1)
    chain = np.stack([np.arange(8), np.arange(1, 9)], axis=1)
    crf = pc.CRF(rng.uniform(-1, 1, (9, 3)), pc.Tables(chain, rng.uniform(-1, 1, (8, 3, 3))))
    first, second = np.zeros(9, np.int64), np.array([1, 0, 2, 1, 0, 1, 1, 0, 2])
    regions = [[0], [2, 3], [5, 6], [8]]
    energies = []
    for chosen in itertools.product([False, True], repeat=4):
        mixture = first.copy()
        for region, taken in zip(regions, chosen, strict=True):
            if taken:
                mixture[region] = second[region]
        energies.append(crf.energy(mixture))
    labels, gained = crossed(crf, first, second)
    assert crf.energy(labels) == pytest.approx(min(energies))
    assert gained == pytest.approx(crf.energy(first) - min(energies))


@pytest.mark.parametrize("family", ["glass", "third_order"])
def test_crossing_is_not_above_either(family):
    crf = make_frustrated(family, 200, degree=3, seed=2)
    rng = np.random.default_rng(0)
    first = rng.integers(4, size=200)
    second = np.where(rng.random(200) < 0.2, rng.integers(4, size=200), first)
    labels, _ = crossed(crf, first, second)
    assert crf.energy(labels) < min(crf.energy(first), crf.energy(second))


@pytest.mark.parametrize("family", ["random", "glass", "third_order", "ising", "grid"])
def test_small_minima_are_found(family):
    crf = make_frustrated(family, 9, 2, degree=3, seed=4)
    assert pc.solve(crf, "annealing").energy == pytest.approx(reference_minimum(crf))


def test_more_sweeps_go_on_where_fewer_end():
    crf = make_frustrated("random", 300, seed=5)
    runs = [pc.solve(crf, "annealing", sweeps=sweeps, seed=2) for sweeps in (10, 40, 160, 640)]
    energies = [run.energy for run in runs]
    assert energies == sorted(energies, reverse=True)
    assert energies[-1] < energies[0]
    again = pc.solve(crf, "annealing", sweeps=40, seed=2)
    assert again.labels.tolist() == runs[1].labels.tolist()
    assert again.labels.tolist() != pc.solve(crf, "annealing", sweeps=40, seed=3).labels.tolist()


@pytest.mark.parametrize("family", ["random", "ising"])
def test_replicas_go_on_where_fewer_sweeps_end(family):
    """From about 1,200 sweeps on there are two replicas and meetings, and from 8,600 on balls."""
    crf = make_frustrated(family, 100, 2, degree=6, seed=5)
    runs = [
        pc.solve(crf, "annealing", sweeps=sweeps, runs=1, seed=2)
        for sweeps in (1000, 2000, 8000, 16000)
    ]
    energies = [run.energy for run in runs]
    assert energies == sorted(energies, reverse=True)
    assert [run.info["cycles"] > 30 for run in runs] == [False, True, True, True]
    assert runs[-1].info["cycles"] > 62


@pytest.mark.parametrize("messages", [False, True])
def test_a_stage_that_time_cuts_short_counts_for_the_first_only(monkeypatch, messages):
    """Slices of one size, and a clock that counts them: more of them are never higher."""
    crf = make_frustrated("ising", 100, seed=1)
    monkeypatch.setattr(Pace, "end", lambda pace: None)

    class Counted(Run):
        slices = 0

        def expired(self):
            self.slices -= 1
            return self.slices <= 0

    energies = []
    for slices in range(100, 4000, 300):
        run = Counted(crf, "annealing")
        run.slices = slices
        cycle_on(run, run.start_labels(), messages=messages)
        energies.append(run.energy)
    assert run.info["cycles"] > (62 if not messages else 40)
    assert energies == sorted(energies, reverse=True)


def test_the_number_of_threads_changes_nothing():
    crf = make_frustrated("glass", 100, degree=6, seed=6)
    several = [
        pc.solve(crf, "annealing", threads=threads, replicas=replicas, sweeps=10_000, runs=1)
        for threads, replicas in ((1, 2), (2, 2), (2, 3), (3, 3))
    ]
    assert several[0].labels.tolist() == several[1].labels.tolist()
    assert several[2].labels.tolist() == several[3].labels.tolist()
    assert several[0].info["sweeps"] == several[1].info["sweeps"] >= 10_000
    assert several[0].info["cycles"] == several[1].info["cycles"] > 2 * 31
    with pytest.raises(InvalidOption):
        pc.solve(crf, "annealing", threads=0)


def test_messages_are_crossed_in_whatever_the_number_of_threads():
    crf = make_frustrated("glass", 500, seed=6)
    found = []
    for threads, messages in ((1, False), (1, True), (2, True)):
        run = Run(crf, "annealing", seed=1)
        cycle_on(run, run.start_labels(), sweeps=8000, threads=threads, messages=messages)
        found.append(run)
    assert found[1].best.tolist() == found[2].best.tolist() != found[0].best.tolist()
    short = [Run(crf, "annealing", seed=1) for _ in range(2)]
    for run, messages in zip(short, (False, True), strict=True):
        cycle_on(run, run.start_labels(), sweeps=300, messages=messages)
    assert short[1].energy < short[0].energy


def test_labels_of_others_are_crossed_in_once_after_the_cycles_of_one():
    crf = make_frustrated("glass", 2000, seed=6)
    low = pc.solve(crf, "annealing", sweeps=10_000, runs=1, seed=5).labels
    asked = []

    def others():
        asked.append(run.elapsed())
        return low

    for sweeps, times in ((500, 0), (3000, 1)):
        run = Run(crf, "annealing", seed=1)
        cycle_on(run, run.start_labels(), sweeps=sweeps, others=others)
        assert len(asked) == times
        assert (run.energy <= crf.energy(low)) == bool(times)


def test_refine_is_nothing_but_cycles_where_terms_contradict_and_time_is_to_be_used():
    crf = make_frustrated("glass", 1000, seed=6)
    used, limited = (pc.solve(crf, "refine", seconds=0.3, go_on=go_on) for go_on in (True, False))
    assert used.info["cycles"] > 0
    assert "start" not in used.info
    assert "start" in limited.info
    assert "cycles" not in limited.info
    weights = pc.Potts(crf.arrays.edges, crf.arrays.edge_weights)
    assert pc.solve(pc.CRF(np.zeros((1000, 1)), weights), "refine", seconds=0.1).energy == 0


@best_of_several
def test_time_is_used_and_kept():
    crf = make_frustrated("random", 2000, seed=7)
    pc.solve(crf, "annealing", seconds=0.05)
    began = time.perf_counter()
    solution = pc.solve(crf, "annealing", seconds=0.5)
    assert 0.49 <= solution.seconds < 1.5  # a reserve for the last labels may be left
    assert time.perf_counter() - began < 2
    assert len(solution.trace) > 3
    energies = [step.energy for step in solution.trace]
    assert energies == sorted(energies, reverse=True)


def test_a_cycle_begins_with_a_short_slice(monkeypatch):
    """Settling takes some nanoseconds a look, a hot sweep a hundred times as long."""
    run, counts = Run(make_frustrated("random", 3000, seed=7), "annealing", seconds=10), []
    first = replica.Replica(run, run.start_labels(), 0, 0.5, 0.12)
    first.start()

    def counted(*arguments):
        counts.append(arguments[-1])
        anneal(*arguments)

    monkeypatch.setattr(replica, "anneal", counted)
    for _ in range(2):
        counts.clear()
        assert first.cycle()
        assert counts[0] == replica.FIRST < max(counts)


def test_luby_numbers():
    assert [luby(n) for n in (1, 2, 3, 7, 15, 8, 30)] == [0, 0, 1, 2, 3, 0, 3]
