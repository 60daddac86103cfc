"""Budgets as text, paired differences, and the journal's refusals."""

from __future__ import annotations

import math

import pytest

from policrf.errors import InvalidFile, InvalidOption
from policrf.learn.tuning.budget import budget_text, read_budget
from policrf.learn.tuning.journal import Journal
from policrf.learn.tuning.paired import LEAST, difference


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10us", 1e-5), ("10 µs", 1e-5), ("1.5ms", 1.5e-3), ("2e-6", 2e-6), ("700ns", 7e-7), (3, 3.0)],
)
def test_budgets_are_read(text, seconds):
    assert read_budget(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    "wrong", ["", "fast", "10 calls", "-1us", "0", 0, -1.0, math.nan, True, "1.2.3us"]
)
def test_wrong_budgets_are_refused(wrong):
    with pytest.raises(InvalidOption, match="it must be CPU time a node"):
        read_budget(wrong)


def test_budgets_are_told():
    assert [budget_text(x) for x in (2.0, 1.5e-3, 7e-6, 5e-8)] == [
        "2 s", "1.5 ms", "7 µs", "50 ns",
    ]  # fmt: skip


def test_a_clear_difference_wins_and_a_small_one_does_not():
    others = [float(10 * k) for k in range(LEAST)]
    clear = [x - 1.0 - 0.1 * (k % 3) for k, x in enumerate(others)]
    found = difference(clear, others)
    assert found.wins
    assert not found.loses
    assert found.mean == pytest.approx(-1.09)
    assert difference(others, clear).loses
    noisy = [x + (-1) ** k - 0.01 for k, x in enumerate(others)]
    assert not difference(noisy, others).wins


def test_few_instances_never_win():
    few = [0.0] * (LEAST - 1)
    assert not difference([-5.0 - 0.1 * k for k in range(LEAST - 1)], few).wins


def test_infinite_energies_have_differences():
    found = difference([math.inf, 1.0, 2.0], [math.inf, math.inf, 2.0])
    assert found.mean < 0
    assert math.isfinite(found.mean)


def test_clipping_takes_the_weight_from_outliers():
    pairs = [0.0, 0.1, -0.1, 0.05, -0.05, 900.0]
    assert difference(pairs, [0.0] * 6).mean > 100
    assert abs(difference(pairs, [0.0] * 6, clipped=True).mean) < 0.2


def test_clipping_hides_no_infinite_energy_and_no_higher_mean():
    slightly = [-0.1 - 0.01 * (k % 3) for k in range(20)]
    assert difference(slightly, [0.0] * 20, clipped=True).wins
    refused = [*slightly[:19], math.inf]
    assert not difference(refused, [0.0] * 20, clipped=True).wins
    costly = [*slightly[:19], 50.0]
    found = difference(costly, [0.0] * 20, clipped=True)
    assert found.limit < 0 < found.plain
    assert not found.wins


def test_a_journal_of_another_run_is_refused(tmp_path):
    Journal(tmp_path, {"budget": "1us", "seconds": 5}, resume=False).recall("a", lambda: 1)
    again = Journal(tmp_path, {"budget": "1us", "seconds": 9}, resume=True)
    assert again.recall("a", lambda: 2) == 1
    with pytest.raises(InvalidFile, match="other values of budget"):
        Journal(tmp_path, {"budget": "2us", "seconds": 5}, resume=True)
    with pytest.raises(InvalidFile, match="no run to go on with"):
        Journal(tmp_path / "empty", {"budget": "1us"}, resume=True)
    (tmp_path / "journal.jsonl").write_text("nonsense\n")
    with pytest.raises(InvalidFile, match="damaged"):
        Journal(tmp_path, {"budget": "1us"}, resume=True)


def test_a_new_run_forgets_an_earlier_journal(tmp_path):
    Journal(tmp_path, {"budget": "1us"}, resume=False).recall("a", lambda: math.inf)
    assert float(Journal(tmp_path, {"budget": "1us"}, resume=True).values["a"]) == math.inf
    with pytest.raises(InvalidOption, match="holds a run already"):
        Journal(tmp_path, {"budget": "1us"}, resume=False)
    assert Journal(tmp_path, {"budget": "1us"}, resume=False, overwrite=True).values == {}
