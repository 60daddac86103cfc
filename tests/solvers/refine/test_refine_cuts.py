"""Cut moves of `refine`: never worse, often the minimum, whatever else the energy has."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.crf.changes import load_labels
from policrf.crf.state import new_state
from policrf.solvers.cuts.expansion_move import expand_each
from policrf.solvers.moves.indexed_heap import empty_heap
from policrf.solvers.moves.local_search import centred, descend, keep, new_search
from policrf.solvers.refine.refine_cuts import mix, new_cuts, prepare_cuts, propose
from policrf.solvers.refine.refine_rounds import Moves, refine_labels
from policrf.testing import random_crf

TINY = 1e-9
CUTS_ONLY = Moves(pairs=False, regions=False, growth=False, boxes=False)


def lowest(crf):
    labels = itertools.product(*(range(card) for card in crf.cardinalities))
    return min(crf.energy(np.array(y)) for y in labels)


def random_labels(crf, seed):
    rng = np.random.default_rng(seed)
    return np.array([rng.integers(card) for card in crf.cardinalities])


@pytest.mark.parametrize("groups", [
    ("potts",), ("potts", "hop1"), ("potts", "hop1", "hop2"), ("potts", "hop2", "tables"),
    ("potts", "hop1", "hop2", "tables", "custom"),
])  # fmt: skip
@pytest.mark.parametrize("ragged", [False, True])
def test_never_worse_and_often_the_minimum(groups, ragged):
    found, count = 0, 12
    for seed in range(count):
        crf = random_crf(seed, groups=groups, forbidden=0.15 * (seed % 2), ragged=ragged)
        start = random_labels(crf, seed)
        cut = crf.energy(refine_labels(crf, start, CUTS_ONLY))
        assert cut <= crf.energy(start) + TINY
        every = crf.energy(refine_labels(crf, start))
        best = lowest(crf)
        assert every >= best - TINY
        found += every <= best + TINY
    assert found >= 0.7 * count


def test_two_labels_without_quotas_are_solved():
    for seed in range(10):
        crf = random_crf(seed, n_nodes=9, n_labels=2, groups=("potts", "hop1"))
        potts = [pc.Potts(p.edges, np.abs(p.weights)) for p in crf.groups(pc.Potts)]
        crf = crf.with_potentials(*potts, *crf.groups(pc.BoxAgreement))
        labels = refine_labels(crf, random_labels(crf, seed), CUTS_ONLY)
        assert crf.energy(labels) == pytest.approx(lowest(crf))


def test_patches_are_exchanged_at_a_quota():
    # Two patches of three on a chain: the quota of three is met by the dearer one.
    unary = np.zeros((12, 2))
    unary[:, 1] = 2.0
    unary[2:5, 1], unary[7:10, 1] = 0.6, 0.3
    chain = np.stack([np.arange(11), np.arange(1, 12)], axis=1)
    crf = pc.CRF(unary, pc.Potts(chain, 0.5), pc.BoxSupport([range(12)], [1], 20.0, 3))
    start = np.zeros(12, int)
    start[2:5] = 1
    assert np.flatnonzero(refine_labels(crf, start, CUTS_ONLY)).tolist() == [7, 8, 9]


def test_as_good_as_alpha_expansion_on_scenes_from_any_start():
    total, other = 0.0, 0.0
    for seed in range(8):
        crf = pc.make_scene(150, "B", seed=seed).crf
        other += pc.solve(crf, "alpha_expansion").energy
        total += crf.energy(refine_labels(crf, np.random.default_rng(seed).integers(0, 21, 150)))
    assert total <= 1.001 * other


@pytest.mark.parametrize("restart", [False, True])
def test_a_mixture_is_never_worse_than_either(restart):
    for seed in range(8):
        crf = pc.make_scene(80, "B", seed=seed).crf
        arrays = centred(crf.arrays)
        state, search, cuts = new_state(arrays), new_search(arrays), new_cuts(crf)
        load_labels(arrays, state, np.random.default_rng(seed).integers(0, 21, 80))
        descend(arrays, state, search, 10**6)
        keep(arrays, state, search)
        before = state.labels.copy()
        order = cuts.order[: prepare_cuts(arrays, state, search, cuts, restart)]
        expand_each(cuts.problem, cuts.state, order, np.zeros(2, np.int64), 10**6)
        forbidden = int(state.forbidden[0])
        propose(arrays, state, search, empty_heap(80), cuts)
        after = state.labels.copy()
        mix(arrays, state, search, forbidden, cuts.state.labels)
        energy = crf.energy(state.labels)
        assert energy <= min(crf.energy(before), crf.energy(after)) + TINY
        assert state.total[0] == pytest.approx(energy - crf.energy(before), abs=1e-6)
        assert not search.inside.any()


def test_nodes_left_alone_stay():
    scene = pc.make_scene(200, "A", seed=5)
    policy = pc.Policy.untrained(n_labels=21, n_features=85)
    solution = pc.solve(scene, policy, persistent=True, refine=True)
    optimum = pc.solve(scene, "exact")
    assert solution.info["persistent"] > 100
    fixed = solution.order[: solution.info["persistent"]]
    assert solution.labels[fixed].tolist() == optimum.labels[fixed].tolist()
    assert solution.energy <= 1.005 * optimum.energy
