import numpy as np
import pytest
from PIL import Image

from policrf.datasets.base import relabeled
from policrf.datasets.layouts.folder import Folder
from policrf.datasets.layouts.mots import Mots
from policrf.datasets.layouts.rle import decode_mask, encode_mask
from policrf.datasets.layouts.trackrcnn import TrackRcnn
from policrf.datasets.layouts.voc import Voc
from policrf.errors import InvalidFile

PICTURE = Image.fromarray(np.zeros((4, 6, 3), np.uint8))


def put(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def mask(values):
    return Image.fromarray(np.asarray(values))


def voc(root, split="train", folder="SegmentationClass", values=None):
    lists = root / "ImageSets" / "Segmentation"
    lists.mkdir(parents=True, exist_ok=True)
    (lists / f"{split}.txt").write_text("a\nb\n")
    for name in "ab":
        put(root / "JPEGImages" / f"{name}.jpg", PICTURE)
    grid = np.zeros((4, 6), np.uint8)
    grid[0, :3] = (20, 255, 1) if values is None else values
    put(root / folder / "a.png", mask(grid))
    return Voc(root, split)


def test_voc(tmp_path):
    data = voc(tmp_path)
    samples = data.samples()
    assert [sample.name for sample in samples] == ["a", "b"]
    assert data.truth(samples[0])[0].tolist() == [20, -1, 1, 0, 0, 0]
    with pytest.raises(InvalidFile, match=r"b\.png"):
        data.truth(samples[1])


def test_trainaug_reads_the_augmented_masks(tmp_path):
    voc(tmp_path, "trainaug", "SegmentationClass", values=(1, 1, 1))
    data = voc(tmp_path, "trainaug", "SegmentationClassAug", values=(2, 2, 2))
    assert data.truth(data.samples()[0])[0, 0] == 2


def test_unknown_mask_values_are_named(tmp_path):
    data = voc(tmp_path, values=(0, 77, 0))
    with pytest.raises(InvalidFile, match=r"a\.png.*value 77 at row 0, column 1"):
        data.truth(data.samples()[0])


def test_a_wrong_root_or_split_says_what_is_there(tmp_path):
    with pytest.raises(InvalidFile, match="JPEGImages"):
        Voc(tmp_path, "train").samples()
    voc(tmp_path)
    with pytest.raises(InvalidFile, match="there are: train"):
        Voc(tmp_path, "test").samples()


INSTANCES = np.asarray([[0, 1000, 1003, 2000, 10000, 2999]] * 4, np.uint16)
EXPECTED = [0, 1, 1, 2, -1, 2]


def test_mots_pictures(tmp_path):
    put(tmp_path / "images" / "0002" / "000010.png", PICTURE)
    put(tmp_path / "images" / "0000" / "000000.jpg", PICTURE)
    put(tmp_path / "instances" / "0002" / "000010.png", mask(INSTANCES))
    data = Mots(tmp_path, "0002")
    assert [sample.name for sample in data.samples()] == ["0002/000010"]
    assert data.truth(data.samples()[0])[0].tolist() == EXPECTED
    assert Mots(tmp_path, "train").sequences() == ["0000"]
    assert Mots(tmp_path, "val").sequences() == ["0002"]
    assert len(Mots(tmp_path, "0000,0002").samples()) == 2
    with pytest.raises(InvalidFile, match="there are: 0000, 0002"):
        Mots(tmp_path, "0007").samples()


def test_mots_text(tmp_path):
    put(tmp_path / "training" / "image_02" / "0001" / "000003.png", PICTURE)
    put(tmp_path / "training" / "image_02" / "0001" / "000004.png", PICTURE)
    lines = []
    for value in (1003, 2000, 10000):
        covered = (value == INSTANCES).astype(bool)
        lines.append(f"3 {value} {value // 1000} 4 6 {encode_mask(covered)}")
    (tmp_path / "instances_txt").mkdir()
    (tmp_path / "instances_txt" / "0001.txt").write_text("\n".join(lines))
    data = Mots(tmp_path, "0001")
    first, second = data.samples()
    assert data.truth(first)[0].tolist() == [0, 0, 1, 2, -1, 0]
    assert data.truth(second).tolist() == np.zeros((4, 6)).tolist()


@pytest.mark.parametrize("value", [5, 3000, 11000])
def test_mots_values_that_mean_nothing(tmp_path, value):
    put(tmp_path / "images" / "0002" / "000010.png", PICTURE)
    put(tmp_path / "instances" / "0002" / "000010.png", mask(INSTANCES + np.uint16(0)))
    wrong = INSTANCES.copy()
    wrong[0, 0] = value
    put(tmp_path / "instances" / "0002" / "000010.png", mask(wrong))
    data = Mots(tmp_path, "0002")
    with pytest.raises(InvalidFile, match=str(value)):
        data.truth(data.samples()[0])


def test_folder_with_and_without_masks(tmp_path):
    put(tmp_path / "images" / "sub" / "x.jpg", PICTURE)
    put(tmp_path / "masks" / "sub" / "x.png", mask(np.full((4, 6), 1, np.uint8)))
    data = Folder(tmp_path / "images", ("nothing", "thing"), tmp_path / "masks")
    (sample,) = data.samples()
    assert sample.name == "sub/x"
    assert (data.truth(sample) == 1).all()
    assert Folder(tmp_path / "images", ("nothing", "thing")).truth(sample) is None
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidFile, match="no images"):
        Folder(tmp_path / "empty", ()).samples()


