"""The common unit of costs: found where there is one, never where there is none."""

import itertools

import numpy as np
import pytest

import policrf as pc
from policrf.solvers.proofs.cost_grain import find_grain


def tables_of(rng, unit, *, highest=50, count=12):
    return [unit * rng.integers(0, highest + 1, (3, 3)).astype(np.float64) for _ in range(count)]


@pytest.mark.parametrize("unit", [1.0, 0.01, 0.1, 1 / 3, 2.0**-40, 1e12, 7e-15])
@pytest.mark.parametrize("seed", range(5))
def test_whole_multiples_are_found_and_blur_is_all_that_rounding_did(unit, seed):
    tables = tables_of(np.random.default_rng(seed), unit)
    grain = find_grain(tables, 600 * unit)
    assert grain is not None
    assert (grain.size / unit) == pytest.approx(round(grain.size / unit), rel=1e-9)
    assert grain.blur < 1e-9 * unit
    for table in tables:
        off = np.abs(table - np.rint(table / grain.size) * grain.size)
        assert off.max() <= grain.blur


def test_the_grain_is_the_largest():
    tables = [np.array([0.0, 6.0, np.inf]), np.array([[0.0, 10.0], [15.0, 0.0]])]
    assert find_grain(tables, 100.0).size == pytest.approx(1.0, rel=1e-15)
    assert find_grain([2 * table for table in tables], 100.0).size == pytest.approx(2.0, rel=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_real_costs_have_no_grain(seed):
    rng = np.random.default_rng(seed)
    assert find_grain([rng.random((3, 3)) for _ in range(10)], 10.0) is None
    assert find_grain([], 1.0) is None
    assert find_grain([np.zeros((2, 2)), np.array([np.inf, 0.0])], 1.0) is None
    # whole but for one entry that is off by more than rounding
    off = tables_of(rng, 1.0)
    off[3][1, 1] += 1e-3
    found = find_grain(off, 600.0)
    assert found is None or found.size < 2e-3


@pytest.mark.parametrize("unit", [1.0, 0.1, 2.0**-40])
@pytest.mark.parametrize("seed", range(4))
def test_proofs_on_whole_costs_hold(seed, unit):
    """Against enumeration; ties and near ties by one unit are what rounding could confuse."""
    pytest.importorskip("pytoulbar2", reason="pytoulbar2 is not installed")
    rng = np.random.default_rng(seed)
    pairs = np.array([p for p in itertools.combinations(range(9), 2) if rng.random() < 0.6])
    unary = unit * rng.integers(0, 4, (9, 3))
    crf = pc.CRF(unary, pc.Tables(pairs, unit * rng.integers(0, 4, (len(pairs), 3, 3))))
    solution = pc.solve(crf, "exact", backend="toulbar2")
    lowest = min(crf.energy(np.array(labels)) for labels in itertools.product(range(3), repeat=9))
    assert solution.optimal
    assert solution.energy == pytest.approx(lowest, rel=1e-12)
