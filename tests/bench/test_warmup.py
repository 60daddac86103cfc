"""Warming up: every solver has a model to compile its kernels on, the longest ones first."""

import pytest

import policrf as pc
from policrf.bench.warmup import FIRST, small_models, tasks, warm, warm_up
from policrf.errors import PolicrfError


def test_all_solvers_are_warmed_up_and_the_longest_come_first():
    names = tasks()
    assert sorted(names) == sorted(pc.list_solvers())
    assert tuple(names[: len(FIRST)]) == FIRST
    assert tasks(["icm", "exact"]) == ["exact", "icm"]


@pytest.mark.parametrize("solver", ["icm", "alpha_expansion", "unary"])
def test_a_solver_takes_one_of_the_models_at_least(solver):
    taken = 0
    for crf in small_models():
        try:
            taken += pc.solve(crf, solver, seconds=0.05).labels.shape == (crf.n_nodes,)
        except PolicrfError:
            continue
    assert taken >= 3


def test_what_was_done_is_said():
    assert warm("unary")[0] == "unary"
    seen = []
    wall, compiled = warm_up(["unary"], 1, lambda solver, seconds: seen.append(solver))
    assert seen == ["unary"]
    assert 0 <= compiled <= wall
