"""Highest confidence first against its definition, computed again at every step."""

import numba
import numpy as np
import pytest
from tests.policy.builders import HALFWAY, halfway_crf

import policrf as pc
from policrf.solvers.moves.highest_confidence_first import SLICE, highest_confidence_first
from policrf.solvers.moves.indexed_heap import change_key, new_heap, order_heap, pop_first
from policrf.solvers.run import Run
from policrf.testing import random_crf, reference_energy


def naive(crf):
    """Order and labels from the partial energies of the reference, nothing kept between steps."""
    labels = [-1] * crf.n_nodes
    order = []
    while -1 in labels:
        best = None
        for i in (i for i in range(crf.n_nodes) if labels[i] < 0):
            now = reference_energy(crf, labels)
            costs = []
            for label in range(crf.cardinalities[i]):
                trial = [*labels[:i], label, *labels[i + 1 :]]
                costs.append(reference_energy(crf, trial) - now)
            low = sorted(costs)
            margin = low[1] - low[0] if len(low) > 1 and low[1] < np.inf else np.inf
            if best is None or margin > best[0] + 1e-9:
                best = (margin, i, int(np.argmin(costs)))
        _, i, labels[i] = best
        order.append(i)
    return order, labels


@pytest.mark.parametrize("seed", range(15))
def test_follows_the_definition(seed):
    crf = random_crf(seed, n_nodes=7, forbidden=0.25 * (seed % 2), ragged=seed % 3 == 0)
    # A dead end (all labels of a node forbidden by then) has no margin to compare.
    order, labels = naive(crf)
    if np.isinf(reference_energy(crf, labels)):
        pytest.skip("runs into a dead end")
    solution = pc.solve(crf, "highest_confidence_first", descend=False)
    assert solution.order.tolist() == order
    assert solution.labels.tolist() == labels
    assert solution.order.dtype == np.int64


@pytest.mark.parametrize("form", HALFWAY)
@pytest.mark.parametrize("seed", range(3))
def test_follows_the_definition_where_cliques_are_asked_half_way(form, seed):
    crf = halfway_crf(seed, n_nodes=12, size=8, forms=(form,))
    order, labels = naive(crf)
    solution = pc.solve(crf, "highest_confidence_first", descend=False)
    assert solution.order.tolist() == order
    assert solution.labels.tolist() == labels


def test_a_label_cost_is_priced_where_a_label_appears():
    """Calls of the function: one for each label that is asked about, and one for the new state."""
    unary = np.random.default_rng(0).exponential(size=(200, 4))
    group = pc.Custom([np.arange(200)], lambda c, _: float(np.sum(c > 0)), of="counts")
    solution = pc.solve(pc.CRF(unary, group), "highest_confidence_first", descend=False)
    assert solution.calls <= 200 * (4 + 1) + 10


def test_ties_go_to_the_lowest_node_and_single_labels_come_first():
    unary = np.zeros((4, 2))
    unary[2, 0] = np.inf
    solution = pc.solve(pc.CRF(unary), "highest_confidence_first", descend=False)
    assert solution.order.tolist() == [2, 0, 1, 3]
    assert solution.labels.tolist() == [0, 0, 1, 0]


def test_a_dead_end_still_gives_a_labeling():
    barred = np.full((2, 2), np.inf)
    barred[1, 1] = 0.0
    crf = pc.CRF([[0.0, 1.0], [0.0, 5.0]], pc.Tables([[0, 1]], [barred]))
    solution = pc.solve(crf, "highest_confidence_first", descend=False)
    # Node 1 is surer of label 0, which leaves node 0 nothing: it takes what its unary likes.
    assert solution.order.tolist() == [1, 0]
    assert solution.labels.tolist() == [0, 0]
    assert solution.energy == np.inf


def test_without_time_for_all_nodes_the_rest_keep_their_start():
    crf = pc.make_scene(3_000, "B", seed=0).crf
    whole = pc.solve(crf, "highest_confidence_first", descend=False)
    # The nodes are scored in one slice and labeled in several; the time is up after the first.
    looks = iter([False, False])
    run = Run(crf, "highest_confidence_first")
    run.expired = lambda: next(looks, True)
    highest_confidence_first(run)
    solution = run.solution()
    labeled = solution.info["labeled"]
    first, rest = np.split(whole.order, [labeled])
    assert 0 < labeled < min(SLICE, crf.n_nodes)
    assert solution.order is None
    assert solution.labels[first].tolist() == whole.labels[first].tolist()
    assert solution.labels[rest].tolist() == crf.unary[rest].argmin(axis=1).tolist()
    assert solution.labels[rest].tolist() != whole.labels[rest].tolist()


@numba.njit
def change_and_pop(heap, items, keys):
    for k in range(len(items)):
        change_key(heap, items[k], keys[k])
    return heap.keys.copy(), pop_first(heap)


def test_heap_pops_in_order_while_keys_change():
    rng = np.random.default_rng(0)
    heap = new_heap(200)
    heap.keys[:] = rng.integers(0, 20, 200)
    order_heap(heap)
    left = set(range(200))
    while left:
        items = rng.choice(sorted(left), min(3, len(left)), replace=False)
        keys, first = change_and_pop(heap, items, rng.integers(0, 20, len(items)).astype(float))
        assert first == min(left, key=lambda item: (-keys[item], item))
        left.remove(first)
