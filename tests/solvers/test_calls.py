"""`Solution.calls`: how often custom functions were asked."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.cli import solve as command

SOLVERS = (
    "icm", "highest_confidence_first", "lazy_flipper", "belief_propagation", "annealing",
    "refine", "exact", "brute_force", "untrained", "untrained:refine=true",
)  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("partial", ["complete", "subset"])
def test_every_call_is_counted(solver, partial):
    asked = []

    def spread(labels, parameters):
        asked.append(1)
        return float(len(set(labels.tolist())))

    unary = np.random.default_rng(0).exponential(size=(6, 3))
    edges = pc.Potts([[0, 1], [2, 3], [4, 5]], 0.3)
    group = pc.Custom([[0, 1, 2], [3, 4, 5]], spread, partial=partial)
    crf = pc.CRF(unary, edges, group)
    for _ in range(2):
        asked.clear()
        options = {"runs": 1} if solver == "annealing" else {}
        assert pc.solve(crf, solver, **options).calls == len(asked) > 0


def test_unary_asks_once_for_each_clique():
    crf = pc.CRF(np.zeros((4, 2)), pc.Custom([[0, 1], [1, 2], [2, 3]], lambda *_: 0.0))
    # The unary argmin is offered once, and the model computes its energy.
    assert pc.solve(crf, "unary").calls == 3


def test_no_calls_without_custom_groups():
    assert pc.solve(pc.CRF(np.eye(3), pc.Potts([[0, 1]], 1.0)), "icm").calls == 0


def test_the_command_says_how_often(capsys):
    report = {
        "model": "m.npz", "nodes": 2, "labels": 2, "solver": "icm", "energy": 1.0, "seconds": 0.1,
        "terms": {}, "optimal": True, "out": None, "others": [],
    }  # fmt: skip
    command._print(report | {"calls": 1234})
    assert "called 1,234 times" in capsys.readouterr().out
    command._print(report | {"calls": 0})
    assert "called" not in capsys.readouterr().out
