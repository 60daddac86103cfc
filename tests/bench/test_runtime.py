"""The run-time benchmark: its cells, its tables, growth and threads, on a small scale."""

from __future__ import annotations

import pytest

from policrf.bench.runtime import Runtime, measure, measure_growth, measure_threads, tables
from policrf.bench.runtime_bars import bars
from policrf.errors import UnknownName

SMALL = Runtime(
    sizes=(50, 250),
    solvers=("untrained:kind=paper", "untrained", "alpha_expansion", "icm"),
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
    assert names[:4] == list(SMALL.solvers)
    # The paper's own figures stand below ours, marked as theirs.
    theirs = {row[0]: row[1:] for row in first.rows[4:]}
    assert theirs["DQN (paper's figure)"] == (0.04, 0.22)
    assert "another machine" in first.note
    assert {row[0] for row in third.rows[4:]} == {"DQN (paper's figure)", "MCTS (paper's figure)"}
    energies = {row[0]: row[2] for row in reached.rows}
    assert energies["alpha_expansion"] <= energies["untrained"] * 1.001


def test_a_row_that_there_is_not() -> None:
    with pytest.raises(UnknownName, match="no solver is called 'oracle'"):
        measure(Runtime(solvers=("oracle",)))


def test_growth_is_measured_in_processes_of_their_own() -> None:
    small, large = measure_growth("paper", sizes=(100, 400), repeats=1)
    assert (small["n"], large["n"]) == (100, 400)
    assert small["seconds"] > 0
    assert 50 < large["peak_mb"] < 1000


def test_threads_are_compared_with_one() -> None:
    result = measure_threads(n_nodes=50, count=2, repeats=1)
    assert result["speedup"] == pytest.approx(result["seconds_one"] / result["seconds_many"])


def test_bars_say_what_is_held() -> None:
    cells = [
        ("untrained:kind=paper", "u+p+hop1+hop2", 10_000, 0.04),
        ("untrained", "u+p+hop1+hop2", 10_000, 0.2),
        ("alpha_expansion", "u+p+hop1+hop2", 10_000, 0.1),
        ("untrained:kind=paper", "u+p", 10_000, 0.03),
        ("untrained:kind=paper", "u+p+hop1", 10_000, 0.03),
        ("gco-wrapper", "u+p", 10_000, 0.02),
        ("alpha_expansion", "u+p+hop1", 10_000, None),
    ]
    results = [dict(zip(("row", "terms", "n", "seconds"), cell, strict=True)) for cell in cells]
    growth = [
        {"kind": "paper", "n": n, "seconds": s, "peak_mb": 400.0}
        for n, s in ((10_000, 0.03), (100_000, 0.33))
    ]
    threads = [{"kind": "paper", "speedup": 1.6}]
    table = bars(results, growth, threads, {"policy": "labels", "seconds": 0.9})
    said = {(row[0], row[1]): (row[2], row[4]) for row in table.rows}
    repair = "time / alpha_expansion with repair, N = 10,000, u+p+hop1+hop2"
    assert said[repair, "paper"] == (pytest.approx(0.4), "yes")
    assert said[repair, "residual"] == (pytest.approx(2.0), "no")
    assert said["time / gco-wrapper, N = 10,000, u+p", "paper"] == (pytest.approx(1.5), "no")
    assert said["µs a step, N = 10,000, u+p+hop1+hop2", "residual"] == (pytest.approx(20), "no")
    assert said["slowest / fastest energy, N = 10,000", "paper"] == (pytest.approx(4 / 3), "no")
    assert said["time, N = 100,000 / N = 10,000", "paper"] == (pytest.approx(11), "yes")
    assert said["peak MB, N = 100,000", "paper"] == (400.0, "yes")
    assert said["two threads / one, speed", "paper"] == (1.6, "no")
    assert said["s, fresh process, N = 250, no torch", "labels"] == (0.9, "yes")
    assert len(said) == len(table.rows) == 10


def test_refine_follows_the_policy_in_a_row_of_its_own() -> None:
    solvers = ("untrained", "untrained:refine=true")
    plan = Runtime((50,), ("u+p+hop1+hop2",), "A", solvers, repeats=1, peers=False)
    greedy, refined = measure(plan)
    assert refined["energy"] <= greedy["energy"]
