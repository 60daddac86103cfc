"""The minimum cut against scipy's maximum flow, and against every cut of tiny networks."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from policrf.solvers.cuts.maxflow import FREE, PATIENCE, PAUSED, Network, cut, give_up, new_network


def network(n, edges, there, back, excess, tolerance=0.0) -> Network:
    """Edge e = (u, v) with capacity there[e] from u to v and back[e] from v to u."""
    edges = np.asarray(edges, np.int64).reshape(-1, 2)
    count = len(edges)
    tail = np.concatenate([edges[:, 0], edges[:, 1]])
    order = np.argsort(tail, kind="stable")
    place = np.empty(2 * count, np.int64)
    place[order] = np.arange(2 * count)
    ptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(tail, minlength=n), out=ptr[1:])
    head = np.concatenate([edges[:, 1], edges[:, 0]])[order]
    g = new_network(ptr, head, place[(order + count) % max(1, 2 * count)])
    g.residual[:] = np.concatenate([there, back])[order]
    g.excess[:] = excess
    g.tolerance[:] = tolerance
    return g


def value(x, edges, there, back, excess) -> float:
    edges = np.asarray(edges, np.int64).reshape(-1, 2)
    u, v = x[edges[:, 0]], x[edges[:, 1]]
    return float(-np.sum(excess * x) + np.sum(there * (u & ~v)) + np.sum(back * (v & ~u)))


def solved(n, edges, there, back, excess, tolerance=0.0):
    g = network(n, edges, there, back, excess, tolerance)
    cut(g)
    return g.level != FREE


def scipy_minimum(n, edges, there, back, excess) -> float:
    """min cut − Σ positive excess, by max-flow = min-cut."""
    edges = np.asarray(edges, np.int64).reshape(-1, 2)
    sources, sinks = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
    rows = np.concatenate([edges[:, 0], edges[:, 1], np.full(len(sources), n), sinks])
    columns = np.concatenate([edges[:, 1], edges[:, 0], sources, np.full(len(sinks), n + 1)])
    capacity = np.concatenate([there, back, excess[sources], -excess[sinks]]).astype(np.int32)
    graph = csr_matrix((capacity, (rows, columns)), shape=(n + 2, n + 2))
    return float(maximum_flow(graph, n, n + 1).flow_value - excess[sources].sum())


@st.composite
def networks(draw, max_nodes):
    n = draw(st.integers(1, max_nodes))
    pairs = list(itertools.combinations(range(n), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4 * n)) if pairs else []
    capacities = st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges))
    excess = draw(st.lists(st.integers(-15, 15), min_size=n, max_size=n))
    return n, edges, *(np.array(draw(capacities), float) for _ in range(2)), np.array(excess, float)


@given(networks(max_nodes=25))
@settings(max_examples=100, deadline=None)
def test_the_cut_is_as_small_as_scipys(problem):
    assert value(solved(*problem), *problem[1:]) == scipy_minimum(*problem)


@given(networks(max_nodes=7))
@settings(max_examples=100, deadline=None)
def test_of_all_minimum_cuts_it_is_the_one_with_fewest_nodes(problem):
    n = problem[0]
    cuts = [np.array(x, bool) for x in itertools.product([0, 1], repeat=n)]
    lowest = min(value(x, *problem[1:]) for x in cuts)
    smallest = min((x for x in cuts if value(x, *problem[1:]) == lowest), key=lambda x: x.sum())
    assert solved(*problem).tolist() == smallest.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_grids_with_hubs_that_reach_everybody(seed):
    rng = np.random.default_rng(seed)
    side, hubs = 30, 3
    index = np.arange(side * side).reshape(side, side)
    edges = [np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], 1)]
    edges += [np.stack([index[:-1].ravel(), index[1:].ravel()], 1)]
    for hub in range(hubs):
        members = rng.permutation(side * side)[: side * side // 2]
        edges.append(np.stack([members, np.full(len(members), side * side + hub)], 1))
    edges = np.concatenate(edges)
    n = side * side + hubs
    capacity = rng.integers(0, 12, len(edges)).astype(float)
    excess = rng.integers(-25, 26, n).astype(float)
    excess[-hubs:] = rng.integers(-900, 900, hubs)
    problem = n, edges, capacity, capacity, excess
    assert value(solved(*problem), *problem[1:]) == scipy_minimum(*problem)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_float_capacities_at_any_scale(scale):
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(2, 9))
        edges = [e for e in itertools.combinations(range(n), 2) if rng.random() < 0.6]
        there, back = scale * rng.random((2, len(edges)))
        problem = n, edges, there, back, scale * rng.normal(size=n)
        cuts = (np.array(x, bool) for x in itertools.product([0, 1], repeat=n))
        lowest = min(value(x, *problem[1:]) for x in cuts)
        found = value(solved(*problem, tolerance=1e-12 * scale), *problem[1:])
        assert found == pytest.approx(lowest, rel=1e-9, abs=1e-10 * scale)


def test_a_network_is_used_again_after_filling_it():
    g = network(3, [[0, 1], [1, 2]], [2.0, 5.0], [2.0, 5.0], [3.0, -1.0, -1.0])
    capacity, excess = g.residual.copy(), g.excess.copy()
    cut(g)
    first = g.level.copy()
    g.residual[:], g.excess[:] = capacity, excess
    cut(g)
    assert g.level.tolist() == first.tolist()
    assert (first != FREE).tolist() == [True, False, False]


def test_nobody_moves_without_excess_and_everybody_with_only_excess():
    assert not solved(3, [[0, 1]], [1.0], [1.0], [0.0, -1.0, 0.0]).any()
    assert solved(2, [], [], [], [1.0, 2.0]).all()
    assert solved(1, [], [], [], [np.inf]).all()


def test_excess_below_the_tolerance_counts_as_nothing():
    assert not solved(2, [[0, 1]], [1.0], [1.0], [1e-13, -1.0], tolerance=1e-12).any()
    assert solved(2, [[0, 1]], [1.0], [1.0], [1e-11, 0.0], tolerance=1e-12).all()


def test_a_cut_that_pauses_ends_as_one_that_does_not_or_is_given_up():
    rng = np.random.default_rng(0)
    edges = [(i, j) for i in range(60) for j in range(i) if rng.random() < 0.2]
    there, back = rng.random((2, len(edges)))
    problem = 60, edges, there, back, 3 * rng.normal(size=60)
    whole = solved(*problem)
    g = network(*problem)
    g.counts[PATIENCE] = 5
    pauses = 0
    while not cut(g):
        assert g.counts[PAUSED] > 0
        pauses += 1
    assert pauses > 3
    assert (g.level != FREE).tolist() == whole.tolist()
    g.residual[:], g.excess[:] = (filled := network(*problem)).residual, filled.excess
    assert not cut(g)
    give_up(g)
    assert g.counts[PAUSED] == 0
    assert (g.level == FREE).all()
