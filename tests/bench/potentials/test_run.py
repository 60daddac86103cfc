"""The benchmark of hard potentials: its cells, resuming, and what stands without a solve."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.bench.potentials.builders import SMALL

from policrf.bench.potentials import run
from policrf.bench.potentials.grid import PotentialGrid, check_grid, left_out, tasks
from policrf.bench.potentials.run import plan, run_potentials
from policrf.cli.bench import Potentials
from policrf.cli.bench import run as run_command
from policrf.errors import InvalidFile, InvalidOption, UnknownName


def ignore(_):
    pass


def test_every_cell_is_measured_once(tmp_path):
    seen = []
    results = run_potentials(SMALL, tmp_path, seen.append)
    assert seen == results
    assert len(results) == 2 * 2 * (2 * 2 + 1)
    assert all(result["calls"] > 0 for result in results)
    assert all(result["wall_seconds"] > 0 for result in results)
    assert all(result["cpu_seconds"] > 0 for result in results)


def test_a_killed_run_goes_on(tmp_path):
    first = run_potentials(SMALL, tmp_path, ignore)
    log = tmp_path / "results.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:-3]) + lines[-3][:20])
    assert plan(SMALL, tmp_path).solves == 3
    again = []
    results = run_potentials(SMALL, tmp_path, again.append)
    assert len(again) == 3
    assert results[:-3] == first[:-3]
    assert len(log.read_text().splitlines()) == len(lines)
    more = replace(SMALL, solvers=(*SMALL.solvers, "unary"))
    assert plan(more, tmp_path).solves == 2 * 2 * 2
    with pytest.raises(InvalidFile, match="other labels than now"):
        run_potentials(replace(SMALL, labels=4), tmp_path, ignore)


def fake(monkeypatch, **figures):
    """Replace measuring by fixed figures; returns what was measured."""
    measured = []

    def measure(problem, row, budget):
        measured.append((row, budget))
        shown = {"energy": 1.0, "proven": False, "calls": 1, "stopped": False}
        return shown | {"wall_seconds": 1.0, "cpu_seconds": 1.0} | figures

    monkeypatch.setattr(run, "measure", measure)
    monkeypatch.setattr(run, "warm_up", lambda grid, missing: None)
    return measured


ONE = replace(SMALL, families=("parity",), seeds=(1,), solvers=("icm",), budgets=(1.0, 10.0, 100.0))


def test_a_solver_that_stopped_stands_at_larger_budgets(tmp_path, monkeypatch):
    measured = fake(monkeypatch, stopped=True)
    results = run_potentials(ONE, tmp_path, ignore)
    assert measured == [("icm", 1.0), ("unary", 200.0)]
    assert [bool(result.get("stands")) for result in results] == [False, True, True, False]
    assert {result["energy"] for result in results} == {1.0}


def test_an_anytime_solver_gets_every_budget(tmp_path, monkeypatch):
    measured = fake(monkeypatch)
    run_potentials(ONE, tmp_path, ignore)
    assert measured == [("icm", 1.0), ("icm", 10.0), ("icm", 100.0), ("unary", 200.0)]


def test_no_long_run_after_a_proof(tmp_path, monkeypatch):
    measured = fake(monkeypatch, proven=True)
    results = run_potentials(ONE, tmp_path, ignore)
    assert ("unary", 200.0) not in measured
    assert "left_out" in results[-1]


def test_a_refusal_is_not_asked_for_again(tmp_path):
    grid = replace(ONE, families=("label_cost",), sizes=(30,), solvers=("belief_propagation",))
    results = run_potentials(grid, tmp_path, ignore)
    assert ["refused" in result for result in results] == [True, True, True, False]


def test_large_crfs_get_small_budgets_and_no_long_runs():
    grid = replace(ONE, sizes=(16, 90), seeds=(2, 1), large=80, reference_nodes=16)
    found = [(task["n"], task["seed"], task["row"], task["budget"]) for task in tasks(grid)]
    assert [task[1:] for task in found if task[0] == 90] == [(0, "icm", 1.0), (0, "icm", 10.0)]
    assert sum(task[0] == 16 for task in found) == 2 * 4


def test_families_without_data_are_left_out_with_the_reason():
    grid = PotentialGrid(families=("parity", "superpixels"))
    assert "--data names no folder" in left_out(grid)["superpixels"]
    assert {task["family"] for task in tasks(grid)} == {"parity"}


def test_the_plan_counts_what_anytime_rows_are_given(tmp_path):
    grid = replace(ONE, solvers=("icm", "annealing"), reference_factor=0.0, sizes=(144,))
    left = plan(grid, tmp_path)
    assert left.solves == 6
    assert left.seconds == pytest.approx(0.111)


def test_the_command_writes_tables_and_pictures(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    fields = {name: getattr(SMALL, name) for name in PotentialGrid.__dataclass_fields__}
    run_command(Potentials(**fields, out=tmp_path, json=True))
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    titles = [table["title"].split(":")[0] for table in printed]
    assert titles[-2:] == ["parity", "order"]
    assert [row["solver"] for row in printed[-1]["rows"]] == list(SMALL.solvers)
    names = {path.name for path in tmp_path.iterdir()}
    assert {
        "potentials.md", "potentials.json", "potentials-2.csv", "potentials-figures.csv",
        "grid.json", "potentials-parity.png", "potentials-order.png",
    } <= names  # fmt: skip
    saved = json.loads((tmp_path / "potentials.json").read_text())
    assert saved["config"]["budgets"] == [1.0, 50.0]
    assert (tmp_path / "potentials-parity.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_says_what_is_left(tmp_path, capsys):
    fields = {name: getattr(SMALL, name) for name in PotentialGrid.__dataclass_fields__}
    run_command(Potentials(**fields, out=tmp_path, json=True, plan=True))
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["solves"] == 20
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"families": ("potts",)}, UnknownName, "no family of potentials is called 'potts'"),
        ({"solvers": ("magic",)}, UnknownName, "no solver is called 'magic'"),
        ({"solvers": ("icm + magic",)}, UnknownName, "no solver is called 'magic'"),
        ({"budgets": (0.0,)}, InvalidOption, "above 0"),
        ({"seeds": ()}, InvalidOption, "give one or more"),
    ],
)
def test_wrong_options(change, error, message):
    with pytest.raises(error, match=message):
        check_grid(replace(SMALL, **change))
