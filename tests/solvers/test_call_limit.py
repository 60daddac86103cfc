"""`calls=`: no solver asks expensive functions more often, and what is reported is true."""

from __future__ import annotations

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest

import policrf as pc
from policrf.errors import InvalidOption, InvalidPotential, UnsupportedPotential
from policrf.solvers.call_limit import CallLimit


class Counted:
    """2 for every label beyond the second; counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0
        self.__name__ = "counted"

    def __call__(self, labels: Any, parameters: Any) -> float:
        self.calls += 1
        return 2.0 * max(0, len(np.unique(labels)) - 2)


def dear_crf(function: Any, *, expensive: bool = True) -> pc.CRF:
    unary = np.random.default_rng(3).exponential(size=(8, 3))
    edges = [[i, i + 1] for i in range(7)]
    cliques = [list(range(4)), list(range(4, 8))]
    dear = pc.Custom(cliques, function, partial="subset", expensive=expensive)
    return pc.CRF(unary, pc.Potts(edges, 0.2), dear)


@pytest.mark.parametrize("solver", pc.list_solvers())
@pytest.mark.parametrize("calls", [None, 3, 40])
def test_no_solver_asks_more_often(solver: str, calls: int | None) -> None:
    function = Counted()
    crf = dear_crf(function)
    try:
        found = pc.solve(crf, solver, seconds=0.05, calls=calls)
    except UnsupportedPotential:
        pytest.skip("it takes no custom function")
    told = found.info["calls_to_report"]
    assert found.calls <= (calls or 0)
    assert function.calls <= found.calls + told
    assert told <= 2
    assert found.energy == pytest.approx(crf.energy(found.labels))


def test_without_a_limit_it_is_never_asked_while_solving() -> None:
    function = Counted()
    crf = dear_crf(function)
    found = pc.solve(crf, "exact")
    known = crf.with_potentials(crf.potentials[0])
    assert function.calls == found.info["calls_to_report"] == 2
    assert known.energy(found.labels) == pytest.approx(pc.solve(known, "exact").energy)
    assert not found.optimal
    assert found.lower_bound == -math.inf


def test_enough_calls_are_as_good_as_no_limit() -> None:
    crf = dear_crf(Counted())
    free = pc.solve(crf, "brute_force", calls=math.inf)
    limited = pc.solve(crf, "brute_force", calls=10_000)
    assert limited.energy == pytest.approx(free.energy)
    assert limited.optimal


def test_a_refused_answer_proves_nothing() -> None:
    found = pc.solve(dear_crf(Counted()), "brute_force", calls=5)
    assert found.calls == 5
    assert not found.optimal


def test_a_question_is_asked_once() -> None:
    function = Counted()
    found = pc.solve(dear_crf(function), "icm", calls=10_000, seed=1)
    assert function.calls == found.calls + found.info["calls_to_report"]
    again = pc.solve(dear_crf(Counted(), expensive=False), "icm", seed=1)
    assert found.calls < again.calls


def test_cheap_functions_are_not_limited() -> None:
    crf = dear_crf(Counted(), expensive=False)
    found = pc.solve(crf, "icm", calls=0)
    assert found.calls > 0
    assert "calls_to_report" not in found.info


@pytest.mark.parametrize("calls", [-1, 0.5])
def test_bad_limits_are_refused(calls: float) -> None:
    with pytest.raises(InvalidOption, match="calls must be a whole number"):
        pc.solve(dear_crf(Counted()), calls=calls)


def test_expensive_is_kept_in_files(tmp_path: Any) -> None:
    function = Counted()
    dear_crf(function).save(tmp_path / "crf.npz")
    read = pc.CRF.load(tmp_path / "crf.npz", functions={"counted": function})
    group = read.potentials[-1]
    assert isinstance(group, pc.Custom)
    assert group.expensive
    with pytest.raises(InvalidPotential, match="expensive"):
        pc.Custom([[0]], function, expensive="yes")  # type: ignore[arg-type]


def test_a_function_for_a_part_is_limited_too() -> None:
    function, part = Counted(), Counted()
    unary = np.random.default_rng(0).random((6, 3))
    dear = pc.Custom([range(6)], function, partial=part, expensive=True)
    assert dear.asking(function, expensive=True).marked is part
    found = pc.solve(pc.CRF(unary, dear), "highest_confidence_first", calls=7)
    assert found.calls == 7
    assert function.calls + part.calls == 7 + found.info["calls_to_report"]


def test_nothing_of_a_run_stays_behind() -> None:
    limit = CallLimit(dear_crf(Counted()), 3)
    limit.crf.energy(np.zeros(8, np.int64))
    seen = weakref.ref(limit.crf)
    del limit
    gc.collect()
    assert seen() is None
