from pathlib import Path

import pytest

from policrf.datasets import DATASETS
from policrf.datasets.opening import open_dataset, takes
from policrf.errors import InvalidOption, UnknownName
from policrf.vision.classes import VOC_LABELS


@pytest.fixture
def registered(monkeypatch):
    """Registers a factory for the time of a test."""

    def register(name, factory):
        monkeypatch.setitem(DATASETS._targets, name, factory)

    return register


def test_every_registered_data_set_says_what_it_takes():
    assert {name: takes(name) for name in ("voc", "mots", "folder", "images")} == {
        "voc": ["split"], "mots": ["split"], "folder": ["masks", "labels"], "images": ["labels"],
    }  # fmt: skip


def test_an_unknown_name_lists_what_there_is(tmp_path):
    with pytest.raises(UnknownName, match="folder, images, mots, voc"):
        open_dataset("cityscapes", tmp_path)


def test_options_reach_the_factory(registered, tmp_path):
    registered("mine", lambda root, *, split, labels=("a",): (root, split, labels))
    (tmp_path / "names").write_text("sky\nsea\n")
    found = open_dataset("mine", str(tmp_path), split="val", labels=tmp_path / "names")
    assert found == (Path(tmp_path), "val", ("sky", "sea"))
    with pytest.raises(InvalidOption, match=r"'mine' needs --split"):
        open_dataset("mine", tmp_path)
    with pytest.raises(InvalidOption, match=r"'mine' does not take --masks; .*--split, --labels"):
        open_dataset("mine", tmp_path, split="val", masks=tmp_path)


def test_images_have_the_labels_of_voc_unless_told(tmp_path):
    assert open_dataset("images", tmp_path).labels == VOC_LABELS
    assert open_dataset("images", tmp_path, labels=("sky", "sea")).labels == ("sky", "sea")
    with pytest.raises(InvalidOption, match="data set 'images'"):
        open_dataset("folder", tmp_path)
