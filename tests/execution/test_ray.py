"""The same commands on a two-node cluster give the same bytes; only measured times differ."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from tests.execution.slow_data import files_of
from tests.vision.builders import LABELS, write_scene_folder

import policrf as pc
from policrf.cli import main

pytestmark = pytest.mark.slow
TIMES = ("seconds", "cpu_seconds", "pixel_cpu_seconds", "checksum")


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    assert ended.value.code == 0


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Prepared scenes, and the arguments that made them."""
    folder = tmp_path_factory.mktemp("data")
    made = write_scene_folder(folder, 34)
    arguments = ["prepare", "folder", "--root", made["root"], "--masks", made["masks"],
                 "--scores", made["scores"], "--score-kind", "probabilities",
                 "--labels", folder / "labels.names", "--superpixels", 40, "--components", 2,
                 "--detections", folder / "detections.json",
                 "--categories", folder / "categories.names"]  # fmt: skip
    run(*arguments, "--out", folder / "local", "--jobs", 1)
    return folder / "local", arguments


def test_prepare_gives_the_same_bytes(prepared, cluster, tmp_path):
    local, arguments = prepared
    run(*arguments, "--out", tmp_path / "ray", "--ray", cluster.address)
    assert files_of(tmp_path / "ray") == files_of(local)


def test_calibrate_gives_the_same_bytes(prepared, cluster, tmp_path):
    asked = ["calibrate", prepared[0], "--gates", "contrast", "--solver", "icm", "--images", 12]
    for name, where in {"here": ["--jobs", 1], "there": ["--ray", cluster.address]}.items():
        (tmp_path / name).mkdir()
        run(*asked, "--out", tmp_path / name / "energy.yaml", *where)
    assert "energy.yaml" in files_of(tmp_path / "here")
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here")


def test_evaluate_gives_the_same_results_but_for_times(prepared, cluster, tmp_path):
    asked = ["evaluate", prepared[0], "--solvers", "unary", "icm", "untrained", "alpha_expansion"]
    for name, where in {"here": ["--jobs", 1], "there": ["--ray", cluster.address]}.items():
        run(*asked, "--out", tmp_path / name, *where)
    here, there = (_lines(tmp_path / name / "results.jsonl") for name in ("here", "there"))
    assert len(here) == 34 * 6  # and two references
    assert there == here
    assert (tmp_path / "here" / "config.json").read_bytes() == (
        tmp_path / "there" / "config.json"
    ).read_bytes()


def _lines(path):
    """Every line, without what was measured and without the checksum over it."""
    from policrf.crf.io.checksums import KEY

    found = []
    for line in path.read_text().splitlines():
        values = json.loads(line)
        found.append(json.dumps({k: v for k, v in values.items() if k not in (*TIMES, KEY)}))
    return found


def test_bench_solvers_gives_the_same_energies(cluster, tmp_path):
    asked = ["bench", "solvers", "--sizes", 40, "--seeds", 2, "--solvers", "icm", "unary",
             "--energies", "u+p", "--no-peers"]  # fmt: skip
    run(*asked, "--out", tmp_path / "here")
    run(*asked, "--out", tmp_path / "there", "--ray", cluster.address)
    here, there = (_lines(tmp_path / name / "results.jsonl") for name in ("here", "there"))
    assert here == there
    assert len(here) == 8


def test_solve_many_takes_functions_of_ones_own(executor):
    def at_most_two(labels, parameters):
        return parameters[0] * max(0, len(set(labels.tolist())) - 2)

    rng = np.random.default_rng(0)
    crfs = [
        pc.CRF(rng.random((5, 4)), pc.Custom([[0, 1, 2, 3, 4]], at_most_two, [[5.0]]))
        for _ in range(4)
    ]
    found = pc.solve_many(crfs, "brute_force", executor=executor)
    for crf, solution in zip(crfs, found, strict=True):
        alone = pc.solve(crf, "brute_force")
        assert solution.energy == alone.energy
        np.testing.assert_array_equal(solution.labels, alone.labels)


def test_prepared_instances_are_read_by_the_workers(prepared, executor):
    instances = pc.load_instances(str(prepared[0]))
    found = pc.solve_many(instances, "icm", executor=executor)
    assert [one.energy for one in found] == [pc.solve(i, "icm").energy for i in instances]
    assert instances[0].crf.n_labels == len(LABELS)


def test_reproduce_runs_its_cells_on_the_cluster(cluster, tmp_path):
    asked = ["reproduce", "table1", "--preset", "quick"]
    for name, where in {"here": ["--jobs", 1], "there": ["--ray", cluster.address]}.items():
        run(*asked, "--work", tmp_path / f"{name}-work", "--out", tmp_path / name, *where)
    results = [
        {
            path.parent.name: json.loads(path.read_text())["result"]
            for path in (tmp_path / f"{name}-work" / "cells").glob("*/cell.json")
        }
        for name in ("here", "there")
    ]
    assert results[0].keys() == results[1].keys()
    for name, result in results[0].items():
        if not name.startswith("time"):
            assert _without_times(results[1][name]) == _without_times(result), name


def _without_times(result):
    if isinstance(result, dict):
        return {k: _without_times(v) for k, v in result.items() if "seconds" not in k}
    return result


def test_nobody_listens_beyond_loopback(executor):
    assert executor.workers == 2
    said = subprocess.run(["ss", "-ltnp"], capture_output=True, text=True)
    if said.returncode != 0:
        pytest.skip("ss is not installed")
    lines = [line for line in said.stdout.splitlines() if "ray" in line or "gcs_server" in line]
    assert lines
    assert all("127.0.0.1" in line.split()[3] for line in lines), lines
