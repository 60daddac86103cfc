"""`policrf reproduce all --preset quick`: every kind of cell and figure, once; and after kills."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.vision.builders import call

from policrf.bench.reproduce.store import RESULT

TABLES = ("table1", "table2", "table3", "table4", "figures", "robustness", "claims")
PICTURES = (
    "rewards", "embeddings", "policy", "potentials", "cases-success", "cases-failure",
    "learners-success", "learners-failure", "curves-dqn", "curves-mcts", "robustness",
)  # fmt: skip
pytest.importorskip("sklearn", reason="t-SNE needs scikit-learn (policrf[figures])")


def arguments(work: Path, out: Path, target: str = "all", jobs: int = 1) -> list[str]:
    return [
        "reproduce", target, "--preset", "quick", "--work", str(work), "--out", str(out),
        "--jobs", str(jobs),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("quick")
    assert call(arguments(root / "work", root / "out")) == 0
    return root


def test_every_table_and_figure_is_there(made):
    out = made / "out"
    for name in TABLES:
        text = (out / f"{name}.md").read_text()
        assert "preset quick" in text
        assert "not run (" not in text
        assert (out / f"{name}.tex").read_text().count(r"\begin{table}") == text.count("### ")
    for name in PICTURES:
        assert (out / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    assert (out / "energy-scenes-20.u+p+hop1+hop2.yaml").is_file()


def test_every_kind_of_cell_was_run(made):
    names = [path.parent.name for path in (made / "work" / "cells").glob(f"*/{RESULT}")]
    kinds = {name.split("-")[0] for name in names}
    assert kinds == {"prepare", "calibrate", "train", "score", "time", "figure"}


def test_solvers_are_held_against_proven_minima(made):
    rows = (made / "out" / "table2-5.csv").read_text().splitlines()
    gaps = {row.split(",")[0]: row.split(",")[1:] for row in rows}
    assert [float(gap) for gap in gaps["exact"]] == pytest.approx([0.0] * 4, abs=1e-6)
    assert all(float(gap) > -1e-6 for gap in gaps["refine"] if gap)


def test_finished_cells_are_not_run_again_and_lost_ones_are(made, capsys):
    cells = made / "work" / "cells"
    before = {path: path.stat().st_mtime_ns for path in cells.glob(f"*/{RESULT}")}
    lost = next(path for path in before if "score" in path.parent.name)
    table = (made / "out" / "table2.md").read_text()
    lost.unlink()
    assert call(arguments(made / "work", made / "again", "table2")) == 0
    after = {path: path.stat().st_mtime_ns for path in cells.glob(f"*/{RESULT}")}
    assert {path for path in after if after[path] != before[path]} == {lost}
    again = (made / "again" / "table2.md").read_text()
    assert again.split("###", 1)[1] == table.split("###", 1)[1]


def test_a_damaged_cell_is_named_and_says_what_to_do(made, capsys):
    damaged = next((made / "work" / "cells").glob(f"score-scenes-20-u-unary-*/{RESULT}"))
    whole = damaged.read_text()
    damaged.write_text(whole[: len(whole) // 2])
    assert call(arguments(made / "work", made / "again", "table2")) == 2
    said = capsys.readouterr().err
    assert damaged.parent.name in said
    assert "delete it" in said
    assert "Traceback" not in said
    damaged.write_text(whole)


def test_a_plan_runs_nothing(tmp_path, capsys):
    plan = [*arguments(tmp_path / "work", tmp_path / "out"), "--plan"]
    assert call(plan) == 0
    told = capsys.readouterr().out
    assert "to run" in told
    assert "cells to run, about" in told
    assert not (tmp_path / "work").exists()
    assert not (tmp_path / "out").exists()


def test_cells_that_were_not_run_say_so(tmp_path, capsys):
    asked = ["reproduce", "table2", "--preset", "paper", "--data-sets", "voc", "--sizes", "50",
             "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]  # fmt: skip
    assert call(asked) == 0
    text = (tmp_path / "out" / "table2.md").read_text()
    assert "| DQN R2 | not run (about" in text
    assert "| DQN R2 (paper's figure) | 88.59 | 87.91 | 89.55 | 90.05 |" in text


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["table9"], "there is no 'table9'"),
        (["all", "--preset", "theirs"], "there is no preset 'theirs'"),
        (["all", "--jobs", "0"], "jobs is 0"),
        (["all", "--preset", "quick", "--data-sets", "mots"], "the preset quick has no data set"),
        (["all", "--data", "no-such-folder"], "--data no-such-folder has no voc"),
    ],
)
def test_mistakes_are_one_sentence(more, sentence, tmp_path, capsys):
    assert call(["reproduce", *more, "--work", str(tmp_path / "w")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_kills_at_random_moments_leave_the_same_tables(made, tmp_path):
    """Ten kills of two processes, then to the end: as one process that nobody disturbed."""
    asked = arguments(tmp_path / "work", tmp_path / "out", jobs=2)
    command = [sys.executable, "-m", "policrf", *asked]
    rng, environment = np.random.default_rng(0), os.environ | {"PYTHONHASHSEED": "0"}
    for _ in range(10):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
            start_new_session=True,
        )  # fmt: skip
        time.sleep(rng.uniform(2, 10))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    for name in ("table1", "table2", "table3", "robustness", "figures"):
        whole, killed = ((r / f"{name}.md").read_text() for r in (made / "out", tmp_path / "out"))
        assert killed.split("###", 1)[1] == whole.split("###", 1)[1]


def test_a_policy_says_under_which_weights_it_was_learned(made):
    from policrf.policy.checkpoint import load_policy
    from policrf.vision.energy.weights import Energy

    cells = made / "work" / "cells"
    run = next(cells.glob("train-scenes-20-u+p+hop1+hop2-DQN-R1-seed-0-*"))
    weights = load_policy(run / "run" / "last.safetensors").energy["weights"]
    chosen = Energy.load(made / "out" / "energy-scenes-20.u+p+hop1+hop2.yaml").as_dict()
    assert {name: value for name, value in weights.items() if value != "inf"} == {
        name: value for name, value in chosen.items() if value != float("inf")
    }
