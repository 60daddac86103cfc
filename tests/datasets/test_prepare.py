import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from tests.vision.builders import (
    call,
    prepare_arguments,
    recipe,
    record,
    without_truth,
    write_scene_folder,
)

from policrf.datasets.instances import load_prepared
from policrf.datasets.store import SHARD_SIZE, Prepared, shard_path, write_shard
from policrf.datasets.writer import _finish, _start
from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.energy.weights import Energy
from policrf.vision.record import ARRAYS

COUNT = SHARD_SIZE + 5


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    root = tmp_path_factory.mktemp("scenes")
    write_scene_folder(root, COUNT)
    return root


@pytest.fixture(scope="module")
def prepared(scenes, tmp_path_factory):
    out = tmp_path_factory.mktemp("prepared") / "all"
    call(prepare_arguments(scenes, out))
    return out


def contents(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_records_survive_the_store(tmp_path):
    records = [record(seed) for seed in range(3)]
    (tmp_path / "shards").mkdir()
    write_shard(shard_path(tmp_path, 0), records, [("bad", "why")])
    _start(tmp_path, recipe())
    assert _finish(tmp_path, 1)[0] == [record.n_nodes for record in records]
    store = Prepared(tmp_path)
    assert store.names == ["scene0", "scene1", "scene2"]
    for k, original in enumerate(records):
        read = store.record(k)
        assert (read.name, read.height, read.width) == (original.name, 72, 96)
        for name in ARRAYS:
            expected = getattr(original, name)
            np.testing.assert_array_equal(getattr(read, name), expected)
            assert getattr(read, name).shape == expected.shape
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["skipped"] == [{"name": "bad", "reason": "why"}]


def test_records_without_truth_survive_the_store(tmp_path):
    blind = dataclasses.replace(record(0), truth=None, net_confusion=None)
    void = dataclasses.replace(record(1), truth=np.zeros_like(record(1).truth))
    (tmp_path / "shards").mkdir()
    write_shard(shard_path(tmp_path, 0), [blind, void], [])
    _start(tmp_path, recipe())
    _finish(tmp_path, 1)
    store = Prepared(tmp_path)
    assert store.record(0).truth is None
    assert store.record(0).net_confusion is None
    assert store.record(1).truth.sum() == 0


def test_instances_are_lazy_and_take_any_energy(prepared):
    instances = load_prepared(
        prepared, Energy(alpha=0.2, long_range=0, sigma_colour=20), potentials="u+p"
    )
    assert len(instances) == COUNT
    assert instances.names[0] == "scene000"
    first = instances[0]
    again = load_prepared(
        prepared, Energy(alpha=0.4, long_range=0, sigma_colour=20), potentials="u+p"
    )[0]
    np.testing.assert_allclose(
        2 * first.crf.potentials[0].weights, again.crf.potentials[0].weights, rtol=1e-6
    )
    assert len(instances[3:7]) == 4
    assert instances[3:7].names == instances.names[3:7]
    assert instances[-1].source["name"] == f"scene{COUNT - 1:03d}"
    assert len(instances.subset([4, 2])) == 2
    with pytest.raises(IndexError):
        instances[COUNT]
    wide = load_prepared(prepared, features="paper+appearance")[0]
    assert "hypercolumn:2" in wide.feature_names


def test_a_second_run_changes_nothing(scenes, prepared):
    before = contents(prepared)
    assert call(prepare_arguments(scenes, prepared)) == 0
    assert contents(prepared) == before


@pytest.mark.slow
def test_killed_and_resumed_gives_the_same_bytes_on_several_processes(scenes, prepared, tmp_path):
    out = tmp_path / "again"
    arguments = prepare_arguments(scenes, out)
    arguments[arguments.index("--jobs") + 1] = "2"
    process = subprocess.Popen([sys.executable, "-m", "policrf", *arguments])
    first = shard_path(out, 0)
    deadline = time.monotonic() + 120
    while not first.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / "index.json").exists()
    with pytest.raises(InvalidFile, match="not a finished folder"):
        Prepared(out)
    subprocess.run([sys.executable, "-m", "policrf", *arguments], check=True)
    assert contents(out) == contents(prepared)


def test_another_recipe_in_the_same_folder_is_refused(scenes, prepared, capsys):
    arguments = prepare_arguments(scenes, prepared)
    arguments[arguments.index("--superpixels") + 1] = "41"
    assert call(arguments) == 2
    assert "superpixels was 40 and is 41" in capsys.readouterr().err


def test_data_of_another_schema_is_refused_in_one_sentence(scenes, prepared, tmp_path, capsys):
    old = tmp_path / "old"
    shutil.copytree(prepared, old)
    about = json.loads((old / "recipe.json").read_text())
    about["versions"]["schema"] = "1"
    del about["recipe"]["follow_net"], about["sha256"]
    (old / "recipe.json").write_text(json.dumps(about))
    with pytest.raises(InvalidFile, match=r"old: prepared by another version.*prepare .* again"):
        Prepared(old)
    assert call(prepare_arguments(scenes, old)) == 2
    assert "schema 1" in capsys.readouterr().err


