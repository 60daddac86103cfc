"""A move that is found near what has changed is the best move of all nodes."""

import numpy as np
import pytest

import policrf as pc
from policrf.solvers.cuts.expansion_move import expand_each
from policrf.solvers.cuts.expansion_problem import move_problem
from policrf.solvers.cuts.move_state import load_moves, move_state

STEPS = np.minimum(np.abs(np.arange(4)[:, None] - np.arange(4)), 2).astype(float)


def image(seed, *, table, weight, forbidden=0.0):
    """Blocks of labels under noise; some labels forbidden."""
    rng = np.random.default_rng(seed)
    truth = np.kron(rng.integers(0, 4, (5, 5)), np.ones((12, 12), int))
    unary = np.abs(np.arange(4) - (truth + rng.normal(0, 1, truth.shape))[..., None])
    unary[rng.random(unary.shape) < forbidden] = np.inf
    unary[~np.isfinite(unary).any(axis=2)] = 0.0
    return pc.grid(unary, rng.uniform(0.5 * weight, weight, truth.shape), table=table)


def descents(crf, *, near, seed):
    """Labels and numbers of moves of descents from several starts, one state for all of them."""
    problem = move_problem(crf)
    start = np.argmin(crf.unary, axis=1)
    state, found = move_state(problem, start, note_changes=near), []
    rng = np.random.default_rng(seed)
    for _ in range(4):
        cursor = np.zeros(2, np.int64)
        while cursor[1] < 4:
            gain = expand_each(problem, state, np.arange(4), cursor, 1)
            found.append((gain > 0, state.labels.tolist()))
        changed = state.labels.copy()
        for i in rng.integers(0, crf.n_nodes, 8):
            changed[i] = rng.choice(np.flatnonzero(np.isfinite(crf.unary[i])))
        load_moves(problem, state, changed)
    assert not state.changes.place.any()
    assert not problem.network.level.any()
    return found


@pytest.mark.parametrize("forbidden", [0.0, 0.3])
@pytest.mark.parametrize("table", [None, STEPS])
@pytest.mark.parametrize("weight", [0.4, 1.5])
def test_every_move_is_that_of_all_nodes(table, weight, forbidden):
    for seed in range(4):
        crf = image(seed, table=table, weight=weight, forbidden=forbidden)
        expected = descents(crf, near=False, seed=seed)
        assert descents(crf, near=True, seed=seed) == expected


def test_moves_are_found_nearby():
    """Where the last move was idle and nothing has changed, no cut is made at all."""
    crf = image(0, table=None, weight=0.8)
    problem = move_problem(crf)
    state = move_state(problem, np.argmin(crf.unary, axis=1), note_changes=True)
    expand_each(problem, state, np.arange(4), np.zeros(2, np.int64), 100)
    state.open[:] = True  # a move over all nodes says who takes part
    changed = state.labels.copy()
    changed[100] = (changed[100] + 1) % 4
    load_moves(problem, state, changed)
    expand_each(problem, state, np.arange(4), np.zeros(2, np.int64), 100)
    assert state.open.sum() > crf.n_nodes // 2
    assert state.labels[100] != changed[100]


def test_prices_and_boxes_are_no_matter_of_changes():
    """Their moves look at all nodes: what many nodes share is near everything."""
    crf = image(1, table=None, weight=0.8)
    boxed = crf.with_potentials(*crf.potentials, pc.BoxAgreement([range(50)], [1], [0.2]))
    state = move_state(move_problem(boxed), np.zeros(crf.n_nodes, np.int64), note_changes=True)
    assert len(state.changes.when) == 0
