"""Models of others: what is listed, measured apart, resumed, and judged."""

import json
import math
import signal

import numpy as np
import pytest

import policrf as pc
from policrf.bench.foreign.grid import ForeignGrid, Model, list_models, rows_of
from policrf.bench.foreign.plain_toulbar2 import solve_plainly
from policrf.bench.foreign.run import count_missing, run_foreign
from policrf.bench.foreign.tables import all_tables, judge
from policrf.bench.result_log import ResultLog
from policrf.cli.bench import Foreign
from policrf.cli.bench import run as run_command
from policrf.errors import InvalidFile, InvalidOption
from policrf.testing import random_crf

GRID = ForeignGrid(seconds=4, solvers=("icm", "exact"))


@pytest.fixture
def folder(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    best = {}
    for seed, name in enumerate(["a.uai", "b.cfn.gz"]):
        crf = random_crf(seed, n_nodes=7, groups=("potts", "tables"))
        pc.write(crf, models / name)
        energy = pc.solve(pc.read(models / name), "exact").energy
        best[name] = {"energy": energy, "family": "random", "proven": True, "origin_path": "here"}
    (models / "best.json").write_text(json.dumps(best))
    return models


def test_every_model_is_solved_in_a_process_and_a_killed_run_goes_on(tmp_path, folder):
    out, seen = tmp_path / "out", []
    assert count_missing(GRID, folder, out) == 4
    results = run_foreign(GRID, folder, out, seen.append)
    assert seen == results
    for result in results:
        assert result["peak_mb"] > 10
        assert 0 < result["wall_seconds"] < 10
        assert result["proven"] == (result["row"] == "exact")
    log = out / "results.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:-1]) + lines[-1][:10])
    assert count_missing(GRID, folder, out) == 1
    settings = {"seconds": GRID.seconds, "clock": GRID.clock, "seed": GRID.seed}
    killed = {"model": "b.cfn.gz", "row": "exact", "failed": "killed"}
    ResultLog(out, settings).append(killed)
    assert count_missing(GRID, folder, out) == 1  # what failed is tried again
    assert len(run_foreign(GRID, folder, out, seen.append)) == 4
    tables = all_tables(GRID, list_models(folder), results)
    summary = {row["solver"]: row for row in tables[0].records()}
    assert summary["exact"]["best known reached"] == 2
    assert summary["exact"]["proven"] == 2
    assert summary["exact"]["false proofs"] == summary["exact"]["wrong bounds"] == 0


def test_seconds_may_be_cpu_seconds(tmp_path, folder):
    grid = ForeignGrid(seconds=0.3, solvers=("annealing",), models=("a",), clock="cpu")
    (result,) = run_foreign(grid, folder, tmp_path / "out", lambda result: None)
    assert 0.2 < result["cpu_seconds"] < 0.9
    assert result["wall_seconds"] >= 0.9 * result["cpu_seconds"]


def test_the_command_writes_tables_without_the_folders_of_a_machine(tmp_path, folder, capsys):
    out = tmp_path / "out"
    run_command(Foreign(seconds=0.3, solvers=("icm",), models=("a",), folder=folder, out=out))
    assert "Models of others" in capsys.readouterr().out
    written = (out / "foreign.json").read_text()
    assert str(tmp_path) not in written
    assert json.loads(written)["config"]["folder"] == "models"
    assert "a.uai" in (out / "foreign.md").read_text()


def test_false_claims_are_seen():
    model = Model("m", None, "f", best=-10.0, proven=False, origin="")
    lie = judge(model, {"row": "x", "model": "m", "energy": -9.0, "bound": -9.5, "proven": True})
    assert lie["false_proof"]
    assert lie["wrong_bound"]
    assert lie["gap"] == pytest.approx(0.1)
    honest = judge(model, {"row": "x", "model": "m", "energy": "inf", "bound": None})
    assert not honest["false_proof"]
    assert not honest["wrong_bound"]
    assert honest["gap"] == math.inf
    assert judge(model, {"row": "x", "model": "m", "failed": "killed"})["ran"] is False


@pytest.mark.parametrize(
    ("best", "says"),
    [
        ("[]", "an object with an entry"),
        ('{"a.uai": {"energy": null}}', "a.uai.energy must be a finite number"),
        ('{"none.uai": {"energy": 1}}', "best.json lists it"),
        ("{", "not a readable JSON file"),
    ],
)
def test_a_damaged_list_of_models_is_explained(folder, best, says):
    (folder / "best.json").write_text(best)
    with pytest.raises(InvalidFile, match=says):
        list_models(folder)


def test_mistakes_are_explained(tmp_path, folder):
    with pytest.raises(InvalidFile, match="it lists the models"):
        list_models(tmp_path)
    with pytest.raises(InvalidOption, match="begins with 'z'"):
        list_models(folder, ("z",))
    with pytest.raises(InvalidOption, match="seconds must be above 0"):
        rows_of(ForeignGrid(seconds=0))
    count_missing(GRID, folder, tmp_path / "out")
    with pytest.raises(InvalidFile, match="other seconds, clock, seed than now"):
        count_missing(ForeignGrid(seconds=1), folder, tmp_path / "out")


def test_plain_toulbar2_finds_and_proves_the_minimum():
    pytest.importorskip("pytoulbar2", reason="toulbar2 is not installed")
    for seed in range(10):
        crf = random_crf(seed, n_nodes=6, groups=("potts", "tables"), forbidden=0.2)
        wanted = pc.solve(crf, "brute_force").energy
        found = solve_plainly(crf, 5, seed)
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0.0
        energy = np.inf if found["labels"] is None else crf.energy(found["labels"])
        assert energy == pytest.approx(wanted, abs=1e-5)
        if np.isfinite(wanted):
            assert found["proven"]
            assert found["bound"] <= wanted + 1e-9
