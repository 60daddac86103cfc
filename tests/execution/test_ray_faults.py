"""Workers, nodes and drivers that die: nothing is lost or doubled, and the bytes are the same.

A worker that runs out of memory is one that dies by SIGKILL, which is what the kernel does to it
(Ray's own monitor, which kills earlier, is not provoked: that would take the machine's memory), or
one in which an allocation fails with MemoryError.
"""

from __future__ import annotations

import threading

import pytest
from tests.execution.conftest import MARK
from tests.execution.processes_of import kill_one
from tests.execution.slow_data import PREPARED, Slow, files_of
from tests.vision.builders import LABELS, write_scene_folder

import policrf as pc
from policrf.errors import TooLarge

pytestmark = pytest.mark.slow
IMAGES = 40  # more than a shard holds


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return write_scene_folder(tmp_path_factory.mktemp("scenes"), IMAGES)


@pytest.fixture(scope="module")
def local(scenes, tmp_path_factory):
    """What preparing gives on this machine."""
    out = tmp_path_factory.mktemp("local") / "out"
    pc.prepare(data(scenes), out=out, scores=scenes["scores"], **PREPARED)
    return files_of(out)


def data(scenes, **more):
    return Slow(scenes["root"], LABELS, scenes["masks"], **more)


def prepared(scenes, out, executor, at=None, then=lambda: None, **more):
    """Prepare on the cluster, and do something when image number `at` is done."""
    done, threads = [], []

    def advance(name):
        done.append(name)
        if len(done) == at:
            threads.append(threading.Thread(target=then))
            threads[-1].start()

    summary = pc.prepare(
        data(scenes, **more), out=out, scores=scenes["scores"], executor=executor, advance=advance,
        **PREPARED,
    )  # fmt: skip
    for thread in threads:
        thread.join()
    assert len(done) == len(set(done)) == IMAGES
    return summary


def test_a_worker_that_is_killed(scenes, local, executor, loopback, tmp_path):
    killed = []

    def kill():
        killed.append(kill_one(MARK, loopback, "ray::run_items"))

    prepared(scenes, tmp_path / "out", executor, 5, kill)
    assert killed
    assert files_of(tmp_path / "out") == local


def test_a_node_that_is_removed(scenes, local, executor, cluster, tmp_path):
    node = next(iter(cluster.worker_nodes))

    def remove():
        cluster.remove_node(node, allow_graceful=False)

    prepared(scenes, tmp_path / "out", executor, 5, remove, seconds=0.1)
    assert node not in cluster.worker_nodes
    assert files_of(tmp_path / "out") == local


def test_an_image_that_is_too_much_for_its_worker_once(scenes, local, executor, tmp_path):
    killers = tmp_path / "killers"
    killers.write_text("scene007\nscene035\n")
    prepared(scenes, tmp_path / "out", executor, killers=killers)
    assert not killers.read_text()
    assert files_of(tmp_path / "out") == local


def test_an_image_that_is_too_much_every_time(scenes, local, executor, tmp_path):
    killers = tmp_path / "killers"
    killers.write_text("scene035\n" * 50)
    with pytest.raises(TooLarge, match="scene035 died, most likely because memory ran out"):
        prepared(scenes, tmp_path / "out", executor, killers=killers)
    assert (tmp_path / "out" / "shards").is_dir()  # the first shard is finished, and is kept
    killers.unlink()
    assert prepared(scenes, tmp_path / "out", executor, killers=killers).reused > 0
    assert files_of(tmp_path / "out") == local


def test_an_image_whose_memory_is_refused_is_skipped_as_on_this_machine(scenes, executor, tmp_path):
    summary = prepared(scenes, tmp_path / "ray", executor, fails=("scene003",))
    assert [skip.name for skip in summary.skipped] == ["scene003"]
    assert "not enough memory" in summary.skipped[0].reason
    pc.prepare(
        data(scenes, fails=("scene003",)), out=tmp_path / "here", scores=scenes["scores"],
        **PREPARED,
    )  # fmt: skip
    assert files_of(tmp_path / "ray") == files_of(tmp_path / "here")