def test_the_summary_says_how_many_superpixels_there_are(scenes, prepared, capsys):
    assert call([*prepare_arguments(scenes, prepared), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["superpixels"] == pytest.approx(np.mean(Prepared(prepared).n_nodes))


def test_superpixels_and_long_range_edges_are_options(scenes, tmp_path):
    arguments = prepare_arguments(scenes, tmp_path / "plain")
    assert call([*arguments, "--no-follow-net", "--long-range", "0", "--limit", "2"]) == 0
    store = Prepared(tmp_path / "plain")
    assert (store.recipe.follow_net, store.recipe.long_range) == (False, 0)
    assert len(store.record(0).far_edges) == 0


@pytest.fixture
def spoiled(tmp_path):
    root = tmp_path / "spoiled"
    write_scene_folder(root, 5)
    (root / "images" / "scene000.png").write_bytes(b"")
    Image.fromarray(np.zeros((9, 9), np.uint8)).save(root / "masks" / "scene001.png")
    Image.fromarray(np.full((48, 64), 99, np.uint8)).save(root / "masks" / "scene002.png")
    np.save(root / "scores" / "scene003.npy", np.full((48, 64, 5), np.nan))
    return root


def test_bad_files_are_skipped_and_reported(spoiled, tmp_path, capsys):
    assert call([*prepare_arguments(spoiled, tmp_path / "out"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    reasons = {skip["name"]: skip["reason"] for skip in report["skipped"]}
    assert report["prepared"] == 1
    assert "empty" in reasons["scene000"]
    assert "9×9" in reasons["scene001"]
    assert "value 99" in reasons["scene002"]
    assert "not finite" in reasons["scene003"]
    assert json.loads((tmp_path / "out" / "report.json").read_text())["skipped"] == [
        {"name": name, "reason": reason} for name, reason in reasons.items()
    ]
    assert Prepared(tmp_path / "out").names == ["scene004"]


def test_strict_stops_at_once(spoiled, tmp_path, capsys):
    assert call([*prepare_arguments(spoiled, tmp_path / "out"), "--strict"]) == 2
    error = capsys.readouterr().err
    assert "scene000" in error
    assert error.count("\n") == 1


def test_nothing_usable_is_an_error(spoiled, tmp_path, capsys):
    (spoiled / "images" / "scene004.png").write_bytes(b"")
    assert call(prepare_arguments(spoiled, tmp_path / "out")) == 2
    assert "could be used" in capsys.readouterr().err


def test_images_without_truth(scenes, tmp_path):
    arguments = without_truth(prepare_arguments(scenes, tmp_path / "out"))
    assert call([*arguments, "--limit", "2"]) == 0
    assert load_prepared(tmp_path / "out")[0].truth is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--scores": None}, "--net, --scores or --trackrcnn"),
        ({"--categories": None}, "--categories"),
        ({"--masks": None}, "data set 'images'"),
        ({"--superpixels": "0"}, "superpixels is 0"),
        ({"--root": "/nowhere"}, "no such folder"),
        ({"--threshold": "2"}, "threshold is 2"),
    ],
)
def test_wrong_options(scenes, tmp_path, capsys, changes, message):
    arguments = prepare_arguments(scenes, tmp_path / "out")
    for name, value in changes.items():
        if name in arguments:
            at = arguments.index(name)
            del arguments[at : at + 2]
        if value is not None:
            arguments += [name, value]
    assert call(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    import pyarrow.parquet as parquet

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "ParquetWriter", full)
    with pytest.raises(InvalidFile, match=r"No space left.*goes on from there"):
        write_shard(tmp_path / "part.parquet", [record(0)], [])
    assert list(tmp_path.iterdir()) == []


def test_components_of_the_training_data_are_used(scenes, prepared, tmp_path):
    out = tmp_path / "val"
    assert call([*prepare_arguments(scenes, out), "--like", str(prepared), "--limit", "2"]) == 0
    np.testing.assert_array_equal(
        Prepared(out).reduction().components, Prepared(prepared).reduction().components
    )


def test_a_damaged_index_is_named(prepared, tmp_path):
    with pytest.raises(InvalidFile, match="not a finished folder"):
        load_prepared(tmp_path)
    with pytest.raises(InvalidOption, match="unknown"):
        load_prepared(prepared, potentials="u+q")


def test_opening_reads_no_shard(tmp_path):
    """Ten thousand records without their shards: names are there, a record is missed when read."""
    _start(tmp_path, recipe())
    index = {
        "names": [f"image{k}" for k in range(10_000)],
        "nodes": [250] * 10_000,
        "places": [[k // SHARD_SIZE, k % SHARD_SIZE] for k in range(10_000)],
    }
    (tmp_path / "index.json").write_text(json.dumps(index))
    instances = load_prepared(tmp_path)
    assert instances[5_000:].names[0] == "image5000"
    with pytest.raises(InvalidFile, match=r"part-00312\.parquet"):
        instances[9_999]


def test_two_images_of_one_stem_are_refused(tmp_path, capsys):
    write_scene_folder(tmp_path, 2)
    shutil.copy(tmp_path / "images" / "scene000.png", tmp_path / "images" / "scene001.webp")
    assert call(prepare_arguments(tmp_path, tmp_path / "out")) == 2
    assert "would both be called 'scene001'; rename or move" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
