"""Refine: never worse, locally optimal for every kind of move, and its parts by themselves."""

import numpy as np
import pytest
from tests.timing import best_of_several

import policrf as pc
from policrf.crf.changes import load_labels
from policrf.crf.state import new_state
from policrf.errors import InvalidOption, UnknownName, UnsupportedPotential
from policrf.evaluation.cpu_time import cpu_budgets
from policrf.scenes import make_family
from policrf.solvers.moves.indexed_heap import empty_heap
from policrf.solvers.moves.local_search import centred, descend, keep, new_search, undo
from policrf.solvers.refine.refine_boxes import box_move
from policrf.solvers.refine.refine_regions import region_move
from policrf.solvers.refine.refine_rounds import Moves, refine_labels
from policrf.testing import random_crf

TINY = 1e-9


def refine_by(crf, labels, **moves):
    """All kinds of moves but cuts, and but those that are set to False."""
    return refine_labels(crf, labels, Moves(cuts=False, **moves))


def grid_edges(rows, columns):
    index = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([index[:, :-1].reshape(-1), index[:, 1:].reshape(-1)], axis=1)
    down = np.stack([index[:-1].reshape(-1), index[1:].reshape(-1)], axis=1)
    return np.concatenate([across, down])


def relabeled(labels, nodes, new):
    changed = labels.copy()
    changed[list(nodes)] = new
    return changed


@pytest.mark.parametrize("seed", range(15))
def test_no_single_or_pair_of_neighbours_can_do_better(seed):
    crf = random_crf(seed, n_nodes=7, forbidden=0.15 * (seed % 2), ragged=seed % 3 == 0)
    rng = np.random.default_rng(seed)
    start = np.array([rng.integers(card) for card in crf.cardinalities])
    labels = refine_labels(crf, start)
    energy = crf.energy(labels)
    assert energy <= crf.energy(start) + TINY
    if np.isinf(energy):
        return
    for i in range(crf.n_nodes):
        for label in range(crf.cardinalities[i]):
            assert crf.energy(relabeled(labels, [i], label)) >= energy - TINY
    edges = [tuple(edge) for group in crf.groups(pc.Potts) for edge in group.edges.tolist()]
    for i, j in edges:
        for label in range(min(crf.cardinalities[[i, j]])):
            assert crf.energy(relabeled(labels, [i, j], label)) >= energy - TINY
        if labels[i] < crf.cardinalities[j] and labels[j] < crf.cardinalities[i]:
            assert crf.energy(relabeled(labels, [i, j], labels[[j, i]])) >= energy - TINY


@pytest.mark.parametrize("scale", [1e9, 1e-9])
def test_scale_makes_no_difference(scale):
    crf = random_crf(11, n_nodes=8, groups=("potts", "hop1", "hop2"))
    large = random_crf(11, n_nodes=8, groups=("potts", "hop1", "hop2"), scale=scale)
    start = np.zeros(8, int)
    assert refine_labels(large, start).tolist() == refine_labels(crf, start).tolist()


def test_a_constant_on_every_unary_makes_no_difference():
    crf = pc.make_scene(100, "B", seed=0).crf
    shifted = pc.CRF(crf.unary + 1e9, *crf.potentials)
    start = np.argmin(crf.unary, axis=1)
    assert refine_labels(shifted, start).tolist() == refine_labels(crf, start).tolist()


def test_pairs_cross_a_ridge_that_singles_cannot():
    crf = pc.CRF([[0.2, 0.0, 9.0], [0.2, 9.0, 0.0]], pc.Potts([[0, 1]], 1.0))
    assert refine_by(crf, [1, 1], pairs=False, growth=False).tolist() == [1, 2]
    crf = pc.CRF([[1.0, 0.0], [1.0, 0.0]], pc.Potts([[0, 1]], 3.0))
    assert refine_by(crf, [0, 0], pairs=False, growth=False, regions=False).tolist() == [0, 0]
    assert refine_by(crf, [0, 0], growth=False, regions=False).tolist() == [1, 1]


def test_an_exchange_keeps_a_quota():
    crf = pc.CRF(
        [[0.0, 2.0], [2.0, 0.0]], pc.Potts([[0, 1]], 0.1), pc.BoxSupport([[0, 1]], [1], 50.0, 1)
    )
    assert refine_by(crf, [1, 0], boxes=False).tolist() == [0, 1]


def test_regions_turn_as_a_whole():
    unary = np.zeros((36, 2))
    unary[:, 1] = -0.1
    crf = pc.CRF(unary, pc.Potts(grid_edges(6, 6), 1.0))
    start = np.zeros(36, int)
    assert refine_by(crf, start, regions=False, growth=False).tolist() == start.tolist()
    assert refine_by(crf, start, growth=False).tolist() == [1] * 36


def test_a_label_grows_over_a_patch_of_several_others():
    unary, start = np.tile([0.0, 5.0, 5.0], (25, 1)), np.zeros(25, int)
    for node in (6, 7, 8, 11, 12, 13, 16, 17, 18):  # a checkerboard of 1 and 2 in a field of 0
        start[node] = 1 + node % 2
        unary[node] = [2.1, 5.0, 5.0]
        unary[node, start[node]] = 0.0
    crf = pc.CRF(unary, pc.Potts(grid_edges(5, 5), 1.0))
    assert refine_by(crf, start, growth=False).tolist() == start.tolist()
    assert refine_by(crf, start).tolist() == [0] * 25


