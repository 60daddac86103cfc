"""Lazy flipper: no connected set up to its size can be relabeled to a lower energy."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption
from policrf.solvers.moves.lazy_flipper import lazy_flipper
from policrf.solvers.moves.subset_search import WIDE_CLIQUE, subset_graph
from policrf.solvers.run import Run
from policrf.testing import random_crf

TINY = 1e-9


def connected_sets(crf, size):
    ptr, graph = subset_graph(crf.arrays)
    neighbours = [set(graph[ptr[i] : ptr[i + 1]].tolist()) for i in range(crf.n_nodes)]
    for nodes in itertools.combinations(range(crf.n_nodes), size):
        reached, edge = {nodes[0]}, [nodes[0]]
        while edge:
            new = (neighbours[edge.pop()] & set(nodes)) - reached
            reached |= new
            edge += new
        if len(reached) == size:
            yield nodes


def best_by_sets(crf, labels, size):
    lowest = np.inf
    for nodes in connected_sets(crf, size):
        for new in itertools.product(*(range(crf.cardinalities[i]) for i in nodes)):
            trial = labels.copy()
            trial[list(nodes)] = new
            lowest = min(lowest, crf.energy(trial))
    return lowest


@pytest.mark.parametrize("large_sets", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_optimal_over_connected_sets(seed, size, large_sets):
    crf = random_crf(seed, n_nodes=7, forbidden=0.15 * (seed % 2), ragged=seed % 3 == 0)
    rng = np.random.default_rng(seed)
    start = np.array([rng.integers(card) for card in crf.cardinalities])
    solution = pc.solve(crf, "lazy_flipper", size=size, initial=start, large_sets=large_sets)
    assert solution.info["converged"]
    for smaller in range(1, size + 1):
        assert solution.energy <= best_by_sets(crf, solution.labels, smaller) + TINY


def test_sets_of_four():
    crf = random_crf(20, n_nodes=8, n_labels=2, groups=("potts", "hop1", "hop2"))
    solution = pc.solve(crf, "lazy_flipper", size=4, initial=np.zeros(8, int), large_sets=False)
    assert solution.energy <= best_by_sets(crf, solution.labels, 4) + TINY


def test_three_together_where_two_are_not_enough():
    everyone = pc.Custom([[0, 1, 2]], lambda y, p: {0: 0.0, 3: -1.0}.get(int(y.sum()), 1.0))
    crf = pc.CRF(np.zeros((3, 2)), everyone)
    start = np.zeros(3, int)
    assert pc.solve(crf, "lazy_flipper", initial=start, size=2).energy == 0.0
    assert pc.solve(crf, "lazy_flipper", initial=start, size=3).energy == -1.0


def test_size_one_without_large_sets_is_icm():
    crf = pc.make_scene(200, "B", seed=0).crf
    start = np.argmin(crf.unary, axis=1)
    flipped = pc.solve(crf, "lazy_flipper", size=1, large_sets=False, initial=start)
    assert flipped.energy == pytest.approx(pc.solve(crf, "icm", initial=start).energy)


def test_larger_sets_are_not_worse():
    crf = pc.make_scene(200, "B", seed=3).crf
    start = np.argmin(crf.unary, axis=1)
    small, large = (
        pc.solve(crf, "lazy_flipper", size=size, large_sets=False, initial=start).energy
        for size in (1, 3)
    )
    assert large < small


@pytest.mark.parametrize("size", [0, 5])
def test_size_out_of_range(size):
    with pytest.raises(InvalidOption, match="size must be 1 to 4"):
        pc.solve(pc.CRF(np.zeros((2, 2))), "lazy_flipper", size=size)


def test_wide_cliques_are_thinned_and_small_ones_are_not():
    wide = pc.CRF(np.zeros((50, 2)), pc.BoxSupport([range(50)], [1], 1.0, 3))
    ptr, _ = subset_graph(wide.arrays)
    assert (np.diff(ptr) == WIDE_CLIQUE).all()
    small = pc.CRF(np.zeros((6, 2)), pc.BoxSupport([range(6)], [1], 1.0, 3))
    assert (np.diff(subset_graph(small.arrays)[0]) == 5).all()


@pytest.mark.parametrize("looks", [0, 3, 30])
def test_stops_when_the_time_is_up(looks):
    crf = pc.make_scene(2_000, "B", seed=0).crf
    start = np.argmin(crf.unary, axis=1)
    run = Run(crf, "lazy_flipper", initial=start)
    asked = itertools.count(1)
    run.remaining = lambda: np.inf if next(asked) <= looks else 0.0
    lazy_flipper(run, size=4)
    stopped = run.solution()
    # On its way out it asks a few times more.
    assert next(asked) <= looks + 6
    assert not stopped.info["converged"]
    assert (stopped.energy < crf.energy(start)) == (looks > 0)
