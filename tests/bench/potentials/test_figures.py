"""Means, intervals, tables and bars of the benchmark of hard potentials."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.bench.potentials.builders import SMALL, result

from policrf.bench.potentials.bars import auto_misses, bars, overruns
from policrf.bench.potentials.pictures import draw
from policrf.bench.potentials.summary import CellKey, Summary, mean_with_interval
from policrf.bench.potentials.tables import COLUMNS, all_figures, family_tables


def test_gaps_are_paired_with_the_lowest_energy_of_the_same_crf():
    results = [result("icm", 0, 11.0), result("icm", 1, 24.0), result("auto", 0, 10.0)]
    results += [result("auto", 1, 20.0), result("exact", 0, 8.0, budget=99.0, proven=True)]
    summary = Summary(results)
    cell = summary.cells[CellKey("parity", 16, "icm", 1.0)]
    assert cell.energy == pytest.approx(17.5)
    assert cell.gap.value == pytest.approx((100 * 3 / 8 + 20) / 2)
    assert summary.proven == {("parity", 16, 0)}
    above = summary.above(CellKey("parity", 16, "icm", 1.0), CellKey("parity", 16, "auto", 1.0))
    assert above.value == pytest.approx((10 + 20) / 2)
    # Student's t of one degree of freedom, 12.706, times half the difference.
    assert above.half == pytest.approx(12.7062 * 5, rel=1e-4)


def test_a_single_crf_has_no_interval():
    assert str(mean_with_interval([3.0])) == "+3.0"
    assert str(mean_with_interval([3.0, 3.0])) == "+3.0 ± 0.0"


def test_tables_show_refusals_and_overruns():
    refused = result("belief_propagation", 0, 0.0)
    del refused["energy"]
    late = result("auto", 0, 10.0, cpu_seconds=0.5)
    summary = Summary([late, refused | {"refused": "no"}])
    grid = replace(SMALL, solvers=("auto", "belief_propagation", "icm"))
    (table,) = family_tables(summary, grid)
    assert [row[:3] for row in table.rows] == [
        ("auto", 16, "10.0 (+0.0)*"), ("belief_propagation", 16, "refused"),
    ]  # fmt: skip
    (figures,) = all_figures(summary).rows
    assert dict(zip(COLUMNS, figures, strict=True))["overrun"] is True
    (overrun,) = overruns(summary, grid).rows
    assert overrun[2] == "auto"
    assert overrun[-1] == pytest.approx(500.0)


def test_half_way_is_held_against_the_lowest_generic_row():
    results = [
        result("icm", 0, 100.0), result("annealing", 0, 85.0), result("untrained + icm", 0, 80.0),
        result("icm", 0, 100.0, budget=50.0), result("annealing", 0, 95.0, budget=50.0),
        result("untrained:refine=true", 0, 70.0, budget=50.0),
    ]  # fmt: skip
    verdicts, without, with_annealing, *_ = bars(Summary(results), SMALL)
    held = ("parity", 16, "+5.9 (annealing)", "+26.3 (annealing)", "+17.6", "no")
    assert with_annealing.rows == (held,)
    assert without.rows == (("parity", 16, "+20.0 (icm)", "+30.0 (icm)", "+30.0", "yes"),)
    assert [row[1] for row in verdicts.rows] == [1, 1, 0, 0, 0]
    assert [row[-1] for row in verdicts.rows] == ["no", "no", "no", "no", "yes"]


def test_misses_of_auto_are_listed():
    results = [
        result("auto", 0, 101.5), result("icm", 0, 100.0),
        result("auto", 0, 100.5, budget=50.0), result("icm", 0, 100.0, budget=50.0),
        # Below auto, but it did not keep its budget.
        result("untrained + icm", 0, 50.0, budget=50.0, cpu_seconds=1.0),
    ]  # fmt: skip
    grid = replace(SMALL, solvers=("auto", "icm", "untrained + icm"))
    table = auto_misses(Summary(results), grid)
    assert table.rows == (("parity", 16, 1.0, "101.50", "icm", "100.00", "+1.5"),)
    assert "in 1 of 2 cells" in table.note


def test_no_results_no_pictures(tmp_path):
    assert draw(Summary([]), SMALL, tmp_path) == []
