"""The unit of cost: it grows with the costs, and odd ones do not upset it."""

from __future__ import annotations

import numpy as np
import pytest

import policrf as pc
from policrf.crf.units import SPAN, cost_unit

RANDOM = np.random.default_rng(0)
UNARY = RANDOM.exponential(size=(60, 5))


def unit_of(unary: np.ndarray, *groups: object) -> float:
    return cost_unit(pc.CRF(unary, *groups).arrays)


EDGES = [[0, 1], [1, 2]]


@pytest.mark.parametrize("factor", [1e-12, 1e-3, 0.7, 1e6, 1e12])
def test_it_grows_with_the_costs(factor: float) -> None:
    assert unit_of(factor * UNARY) == pytest.approx(factor * unit_of(UNARY))
    nothing = np.zeros((3, 2))
    assert unit_of(nothing, pc.Potts(EDGES, factor)) == pytest.approx(factor)
    assert unit_of(nothing, pc.BoxSupport([[0, 1, 2]], [1], factor, 2)) == pytest.approx(factor)
    table = factor * np.array([[0.0, 1.0], [3.0, 0.0]])
    assert unit_of(nothing, pc.Pairwise(EDGES, table)) == pytest.approx(3 * factor)


def test_scenes_are_in_units_of_about_one() -> None:
    for regime in "ABC":
        for n_labels in (6, 21, 50):
            scene = pc.make_scene(100, regime, seed=1, n_labels=n_labels)
            assert 0.8 < cost_unit(scene.crf.arrays) < 1.3


def test_odd_costs_do_not_upset_it() -> None:
    plain = unit_of(UNARY)
    forbidden = UNARY.copy()
    forbidden[:, 4] = np.inf
    huge = UNARY.copy()
    huge[:, 4] = 1e9
    fixed = np.full((200, 5), np.inf)
    fixed[:, 2] = 0.0
    fixed[::4][:50] = UNARY[:50]  # most nodes have one label only
    for unary in (forbidden, huge, fixed):
        assert plain / 3 < unit_of(unary) < 3 * plain


def test_where_nothing_tells_it_is_one() -> None:
    assert unit_of(np.zeros((4, 3))) == 1.0
    assert unit_of(np.zeros((4, 1))) == 1.0
    assert unit_of(np.array([[0.0, np.inf]])) == 1.0


def test_it_is_a_seventh_of_what_labels_differ_by() -> None:
    assert unit_of(np.array([[0.0, 3.5]])) == pytest.approx(3.5 / SPAN)
    many = np.zeros((5000, 2))
    many[4999, 1] = 7.0  # the only node that says anything
    assert unit_of(many) == pytest.approx(1.0)