@pytest.mark.parametrize("others", [0, 1])
def test_boxes_meet_quotas_with_the_cheapest_members(others):
    unary = np.zeros((9, 3))
    unary[:, 2] = [5.0, 1.0, 4.0, 1.1, 3.0, 1.2, 6.0, 7.0, 8.0]
    crf = pc.CRF(unary, pc.BoxSupport([range(9)], [2], 10.0, 3))
    start = np.full(9, others)
    assert refine_by(crf, start, boxes=False).tolist() == start.tolist()
    assert np.flatnonzero(refine_by(crf, start) == 2).tolist() == [1, 3, 5]


def test_boxes_trade_at_a_quota_just_met():
    unary = np.zeros((5, 2))
    unary[:, 1] = [3.0, 0.5, 2.0, 1.0, 0.1]
    crf = pc.CRF(unary, pc.BoxSupport([range(5)], [1], 100.0, 2))
    assert refine_by(crf, [1, 0, 1, 0, 0]).tolist() == [0, 1, 0, 0, 1]


def test_boxes_give_up_a_quota_that_costs_more_than_its_penalty():
    unary = np.zeros((6, 2))
    unary[:, 1] = 1.0
    crf = pc.CRF(unary, pc.BoxSupport([range(6)], [1], 3.0, 4))
    assert refine_by(crf, [1, 1, 1, 1, 0, 0], boxes=False).tolist() == [1, 1, 1, 1, 0, 0]
    assert refine_by(crf, [1, 1, 1, 1, 0, 0]).tolist() == [0] * 6


@pytest.mark.parametrize(("preferred", "start"), [(1, 0), (0, 1)])
def test_boxes_agree_one_way_or_the_other(preferred, start):
    unary = np.zeros((10, 2))
    unary[:, 1 - preferred] = 0.4
    crf = pc.CRF(unary, pc.BoxAgreement([range(10)], [1], [1.0]))
    stuck = refine_by(crf, [start] * 10, boxes=False)
    assert stuck.tolist() == [start] * 10
    assert refine_by(crf, [start] * 10).tolist() == [preferred] * 10


@pytest.mark.parametrize("seed", range(6))
def test_a_move_taken_back_leaves_no_trace(seed):
    crf = random_crf(seed, n_nodes=8, groups=("potts", "hop1", "hop2", "tables"))
    arrays = centred(crf.arrays)
    state, search, heap = new_state(arrays), new_search(arrays), empty_heap(8)
    load_labels(arrays, state, np.random.default_rng(seed).integers(0, 3, 8))
    descend(arrays, state, search, 10**6)
    keep(arrays, state, search)
    before = [part.copy() for part in state]
    for c in np.flatnonzero(arrays.clique_label >= 0):
        box_move(arrays, state, search, heap, c)
    region_move(arrays, state, search, np.zeros(8, bool), np.empty(8, np.int64), 0, 10**6)
    undo(arrays, state, search)
    assert state.labels.tolist() == before[0].tolist()
    assert state.labeled.tolist() == before[1].tolist()
    assert state.matches.tolist() == before[2].tolist()
    descend(arrays, state, search, 10**6)
    assert state.labels.tolist() == before[0].tolist()


@pytest.mark.parametrize("start", ["unary", "icm", "highest_confidence_first", "alpha_expansion"])
def test_improves_on_any_solver(start):
    crf = pc.make_scene(300, "B", seed=1).crf
    first = pc.solve(crf, start)
    refined = pc.solve(crf, "refine", start=start)
    assert refined.energy <= first.energy + TINY
    assert refined.info["start"] == start
    assert refined.info["start_energy"] == pytest.approx(first.energy)
    assert refined.info["converged"]
    best = pc.solve(crf, "exact")
    assert refined.energy <= 1.02 * best.energy


def test_keeps_the_callers_array_and_starts_from_initial():
    crf = pc.make_scene(60, "B", seed=2).crf
    start = np.zeros(60, np.int64)
    refine_labels(crf, start)
    assert start.tolist() == [0] * 60
    solution = pc.solve(crf, "refine", initial=start)
    assert "start" not in solution.info
    assert solution.labels.tolist() == refine_labels(crf, start).tolist()


def test_options_of_the_start():
    crf = random_crf(0, groups=("potts", "tables"))
    found = pc.solve(crf, "refine")
    starts = ("icm", "highest_confidence_first", "belief_propagation")
    energies = {start: pc.solve(crf, start).energy for start in starts}
    assert energies[found.info["start"]] == found.info["start_energy"] == min(energies.values())
    with pytest.raises(UnsupportedPotential):
        pc.solve(crf, "refine", start="alpha_expansion:hop2=repair")
    with pytest.raises(UnknownName):
        pc.solve(crf, "refine", start="nobody")
    with pytest.raises(InvalidOption, match="limit"):
        pc.solve(crf, "refine:start=brute_force", start="brute_force:limit=0")


@best_of_several
def test_a_clique_of_all_nodes_gains_from_more_time():
    """Random moves come first there too: those that converge find nothing in so little time."""
    crf = make_family("label_cost", 576, 6, seed=1)
    pc.solve(crf, "refine", seconds=0.1)
    with cpu_budgets():
        short, longer = (pc.solve(crf, "refine", seconds=seconds) for seconds in (0.006, 0.012))
    assert longer.energy <= 1.005 * short.energy
