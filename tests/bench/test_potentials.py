"""The benchmark of hard potentials: its cells, resuming, tables and pictures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from policrf.bench import potentials
from policrf.bench.potential_tables import COLUMNS, all_figures, draw, summarise, tabulate
from policrf.bench.potentials import PotentialGrid, lowest_energies, missing_tasks, run_potentials
from policrf.cli.bench import Potentials
from policrf.cli.bench import run as run_command
from policrf.errors import InvalidFile, InvalidOption, UnknownName

SMALL = PotentialGrid(
    families=("parity", "order"),
    sizes=(16,),
    labels=3,
    seeds=2,
    budgets=(1.0, 50.0),
    solvers=("icm", "highest_confidence_first"),
    references=("icm",),
    reference_budget=100.0,
)


def test_every_cell_is_measured_once(tmp_path):
    seen = []
    results = run_potentials(SMALL, tmp_path, seen.append)
    assert seen == results
    assert len(results) == 2 * 2 * (2 * 2 + 1)
    assert all(result["calls"] > 0 for result in results)
    assert all(result["cpu_seconds"] > 0 for result in results)


def test_a_killed_run_goes_on(tmp_path):
    first = run_potentials(SMALL, tmp_path, lambda result: None)
    log = tmp_path / "results.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:-3]) + lines[-3][:20])
    assert missing_tasks(SMALL, tmp_path) == 3
    again = []
    results = run_potentials(SMALL, tmp_path, again.append)
    assert len(again) == 3
    assert results[:-3] == first[:-3]
    assert len(log.read_text().splitlines()) == len(lines)
    more = replace(SMALL, solvers=(*SMALL.solvers, "unary"))
    assert missing_tasks(more, tmp_path) == 2 * 2 * 2
    with pytest.raises(InvalidFile, match="other labels than now"):
        run_potentials(replace(SMALL, labels=4), tmp_path, lambda result: None)


def test_a_disturbed_solve_is_measured_again(monkeypatch):
    shares = iter([0.3, 0.95, 1.0])

    def measured(*_):
        share = next(shares)
        return {"energy": share, "wall_seconds": 1.0, "cpu_seconds": share}

    monkeypatch.setattr(potentials, "measure", measured)
    task = {"row": "icm", "budget": 1.0}
    assert potentials._undisturbed(None, task, tries=3)["energy"] == 0.95
    assert next(shares) == 1.0  # an undisturbed one is not


def result(row, seed, energy, budget=1.0):
    return {
        "family": "parity", "n": 16, "seed": seed, "row": row, "budget": budget, "energy": energy,
        "calls": 10, "wall_seconds": 0.2, "cpu_seconds": 0.1,
    }  # fmt: skip


def test_gaps_are_to_the_lowest_energy_of_the_instance():
    results = [result("icm", 0, 12.0), result("icm", 1, 20.0), result("icm", 0, 10.0, 100.0)]
    refused = {"family": "parity", "n": 16, "seed": 0, "row": "exact", "budget": 1.0, "refused": ""}
    assert lowest_energies([*results, refused]) == {
        ("parity", 16, 0): 10.0, ("parity", 16, 1): 20.0,
    }  # fmt: skip
    cells = summarise([*results, refused])
    assert set(cells) == {("parity", 16, "icm", 1.0), ("parity", 16, "icm", 100.0)}
    assert cells["parity", 16, "icm", 1.0]["gap_percent"] == pytest.approx(10.0)
    assert cells["parity", 16, "icm", 1.0]["energy"] == 16.0
    grid = replace(SMALL, families=("parity",))
    grid = replace(grid, solvers=("icm", "exact"))
    (people,) = tabulate([*results, refused], grid)
    assert people.rows == (("icm", "16.0 / 10.0 / 10", None), ("exact", "refused", "refused"))
    assert "solves had 50 % of a core" in people.note
    programs = all_figures([*results, refused])
    assert programs.columns == COLUMNS
    assert len(programs.rows) == 2


def test_the_command_writes_tables_and_pictures(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    fields = {name: getattr(SMALL, name) for name in PotentialGrid.__dataclass_fields__}
    run_command(Potentials(**fields, out=tmp_path, json=True))
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [table["title"].split(":")[0] for table in printed] == ["parity", "order"]
    assert [row["solver"] for row in printed[0]["rows"]] == list(SMALL.solvers)
    assert "wall time of one thread" in printed[0]["note"]
    names = {path.name for path in tmp_path.iterdir()}
    assert {
        "potentials.md",
        "potentials.json",
        "potentials-2.csv",
        "potentials-figures.csv",
        "grid.json",
    } <= names
    saved = json.loads((tmp_path / "potentials.json").read_text())
    assert saved["config"]["budgets"] == [1.0, 50.0]
    for family in SMALL.families:
        assert (tmp_path / f"potentials-{family}.png").read_bytes().startswith(b"\x89PNG")
    assert draw([], SMALL, tmp_path) == []


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"families": ("potts",)}, UnknownName, "no family of potentials is called 'potts'"),
        ({"solvers": ("magic",)}, UnknownName, "no solver is called 'magic'"),
        ({"budgets": (0.0,)}, InvalidOption, "above 0"),
        ({"tries": 0}, InvalidOption, "tries must be 1 or more"),
    ],
)
def test_wrong_options(tmp_path, change, error, message):
    with pytest.raises(error, match=message):
        run_potentials(replace(SMALL, **change), tmp_path / "new", lambda result: None)
    assert not (tmp_path / "new").exists()