def test_run_length_masks_round_trip():
    covered = np.random.default_rng(0).random((13, 7)) < 0.4
    np.testing.assert_array_equal(decode_mask(encode_mask(covered), 13, 7, "x"), covered)
    for text in ("", "not é", "zzzz"):
        with pytest.raises(InvalidFile, match="here"):
            decode_mask(text, 13, 7, "here")


def trackrcnn(root, lines):
    (root / "0002.txt").write_text("\n".join(lines))
    return TrackRcnn(root, 3)


def test_trackrcnn_masks_become_unaries(tmp_path):
    left = np.zeros((4, 6), bool)
    left[:, :3] = True
    right = np.zeros((4, 6), bool)
    right[:, 2:] = True
    lines = [
        f"10 0 0 3 4 0.8 1 4 6 {encode_mask(left)} 0.1 0.2",
        f"10 2 0 6 4 0.6 2 4 6 {encode_mask(right)}",
        f"11 0 0 3 4 0.9 1 4 6 {encode_mask(left)}",
    ]
    scores, boxes = trackrcnn(tmp_path, lines)("0002/000010", 4, 6)
    np.testing.assert_allclose(scores.sum(axis=2), 1, atol=1e-6)
    np.testing.assert_allclose(scores[0, 0], [0.2, 0.8, 0], atol=1e-6)
    np.testing.assert_allclose(scores[0, 5], [0.4, 0, 0.6], atol=1e-6)
    assert scores[0, 2].argmax() == 1
    assert boxes.labels.tolist() == [1, 2]
    assert boxes.boxes.tolist() == [[0, 0, 3, 4], [2, 0, 6, 4]]
    scores, boxes = TrackRcnn(tmp_path, 3)("0002/000099", 4, 6)
    assert (scores[:, :, 0] == 1).all()
    assert len(boxes) == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("10 0 0 3", "line 1"),
        ("10 0 0 3 4 7 1 4 6 04", "confidence outside"),
        ("10 0 0 3 4 0.5 9 4 6 0h0", "class 9"),
        ("10 0 0 3 4 0.5 1 5 6 0n0", "6×5"),
    ],
)
def test_wrong_trackrcnn_lines(tmp_path, line, message):
    with pytest.raises(InvalidFile, match=message):
        trackrcnn(tmp_path, [line])("0002/000010", 4, 6)


def test_relabeled_refuses_negative_values():
    with pytest.raises(InvalidFile, match="negative"):
        relabeled(np.asarray([[-1]], np.int32), {0: 0}, "x")
