"""The run-time benchmark: its cells, its tables, growth and threads, on a small scale."""

from __future__ import annotations

import pytest

from policrf.errors import InvalidOption
from policrf.evaluate.runtime import Runtime, measure, measure_growth, measure_threads, tables

SMALL = Runtime(
    sizes=(50, 250),
    rows=("policy (paper)", "policy (residual)", "alpha_expansion + repair", "icm"),
    energies=("u+p", "u+p+hop1+hop2"),
    repeats=1,
    peers=False,
)


def test_every_cell_is_measured_and_tabulated() -> None:
    seen: list[dict[str, object]] = []
    results = measure(SMALL, seen.append)
    assert seen == results
    assert len(results) == 2 * 2 * 4
    assert all(result["seconds"] > 0 for result in results)
    first, _, third, reached = tables(SMALL, results)
    assert first.columns == ("solver", "N = 50", "N = 250")
    names = [row[0] for row in first.rows]
    assert names[:4] == list(SMALL.rows)
    # The paper's own figures stand below ours, marked as theirs.
    theirs = {row[0]: row[1:] for row in first.rows[4:]}
    assert theirs["DQN (paper's figure)"] == (0.04, 0.22)
    assert "another machine" in first.note
    assert {row[0] for row in third.rows[4:]} == {"DQN (paper's figure)", "MCTS (paper's figure)"}
    energies = {row[0]: row[2] for row in reached.rows}
    assert energies["alpha_expansion + repair"] <= energies["policy (residual)"] * 1.001


def test_a_row_that_there_is_not() -> None:
    with pytest.raises(InvalidOption, match="no row is called 'oracle'"):
        measure(Runtime(rows=("oracle",)))


def test_growth_is_measured_in_processes_of_their_own() -> None:
    small, large = measure_growth("paper", sizes=(100, 400), repeats=1)
    assert (small["n"], large["n"]) == (100, 400)
    assert small["seconds"] > 0
    assert 50 < large["peak_mb"] < 1000


def test_threads_are_compared_with_one() -> None:
    result = measure_threads(n_nodes=50, count=2, repeats=1)
    assert result["speedup"] == pytest.approx(result["seconds_one"] / result["seconds_many"])
