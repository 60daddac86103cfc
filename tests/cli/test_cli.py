"""The command line as a user meets it: answers, exit codes, one sentence for a mistake."""

import json
import subprocess
import sys

import numpy as np
import pytest

import policrf as pc
from policrf.bench.story import potential
from policrf.cli import main
from policrf.cli.commands import COMMANDS
from policrf.testing import random_crf


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.uai"
    pc.write_uai(random_crf(1, n_nodes=5, groups=("potts",)), path)
    return path


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from policrf.cli import _main; _main(['--help'])\n"
        "heavy = {'torch', 'cv2', 'skimage', 'numba', 'tyro', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"  {name}" in done.stdout for name in COMMANDS)


def test_every_command_has_help(capsys):
    for name in COMMANDS:
        assert call(name, "--help") == 0
        assert "usage: policrf" in capsys.readouterr().out


def test_version(capsys):
    assert call("--version") == 0
    assert capsys.readouterr().out.strip() == f"policrf {pc.__version__}"


def test_solve_writes_labels_and_reports_their_energy(model, tmp_path, capsys):
    out = tmp_path / "labels.npy"
    assert call("solve", model, "--solver", "brute_force", "--json", "--out", out) == 0
    report = json.loads(capsys.readouterr().out)
    crf = pc.read_uai(model)
    assert report["energy"] == pytest.approx(crf.energy(np.load(out)))
    assert report["optimal"] is True
    assert report["lower_bound"] == pytest.approx(report["energy"])
    assert sum(report["terms"].values()) == pytest.approx(report["energy"])


def test_solve_takes_evidence_and_packed_files_and_writes_mpe(model, tmp_path, capsys):
    packed, out = tmp_path / "model.cfn.xz", tmp_path / "model.MPE"
    pc.write(pc.read_uai(model), packed)
    assert call("solve", packed, "--solver", "brute_force", "--mpe", out) == 0
    assert f"labels written to {out}" in capsys.readouterr().out
    crf = pc.read_uai(model)
    best = pc.read_mpe(crf, out)
    assert crf.energy(best) == pytest.approx(pc.solve(crf, "brute_force").energy)
    (tmp_path / "seen.evid").write_text(f"1 2 {(best[2] + 1) % 3}")
    arguments = ["solve", model, "--solver", "brute_force", "--mpe", out]
    assert call(*arguments, "--evidence", tmp_path / "seen.evid") == 0
    assert pc.read_mpe(crf, out)[2] == (best[2] + 1) % 3
    (tmp_path / "seen.evid").rename(tmp_path / "model.uai.evid")
    assert call(*arguments) == 0
    assert pc.read_mpe(crf, out)[2] == (best[2] + 1) % 3
    assert call(*arguments, "--evidence", "none") == 0
    assert pc.read_mpe(crf, out).tolist() == best.tolist()


