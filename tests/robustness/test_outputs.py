"""Places that cannot be written to, full disks, and two runs in one folder: one sentence each."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.robustness.builders import commands, start, wait_until
from tests.vision.builders import call, prepared_scenes

import policrf as pc
from policrf.crf.io.files import atomic_write
from policrf.crf.io.outputs import check_output_file, check_output_folder, claimed
from policrf.errors import InUse, InvalidFile


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    root = prepared_scenes(tmp_path_factory.mktemp("scenes"), 3)
    pc.make_scene(20, "A", seed=0).crf.save(root / "model.npz")
    return root


def every_command(scenes, out):
    """Each command with --out, given as the last argument."""
    found = {
        "segment": [
            "segment", str(scenes / "images"), "--scores", str(scenes / "scores"),
            "--recipe", str(scenes / "prepared"), "--solver", "icm", "--out", str(out),
        ],
        "solve": ["solve", str(scenes / "model.npz"), "--solver", "icm", "--out", str(out)],
        "demo": ["demo", "--images", "0", "--train-seconds", "0", "--out", str(out)],
        "bench": ["bench", "energy", "--nodes", "200", "--out", str(out)],
    }  # fmt: skip
    for name, arguments in commands(scenes, out).items():
        given = list(arguments)
        given[given.index("--out") + 1] = str(out)
        found[name] = given
    return found


COMMANDS = (
    "segment", "solve", "demo", "bench", "prepare", "evaluate", "calibrate", "dqn", "mcts",
)  # fmt: skip
FILES = ("solve", "calibrate")  # whose --out is a file


def says(capsys, path):
    """The one sentence on stderr, which names the place."""
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("policrf:")]
    assert "Traceback" not in "".join(lines)
    assert str(path) in lines[-1]
    return lines[-1]


@pytest.mark.parametrize("command", COMMANDS)
def test_out_of_the_wrong_kind(scenes, tmp_path, capsys, command):
    wrong = tmp_path / "there"
    wrong.mkdir() if command in FILES else wrong.write_text("mine")
    assert call(every_command(scenes, wrong)[command]) == 2
    assert "is a folder" in says(capsys, wrong) or command not in FILES
    assert wrong.is_dir() or wrong.read_text() == "mine"
    below = tmp_path / "file" / "below"
    (tmp_path / "file").write_text("mine")
    assert call(every_command(scenes, below)[command]) == 2
    says(capsys, below)


@pytest.mark.parametrize("command", COMMANDS)
def test_out_that_cannot_be_written_to(scenes, tmp_path, capsys, command, monkeypatch):
    def refused(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("policrf.crf.io.outputs.tempfile.TemporaryFile", refused)
    assert call(every_command(scenes, tmp_path / "out")[command]) == 2
    assert "Read-only file system" in says(capsys, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def filling(disk):
    """`solve`, and a disk that is full after it."""

    whole = pc.solve

    def solve(*arguments, **options):
        (disk / "more").write_bytes(b"0" * 4096)
        return whole(*arguments, **options)

    return solve


@pytest.fixture
def small_disk(tmp_path):
    """A file system that is read-write and tiny; for those who may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k,nr_inodes=40", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting takes rights")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "bench"])
def test_a_disk_that_fills_up(scenes, small_disk, capsys, command, monkeypatch):
    out = small_disk / "out"
    arguments = every_command(scenes, out)[command]
    if command in FILES:  # they are small: what else is there fills the disk
        (small_disk / "ballast").write_bytes(b"0" * 8192)
        out.write_bytes(b"0" * 4096)
        before = out.read_bytes()
    if command == "solve":  # room for the check, and none when the labels come
        monkeypatch.setattr("policrf.solvers.solve", filling(small_disk))
    assert call(arguments) == 2
    assert "No space left on device" in says(capsys, small_disk)
    assert not list(small_disk.rglob("*.unfinished"))
    if command in FILES:
        assert out.read_bytes() == before


def test_a_read_only_disk(scenes, small_disk, capsys):
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    assert subprocess.run(remount, capture_output=True).returncode == 0
    for command in COMMANDS:
        assert call(every_command(scenes, small_disk / "out")[command]) == 2
        assert "Read-only file system" in says(capsys, small_disk / "out")


def test_checking_makes_nothing(tmp_path):
    check_output_folder(tmp_path / "a" / "b")
    check_output_file(tmp_path / "file.yaml")
    assert list(tmp_path.iterdir()) == []
    for strange in (tmp_path / ("x" * 300), tmp_path / "a\0b"):
        with pytest.raises(InvalidFile, match="cannot be made"), claimed(strange):
            pass


