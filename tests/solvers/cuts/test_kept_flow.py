"""Flow that is pushed again changes how soon a cut is found, and nothing else."""

import numpy as np
import pytest

import policrf as pc
from policrf.solvers.cuts.expansion_move import expand_each
from policrf.solvers.cuts.expansion_problem import move_problem
from policrf.solvers.cuts.move_state import move_state

STEPS = np.abs(np.arange(5)[:, None] - np.arange(5)).astype(float)


def hard_crf(seed, table=None, boxes=False):
    """Random unaries and strong pairs: cuts look at nodes more than once."""
    rng = np.random.default_rng(seed)
    crf = pc.grid(rng.uniform(size=(24, 24, 5)), rng.uniform(0.2, 0.4, (24, 24)), table=table)
    if not boxes:
        return crf
    members = [rng.choice(576, 60, replace=False) for _ in range(3)]
    agreement = pc.BoxAgreement(members, [0, 1, 2], [0.3, 0.2, 0.4])
    return crf.with_potentials(*crf.potentials, agreement, pc.LabelCost([range(576)], 2.0))


def descended(problem, start, order, *, keep):
    state = move_state(problem, start)
    if not keep:
        state = state._replace(flow=np.zeros((0, 5)))
    expand_each(problem, state, order, np.zeros(2, np.int64), 100)
    return state


@pytest.mark.parametrize("boxes", [False, True])
@pytest.mark.parametrize("table", [None, np.minimum(STEPS, 2)])
def test_labels_are_the_same_with_it_and_without(table, boxes):
    kept = 0
    for seed in range(6):
        problem = move_problem(crf := hard_crf(seed, table, boxes))
        start = np.argmin(crf.unary, axis=1)
        for order in (np.arange(5), np.arange(5)[::-1].copy()):
            with_it = descended(problem, start, order, keep=True)
            without = descended(problem, start, order, keep=False)
            assert with_it.labels.tolist() == without.labels.tolist()
            kept += int(with_it.kept[0])
            assert not without.kept[0]
    assert kept > 6


def test_any_flow_is_a_valid_start():
    # Whatever the kept flow is, moves are the best of all moves.
    crf = hard_crf(1, np.minimum(STEPS, 2))
    problem = move_problem(crf)
    start = np.argmin(crf.unary, axis=1)
    expected = descended(problem, start, np.arange(5), keep=False)
    state = move_state(problem, start)
    state.flow[:] = np.random.default_rng(0).normal(size=state.flow.shape)
    state.kept[0] = True
    expand_each(problem, state, np.arange(5), np.zeros(2, np.int64), 100)
    assert crf.energy(state.labels) == pytest.approx(crf.energy(expected.labels), rel=1e-12)


def test_labels_in_the_middle_come_first_where_unaries_say_little():
    from policrf.solvers.cuts.alpha_expansion import _nearest_first, _nearness

    crf = hard_crf(0, np.minimum(STEPS, 2))
    start = np.argmin(crf.unary, axis=1)
    near = _nearness(crf, start)
    assert _nearest_first(near, np.arange(5)).tolist() == [2, 1, 3, 0, 4]
    assert _nearest_first(near, np.arange(5)[::-1]).tolist() == [2, 3, 1, 4, 0]
    sure = pc.grid(20 * crf.unary.reshape(24, 24, 5), 0.3, table=np.minimum(STEPS, 2))
    assert not _nearness(sure, start).any()
    assert not _nearness(hard_crf(0), start).any()