def test_solve_draws_the_traces_of_several_solvers(model, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "trace.png"
    assert call("solve", model, "--solver", "icm", "--compare", "unary", "--plot", picture) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert call("solve", model, "--compare", "icm") == 2
    assert "give --plot" in capsys.readouterr().err


def test_solve_starts_from_given_labels(model, tmp_path, capsys):
    start = tmp_path / "start.npy"
    np.save(start, np.zeros(5, np.int64))
    assert call("solve", model, "--solver", "icm", "--initial", start, "--seconds", "0") == 0
    energy = pc.read_uai(model).energy(np.zeros(5, np.int64))
    assert f"energy {energy:.9g}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["solv"], "there is no command 'solv'"),
        (["solve", "nowhere.uai"], "nowhere.uai: there is no such file"),
        (["solve", "{model}.txt"], "ends in .uai, .wcsp, .cfn or .npz"),
        (["solve", "{model}", "--solver", "magic"], "no solver is called 'magic'; there are"),
        (["solve"], "give a model file"),
        (["solve", "{model}", "--solver", "icm:x=1"], "icm has no option 'x'"),
        (["solve", "{model}", "--solver", "icm:x"], "write options as NAME:option=value"),
        (["solve", "{model}", "--solver", "none.safetensors"], "no policy file none.safetensors"),
        (["solve", "{model}", "--solver", "icm", "--seconds", "-1"], "seconds must be a number"),
        (["solve", "{model}", "--solver", "icm", "--potentials", "u+q"], "'q' is unknown"),
        (["solve", "{model}", "--solver", "icm", "--out", "no/where.npy"], "does not exist"),
        (["solve", "{model}", "--solver", "icm", "--initial", "{model}"], "not a NumPy file"),
        (["demo", "--images", "-1"], "--images is -1"),
        (["demo", "--train-seconds", "-1"], "--train-seconds is -1"),
        (["bench", "solvers", "--solvers", "magic"], "no solver is called 'magic'"),
        (["prepare", "holiday", "--root", ".", "--out", "p"], "no dataset is called 'holiday'"),
        (["prepare", "voc", "--root", ".", "--out", "p", "--net", "n", "--limit", "0"], "--limit"),
        (["evaluate", "synthetic:A:20", "--limit", "-1"], "number of instances is -1"),
        (["evaluate", "synthetic:A:20", "--limit", "1", "--compare", "icm", "b"], "--compare b"),
        (["train", "dqn", "--data", "synthetic:A:20", "--width", "0"], "policrf: width is 0;"),
        (["train", "mcts", "--data", "synthetic:A:20", "--rounds", "-1"], "rounds is -1;"),
        (["train", "dqn", "--data", "synthetic:A:20", "--share", "2"], "share is 2.0;"),
        (
            ["train", "dqn", "--data", "synthetic:A:20", "--count", "2", "--out", "{model}/run"],
            "cannot be made",
        ),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    model, tmp_path, capsys, monkeypatch, arguments, says
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert call(*(argument.replace("{model}", str(model)) for argument in arguments)) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith("policrf: ")
    assert says in message
    assert sorted(tmp_path.iterdir()) == before


def test_an_unknown_flag_is_exit_code_2(model, capsys):
    assert call("solve", model, "--sovler", "icm") == 2
    assert "--sovler" in capsys.readouterr().err


def test_the_demo_leaves_a_table_and_a_page(tmp_path, capsys, monkeypatch):
    out = tmp_path / "demo"
    monkeypatch.setattr(potential, "INSTANCES", 20)
    small = ["--images", "1", "--train-seconds", "0.2"]
    assert call("demo", *small, "--out", out, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["grid"]["proven"]
    before, after = report["grid"]["wrong"]
    assert after < 0.1 < before
    ((net, result),) = report["photo"]["iou"]
    assert result > net
    rows = {row["row"]: row for row in report["potential"]["rows"]}
    assert {"untrained", "untrained + refine", "refine"} <= set(rows)
    assert pc.load_policy(out / "policy.safetensors").tuning is not None
    page = (out / "index.html").read_text()
    assert "http" not in page
    saved = json.loads((out / "demo.json").read_text())
    assert saved["config"]["images"] == 1
    assert saved["tables"][0]["rows"] == report["potential"]["rows"]


def test_bench_solvers_resumes(tmp_path, capsys):
    out = tmp_path / "bench"
    arguments = [
        "bench", "solvers", "--sizes", "30", "--seeds", "1", "--solvers", "icm", "exact",
        "--regimes", "A", "--energies", "u+p", "--no-peers", "--out", out,
    ]  # fmt: skip
    assert call(*arguments) == 0
    first = (out / "results.jsonl").read_text()
    assert len(first.splitlines()) == 2
    (out / "results.jsonl").write_text(first + '{"half a line')
    assert call(*arguments) == 0
    assert (out / "results.jsonl").read_text() == first
    assert "| exact | 0.00 / " in (out / "solvers.md").read_text()
    capsys.readouterr()
    assert call(*arguments, "--seconds", "3") == 2
    assert "other seconds, exact_seconds than now" in capsys.readouterr().err


def test_solve_writes_several_solutions(model, tmp_path, capsys):
    out = tmp_path / "labels.npy"
    arguments = ["solve", model, "--solver", "brute_force", "--solutions", "3", "--out", out]
    assert call(*arguments) == 0
    assert "solution 3: energy" in capsys.readouterr().out
    labels, crf = np.load(out), pc.read_uai(model)
    assert labels.shape == (3, 5)
    assert call(*arguments, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    energies = [found["energy"], *(other["energy"] for other in found["others"])]
    assert energies == pytest.approx([crf.energy(row) for row in labels])
    assert energies == sorted(energies)
    assert [other["optimal"] for other in found["others"]] == [True, True]
