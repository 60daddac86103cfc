"""`policrf bench large`: a small grid, what was promised, peers, and going on after a kill."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from policrf.bench.large import threads
from policrf.bench.large.bars import bars, by_family
from policrf.bench.large.figures import Figures
from policrf.bench.large.graph_network import graph_network
from policrf.bench.large.grid import FieldSpec, LargeGrid, check_grid, tasks
from policrf.bench.large.growth import measure_growth
from policrf.bench.large.plain_annealing import plain_annealing
from policrf.bench.large.run import plan, run_large
from policrf.bench.large.tables import draw, tables
from policrf.bench.large.toulbar2_peer import toulbar2
from policrf.bench.potentials.measure import cpu_budgets
from policrf.errors import InvalidOption
from policrf.scenes import make_frustrated
from policrf.testing.reference import reference_minimum

SMALL = LargeGrid(
    fields=("random:60:4:3", "ising:49:4:2"), seeds=2, budgets=(0.02, 0.05),
    solvers=("auto", "icm", "plain_annealing"),
)  # fmt: skip


def test_a_run_goes_on_after_a_kill(tmp_path):
    seen = []
    assert plan(SMALL, tmp_path).solves == 24
    results = run_large(SMALL, tmp_path, seen.append)
    assert len(results) == len(seen) == 24
    path = tmp_path / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:20])
    assert plan(SMALL, tmp_path).solves == 1
    assert len(run_large(SMALL, tmp_path, seen.append)) == 24
    assert len(seen) == 25
    found = tables(results, SMALL)
    assert [table.title for table in found] == [
        "Bars", "Families", "What was run", *SMALL.fields,
    ]  # fmt: skip
    assert found[2].rows[0] == ("random:60:4:3", "6 of 6", "6 of 6")
    assert {path.name for path in draw(results, tmp_path)} == {
        "large-random.png",
        "large-ising.png",
    }
    energy = json.loads(lines[0])["energy"]
    assert energy >= Figures(results).lowest["random:60:4:3", 0]


def test_bars_say_where_auto_is_above():
    def result(row, budget, energy):
        field = "random:1000:8:4"
        return {"field": field, "seed": 0, "row": row, "budget": budget, "energy": energy}

    rows = [
        ("auto", 1.0, -99.0),
        ("icm", 1.0, -100.0),
        ("auto", 10.0, -101.0),
        ("icm", 10.0, -101.0),
    ]
    results = [result(*row) for row in [*rows, ("plain_annealing", 10.0, -100.0)]]
    table = bars(Figures(results))
    assert table.rows == (("random:1000:8:4", "1.000 % above icm", "yes", "1.00"),)
    assert "in 1 of 2 fields and budgets" in table.note
    assert "in 1 of 1 fields" in table.note


def test_families_are_compared_crf_by_crf_with_their_closest_row():
    energies = {"auto": (-101.0, -50.5), "icm": (-100.0, -50.0), "refine": (-101.0, -49.0)}
    fields = ("random:1000:8:4", "random:1000:4:4")
    results = [
        {"field": field, "seed": 0, "row": row, "budget": 1.0, "energy": energy}
        for row, found in energies.items()
        for field, energy in zip(fields, found, strict=True)
    ]
    late = {"field": fields[0], "seed": 0, "row": "lns", "budget": 1.0, "energy": -200.0}
    table = by_family(Figures([*results, late | {"cpu_seconds": 2.0}]))
    assert table.rows == (("random", "-1.000 ± 0.000 (icm, 2 CRFs)"),)


def test_peers_reach_small_minima():
    crf = make_frustrated("third_order", 9, 2, degree=3, seed=1)
    least = reference_minimum(crf)
    plain_annealing(crf, 0.01, 0)  # its kernel is loaded
    with cpu_budgets(100):
        assert crf.energy(plain_annealing(crf, 0.3, 0)) == pytest.approx(least)
    pytest.importorskip("torch")
    mixed = make_frustrated("glass", 40, 3, degree=4, seed=1)
    with cpu_budgets(100):
        labels = graph_network(mixed, 1.0, 0)
    assert mixed.energy(labels) < mixed.energy(np.argmin(mixed.unary, axis=1))


@pytest.mark.parametrize("vns", [False, True])
def test_toulbar2_answers_in_a_process_of_its_own(vns):
    pytest.importorskip("pytoulbar2")
    crf = make_frustrated("glass", 10, 3, degree=3, seed=1)
    labels = toulbar2(crf, 2, 0, vns)
    assert crf.energy(labels) == pytest.approx(reference_minimum(crf), abs=1e-4)


def test_fields_are_read_and_refused():
    assert FieldSpec.parse("grid:400:4:3") == ("grid", 400, 4.0, 3)
    for text in ("grid:400", "smooth:10:4:2", "grid:a:4:2"):
        with pytest.raises(InvalidOption, match="field"):
            check_grid(LargeGrid(fields=(text,)))
    with pytest.raises(InvalidOption, match="budgets"):
        check_grid(LargeGrid(budgets=()))
    long = [task for task in tasks(LargeGrid()) if task["row"] == "toulbar2"]
    assert {task["budget"] for task in long} == {10.0}


def test_threads_are_compared(monkeypatch):
    monkeypatch.setattr(threads, "FIELDS", (("glass", 100),))
    table = threads.measure_threads(1, 8000, lambda field: None)
    (row,) = table.records()
    assert (row["field"], row["sweeps"]) == ("glass:100:8", 8000)
    assert row["wall_ratio"] == row["seconds_one"] / row["seconds_many"]
    assert row["cpu_ratio"] > 0


def test_what_was_not_run_is_said(tmp_path):
    few = replace(SMALL, fields=SMALL.fields[:1], seeds=1, budgets=(0.02,))
    run_large(few, tmp_path, lambda result: None)
    results = run_large(SMALL, tmp_path, lambda result: None, minutes=0)
    assert len(results) == 3
    _, _, run, field = tables(results, SMALL)
    assert run.rows == (
        ("random:60:4:3", "3 of 6", "not run"),
        ("ising:49:4:2", "not run", "not run"),
    )
    assert all(row[2] == "not run" for row in field.rows)


def test_proofs_threads_and_who_is_late_are_compared_with_nobody():
    def result(row, energy, **more):
        field = "ising:49:4:2"
        return {"field": field, "seed": 0, "row": row, "budget": 1.0, "energy": energy} | more

    figures = Figures(
        [
            result("auto", -9.0),
            result("matching", -10.0, proven=True),
            result("annealing:threads=2", -9.5),
            result("icm", -8.0),
            result("refine", -9.6, cpu_seconds=1.3),
        ]
    )
    assert figures.gap(("ising:49:4:2", "refine", 1.0)) == "4.00 (late)"
    assert bars(figures).rows == (("ising:49:4:2", "yes", None),)
    assert figures.gap(("ising:49:4:2", "auto", 1.0)) == "10.00"
    assert figures.proven == {("ising:49:4:2", 0)}


def test_growth_is_measured():
    seen = []
    table = measure_growth([100, 400], seen.append)
    assert seen == ["N=100", "N=400"]
    for row in table.records():
        assert row["hot_sweep_seconds"] > 0
        assert 1 < row["memory_ratio"] < 3
    model = [row["model_mb"] for row in table.records()]
    assert 3.5 < model[1] / model[0] < 4.5
