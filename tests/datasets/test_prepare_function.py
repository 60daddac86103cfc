"""`prepare` from Python: the command's options, defaults and bytes; data sets from outside."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.vision.builders import LABELS, call, prepare_arguments, write_scene_folder

from policrf.cli.prepare import Config
from policrf.datasets.instances import load_prepared
from policrf.datasets.layouts.folder import Folder
from policrf.datasets.options import PrepareOptions
from policrf.datasets.prepare import prepare
from policrf.errors import InvalidOption
from policrf.vision.recipe import Recipe

PLUGIN = """
from dataclasses import dataclass
from pathlib import Path

from policrf.datasets.base import Sample, relabeled
from policrf.types import VOID
from policrf.vision.images import read_mask


@dataclass(frozen=True)
class Pairs:
    root: Path
    split: str = "all"
    labels = ("background", "disc", "square", "star", "ring")
    support = "inside"

    def samples(self):
        return [Sample(p.stem, p) for p in sorted((self.root / "images").glob("*.png"))]

    def truth(self, sample):
        path = self.root / "masks" / f"{sample.name}.png"
        values = {label: label for label in range(len(self.labels))} | {255: VOID}
        return relabeled(read_mask(path), values, str(path))
"""


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    root = tmp_path_factory.mktemp("scenes")
    write_scene_folder(root, 3)
    return root


def settings(root):
    return {
        "scores": root / "scores", "score_kind": "probabilities", "superpixels": 40,
        "components": 3, "detections": root / "detections.json",
        "categories": str(root / "categories.names"),
    }  # fmt: skip


def files(folder):
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_the_same_bytes_as_the_command(scenes, tmp_path):
    assert call(prepare_arguments(scenes, tmp_path / "command")) == 0
    seen = []
    summary = prepare(
        "folder", root=scenes / "images", masks=scenes / "masks", out=tmp_path / "python",
        labels=scenes / "labels.names", advance=seen.append, **settings(scenes),
    )  # fmt: skip
    assert (summary.prepared, summary.reused) == (3, 0)
    assert seen == ["scene000", "scene001", "scene002"]
    assert files(tmp_path / "python") == files(tmp_path / "command")


def test_a_data_set_of_your_own(scenes, tmp_path):
    own = Folder(scenes / "images", LABELS, scenes / "masks")
    prepare(own, out=tmp_path / "own", limit=1, **settings(scenes))
    instances = load_prepared(tmp_path / "own")
    assert instances.names == ["scene000"]
    assert instances.prepared.recipe.dataset["name"] == "folder"
    with pytest.raises(InvalidOption, match="root is for a data set by name"):
        prepare(own, root=scenes, out=tmp_path / "own", **settings(scenes))
    with pytest.raises(InvalidOption, match="needs its folder"):
        prepare("folder", out=tmp_path / "own", **settings(scenes))


def test_unknown_options_are_named(tmp_path):
    with pytest.raises(InvalidOption, match="no option 'superpixel'; there are labels"):
        prepare("voc", root=tmp_path, out=tmp_path, superpixel=50)


def test_one_default_each():
    """The command nests the library's dataclass, whose defaults are the recipe's."""
    (nested,) = (field for field in dataclasses.fields(Config) if field.name == "records")
    assert nested.default_factory is PrepareOptions
    options, recipe = PrepareOptions(), Recipe(labels=LABELS)
    own = {field.name for field in dataclasses.fields(PrepareOptions)}
    shared = (own & {field.name for field in dataclasses.fields(Recipe)}) - {
        "labels", "net", "scores", "detector", "hypercolumns", "class_map", "net_windows",
        "feature_net",
    }  # fmt: skip
    assert "superpixels" in shared
    assert {n: getattr(options, n) for n in shared} == {n: getattr(recipe, n) for n in shared}


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """An installed package as Python sees one: a module and its .dist-info on the path."""
    site = tmp_path_factory.mktemp("site")
    (site / "pairs_of_files.py").write_text(PLUGIN)
    about = site / "pairs_of_files-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pairs-of-files\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[policrf.datasets]\npairs = pairs_of_files:Pairs\n")
    return site


def policrf(site: Path, *arguments):
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "policrf", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_plugin_is_prepared_by_its_name(plugin, scenes, tmp_path):
    given = settings(scenes)
    arguments = [
        "--scores", given["scores"], "--score-kind", "probabilities", "--superpixels", 40,
        "--components", 0, "--out", tmp_path / "out", "--split", "all", "--jobs", 2,
    ]  # fmt: skip
    done = policrf(plugin, "prepare", "pairs", "--root", scenes, *arguments)
    assert done.returncode == 0, done.stderr
    instances = load_prepared(tmp_path / "out")
    assert instances.names == ["scene000", "scene001", "scene002"]
    assert instances.prepared.recipe.dataset["name"] == "pairs"
    assert instances.prepared.recipe.dataset["split"] == "all"
    assert instances[0].truth.sum() > 0


def test_help_and_errors_list_plugins_too(plugin, tmp_path):
    assert "pairs" in policrf(plugin, "prepare", "--help").stdout
    here = ["--root", tmp_path, "--out", tmp_path, "--net", "x"]
    missing = policrf(plugin, "prepare", "pears", *here)
    assert missing.returncode == 2
    assert "folder, images, mots, pairs, voc" in missing.stderr
    wrong = policrf(plugin, "prepare", "pairs", *here, "--masks", tmp_path)
    assert wrong.returncode == 2
    assert "'pairs' does not take --masks" in wrong.stderr
