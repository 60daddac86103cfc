"""The real nets and images beside the checkout (or in POLICRF_DATA): one image each."""

import numpy as np
import pytest
from tests.shared_data import DATA

from policrf.datasets.layouts.mots import Mots
from policrf.datasets.layouts.voc import Voc
from policrf.errors import InvalidOption
from policrf.vision.classes import VOC_LABELS
from policrf.vision.energy.weights import Energy
from policrf.vision.images import read_image
from policrf.vision.nets.detectors import ClassRoles, Detector, detector_names
from policrf.vision.nets.segmentation_net import NetOptions, SegmentationNet
from policrf.vision.segment import Segmenter
from policrf.vision.unaries import pixel_distribution

NET = DATA / "nets" / "deeplabv3_mnv2_dm05_pascal_quant.tflite"
YOLO = DATA / "nets" / "MobileNetV2-YOLOv3-Nano-voc.cfg"
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not NET.is_file(), reason=f"real data is not at {DATA}"),
]


@pytest.fixture(scope="module")
def voc():
    return Voc(DATA / "voc" / "VOC2012", "val")


def sample_with(voc, label):
    for sample in voc.samples():
        truth = voc.truth(sample)
        if (truth == VOC_LABELS.index(label)).mean() > 0.2:
            return sample, truth
    raise LookupError(label)


def test_splits_do_not_mix(voc):
    splits = {
        name: [sample.name for sample in Voc(voc.root, name).samples()]
        for name in ("train", "val", "trainaug")
    }
    assert all(len(set(names)) == len(names) > 100 for names in splits.values())
    assert not set(splits["val"]) & set(splits["trainaug"])
    assert set(splits["train"]) < set(splits["trainaug"])
    aug = Voc(voc.root, "trainaug")
    assert aug.truth(aug.samples()[-1]).max() <= 20


def test_deeplab_reads_the_image(voc):
    sample, truth = sample_with(voc, "cat")
    image = read_image(sample.image)
    net = SegmentationNet(NET, 21, NetOptions(hypercolumns=("concat_projection/Relu",)))
    maps = net(image)
    assert maps.scores[0].values.shape == (33, 33, 21)
    assert maps.inner[0][0].values.shape == (33, 33, 256)
    labels = pixel_distribution(maps.scores, *image.shape[:2], "logits").argmax(axis=0)
    known = truth >= 0
    assert (labels == truth)[known].mean() > 0.8


def test_a_wrong_tensor_lists_the_real_ones():
    with pytest.raises(InvalidOption, match="concat_projection/Relu"):
        SegmentationNet(NET, 21, NetOptions(hypercolumns=("conv5_3",)))


def test_yolo_finds_the_dogs(voc):
    sample, truth = sample_with(voc, "dog")
    roles = ClassRoles.of(detector_names(YOLO, None), VOC_LABELS, chosen=None, riders=False)
    found = Detector(YOLO, roles, threshold=0.3)(read_image(sample.image))
    dog = VOC_LABELS.index("dog")
    assert dog in found.labels
    inside = np.zeros(truth.shape, bool)
    for left, top, right, bottom in np.maximum(found.boxes[found.labels == dog], 0).astype(int):
        inside[top:bottom, left:right] = True
    assert (inside & (truth == dog)).sum() > 0.8 * (truth == dog).sum()


def test_segment_a_photo(voc, tmp_path):
    sample, truth = sample_with(voc, "horse")
    segmenter = Segmenter(net=NET, detector=YOLO, energy=Energy(), superpixels=250)
    result = segmenter(sample.image, "icm", truth=truth)
    assert result.labels.shape == truth.shape
    known = truth >= 0
    assert (result.labels == truth)[known].mean() > 0.7
    assert result.save(tmp_path, figure=True)[3].stat().st_size > 10_000


def test_mots_frames_have_cars():
    data = Mots(DATA / "mots" / "KITTI_MOTS", "0002")
    samples = data.samples()
    assert len(samples) == 117
    truth = data.truth(samples[0])
    assert set(np.unique(truth)) <= {-1, 0, 1, 2}
    assert (truth == 1).any()