def test_a_claim_is_for_one_thread_and_may_be_repeated(tmp_path):
    with claimed(tmp_path / "out") as folder, claimed(folder), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(claimed(folder).__enter__)
        assert isinstance(asked.exception(), InUse)
    with claimed(folder):
        assert list(folder.iterdir()) == []


def test_only_what_was_unfinished_is_removed(tmp_path):
    theirs = tmp_path / ".mine"
    theirs.write_text("mine")
    with atomic_write(tmp_path / "x") as file:
        file.write(b"half")
        left = next(path for path in tmp_path.iterdir() if path != theirs)
        shutil.copy(left, left.with_name(".y.123.unfinished"))
    (tmp_path / "x").unlink()
    assert len(list(tmp_path.iterdir())) == 2
    with claimed(tmp_path):
        assert list(tmp_path.iterdir()) == [theirs]


def test_a_long_name_is_written(tmp_path):
    with atomic_write(tmp_path / ("x" * 250)) as file:
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 250]


def test_two_processes_in_one_folder(scenes, tmp_path, capsys):
    for name in ("dqn", "energy", "evaluate", "prepare"):
        arguments = commands(scenes, tmp_path)[name]
        with claimed(tmp_path / {"evaluate": "evaluated", "prepare": "prepared"}.get(name, name)):
            other = start(arguments)
            _, error = other.communicate(timeout=120)
            assert other.returncode == 2, error
            assert "another run is writing there" in error


def test_two_calibrations_of_one_file(scenes, tmp_path):
    from policrf.vision.calibration.journal import Journal

    arguments = commands(scenes, tmp_path)["calibrate"]
    journal = Journal(tmp_path / "energy.journal.jsonl", "another question")
    journal.add(("net", 0), np.ones((1, 2, 2), np.int64))
    before = (tmp_path / "energy.journal.jsonl").read_bytes()
    other = start(arguments)
    _, error = other.communicate(timeout=120)
    assert other.returncode == 2, error
    assert "another run is writing there" in error
    assert (tmp_path / "energy.journal.jsonl").read_bytes() == before
    journal.close()


def test_a_dead_process_leaves_no_lock(scenes, tmp_path):
    arguments = commands(scenes, tmp_path, rounds=100_000)["dqn"]
    first = start(arguments)
    wait_until(lambda: (tmp_path / "dqn" / "checkpoint.safetensors").exists())
    with pytest.raises(InUse), claimed(tmp_path / "dqn"):
        pass
    first.kill()
    first.communicate()
    with claimed(tmp_path / "dqn") as folder:
        assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("option", ["--out", "--mpe", "--plot"])
def test_solve_does_not_replace_what_it_reads(scenes, tmp_path, capsys, option):
    model = tmp_path / "model.npz"
    shutil.copy(scenes / "model.npz", model)
    (tmp_path / "link.npz").symlink_to(model)
    before = model.read_bytes()
    for given, taken in ((model, model), (tmp_path / "link.npz", model), (model, model.parent)):
        assert call(["solve", str(given), "--solver", "icm", option, str(taken)]) == 2
        assert "would replace it" in says(capsys, taken) or taken.is_dir()
    assert model.read_bytes() == before
    twice = ["--out", str(tmp_path / "x"), "--mpe", str(tmp_path / "x")]
    assert call(["solve", str(model), "--solver", "icm", *twice]) == 2


def test_samples_do_not_replace_other_files(tmp_path, capsys):
    (tmp_path / "photo.png").write_bytes(b"mine")
    assert call(["samples", "--out", str(tmp_path)]) == 2
    says(capsys, tmp_path / "photo.png")
    assert [path.name for path in tmp_path.iterdir()] == ["photo.png"]
    (tmp_path / "photo.png").unlink()
    assert call(["samples", "--out", str(tmp_path)]) == call(["samples", "--out", str(tmp_path)])


def test_what_a_kill_left_of_a_file_is_removed_once_it_is_old(scenes, tmp_path):
    left, other = tmp_path / ".y.npy.1.unfinished", tmp_path / ".z.npy.1.unfinished"
    for path in (left, other):
        path.write_text("half")
    command = ["solve", str(scenes / "model.npz"), "--solver", "icm", "--out"]
    assert call([*command, str(tmp_path / "y.npy")]) == 0
    assert left.exists()  # another run may be writing it now
    os.utime(left, (0, 0))
    assert call([*command, str(tmp_path / "y.npy")]) == 0
    assert not left.exists()
    assert other.exists()
