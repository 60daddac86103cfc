"""What is kept of pixels gives the maps of the pipeline again, bit for bit."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from tests.vision.builders import (
    LABELS,
    call,
    detections,
    prepare_arguments,
    prepared_scenes,
    recipe,
    scene,
    without_truth,
    write_onnx,
)

from policrf.datasets.instances import load_prepared
from policrf.datasets.kept_pixels import keep, rebuild
from policrf.datasets.store import Prepared, _open_shard, shard_path, write_shard
from policrf.datasets.writer import _finish, _start
from policrf.errors import InvalidFile
from policrf.vision.pipeline import Pipeline


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return prepared_scenes(tmp_path_factory.mktemp("scenes"), 3)


def seen(case, tmp_path):
    """A recipe, and the view of an image under it, with the truth that was given."""
    rendered = scene(2, size=(60, 96))
    given = {"detections": detections(rendered), "truth": rendered.truth}
    if case == "windows":
        net, _ = write_onnx(tmp_path / "net.onnx", len(LABELS), side=64)
        its = recipe(keep_pixels=True, score_kind="logits", net_windows=2)
        return its, Pipeline(its, net=net).view(rendered.image, **given), rendered.truth
    changes = {"small": {"max_side": 48}, "merged": {"net_classes": ("sky", *LABELS[::-1])}}
    its = recipe(keep_pixels=True, **changes.get(case, {}))
    scores = rendered.scores
    if case == "merged":
        scores = np.concatenate([scores[..., :1] / 3, scores[..., ::-1]], axis=2)
    if case == "coarse":
        scores = scores[::7, ::5]
    if case == "no truth":
        given["truth"] = None
    view = Pipeline(its).view(rendered.image, scores=np.ascontiguousarray(scores), **given)
    return its, view, given["truth"]


@pytest.mark.parametrize("case", ["plain", "small", "coarse", "merged", "windows", "no truth"])
def test_the_rebuilt_maps_are_those_of_the_pipeline(case, tmp_path):
    its, view, truth = seen(case, tmp_path)
    (tmp_path / "shards").mkdir()
    write_shard(shard_path(tmp_path, 0), [view.record], [], [keep(view, truth)])
    _start(tmp_path, its)
    _finish(tmp_path, 1)
    store = Prepared(tmp_path)
    found = store.rebuilt(0, store.record(0))
    assert len(view.scores) == (2 if case == "windows" else 1)
    for name in ("segments", "distribution", "lab"):
        kept, expected = getattr(found.maps, name), getattr(view, name)
        assert (kept.dtype, kept.shape) == (expected.dtype, expected.shape)
        assert kept.tobytes() == expected.tobytes(), name
    np.testing.assert_array_equal(found.maps.record.position, view.record.position)
    if truth is None:
        assert found.truth is None
    else:
        np.testing.assert_array_equal(found.truth, truth)
        assert (truth == -1).any()


def test_maps_that_do_not_fit_are_refused(tmp_path):
    its, view, truth = seen("plain", tmp_path)
    kept = keep(view, truth)
    _, other, _ = seen("small", tmp_path)
    for wrong, said in (
        (kept._replace(segments=keep(other, None).segments), "superpixels of"),
        (kept._replace(truth=keep(other, truth[1:]).truth), "truth of"),
        (kept._replace(image=b"no picture"), "not a packed array"),
        (kept._replace(scores=()), "longer"),
    ):
        with pytest.raises(ValueError, match=said):
            rebuild(wrong, view.record, its)
    with pytest.raises(ValueError, match="superpixels of"):
        rebuild(kept, replace(view.record, distribution=view.record.distribution[1:]), its)


def test_damaged_pixels_name_the_shard_and_leave_the_records_readable(scenes, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(scenes / "prepared", folder)
    path = shard_path(folder, 0)
    content = bytearray(path.read_bytes())
    column = _open_shard(path).schema_arrow.get_field_index("map_segments")
    chunk = _open_shard(path).metadata.row_group(0).column(column)
    content[chunk.data_page_offset + chunk.total_compressed_size - 20] ^= 0xFF
    path.write_bytes(bytes(content))
    _open_shard.cache_clear()
    instances = load_prepared(folder)
    record = instances.record(0)
    assert record.name == "scene000"
    with pytest.raises(InvalidFile, match=r"part-00000\.parquet: .*(cannot be read|damaged)"):
        instances.rebuilt(0, record)
    assert instances.rebuilt(1, instances.record(1)).truth is not None


def test_pixels_are_left_out_if_asked(scenes, tmp_path):
    out = tmp_path / "out"
    assert call([*prepare_arguments(scenes, out), "--no-keep-pixels"]) == 0
    kept = scenes / "prepared"
    assert [Prepared(folder).recipe.keep_pixels for folder in (kept, out)] == [True, False]
    assert shard_path(kept, 0).stat().st_size > shard_path(out, 0).stat().st_size
    with pytest.raises(InvalidFile, match="prepare the images with --keep-pixels"):
        Prepared(out).rebuilt(0, Prepared(out).record(0))
    assert load_prepared(out).stage("icm") is None
    assert load_prepared(kept).stage("icm") is not None


def test_a_lost_shard_comes_back_with_the_same_bytes(scenes, tmp_path):
    folder = tmp_path / "again"
    shutil.copytree(scenes / "prepared", folder)
    shard_path(folder, 0).unlink()
    (folder / "index.json").unlink()
    killed = [folder / "shards" / ".part-00000.parquet.1a.unfinished", folder / ".x.unfinished"]
    theirs = [folder / ".gitignore", folder / "shards" / ".notes"]
    for path in (*killed, *theirs):
        path.write_bytes(b"what a killed run was writing, or somebody else")
    assert call(prepare_arguments(scenes, folder)) == 0
    for path in (scenes / "prepared").rglob("*"):
        if path.is_file():
            assert (folder / path.relative_to(scenes / "prepared")).read_bytes() == (
                path.read_bytes()
            )
    assert not any(path.exists() for path in killed)
    assert len(list(folder.rglob("*"))) == len(list((scenes / "prepared").rglob("*"))) + 2
    assert all(path.exists() for path in theirs)


def test_without_truth_there_is_none(scenes, tmp_path):
    arguments = without_truth(prepare_arguments(scenes, tmp_path / "out"))
    assert call([*arguments, "--limit", "1"]) == 0
    store = Prepared(tmp_path / "out")
    assert store.rebuilt(0, store.record(0)).truth is None
    assert json.loads((tmp_path / "out" / "recipe.json").read_text())["recipe"]["keep_pixels"]
