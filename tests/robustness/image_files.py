"""Pictures, and what nets and people leave beside them: masks, scores, detections, names, YAML."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from tests.robustness.kinds import Kind
from tests.robustness.mutations import mutated_archive, mutated_values
from tests.vision.builders import LABELS, record

from policrf.datasets.base import relabeled
from policrf.datasets.layouts import mots, trackrcnn
from policrf.datasets.layouts.rle import encode_mask
from policrf.datasets.layouts.voc import Voc
from policrf.vision.classes import match_classes, read_class_map, read_names
from policrf.vision.energy.build import to_instance
from policrf.vision.energy.weights import Energy
from policrf.vision.images import read_image, read_mask
from policrf.vision.nets.coco import CocoDetections
from policrf.vision.unaries import read_scores

VALUES = {label: label for label in range(len(LABELS))} | {255: -1}


def _pixels(channels: int) -> Any:
    shape = (12, 16, channels) if channels > 1 else (12, 16)
    return np.random.default_rng(0).integers(0, 5, shape).astype(np.uint8)


def _make_image(suffix: str) -> Any:
    def make(folder: Path) -> Path:
        picture = Image.fromarray(_pixels(3) * 40)
        exif = picture.getexif()
        exif[0x0112] = 6  # turned
        path = folder / f"picture{suffix}"
        picture.save(path, **({} if suffix == ".bmp" else {"exif": exif}))
        return path

    return make


def _make_mask(folder: Path) -> Path:
    mask = Image.fromarray(_pixels(1))
    mask.putpalette(list(range(256)) * 3)
    mask.save(folder / "mask.png")
    return folder / "mask.png"


def _make_deep_mask(folder: Path) -> Path:
    Image.fromarray(_pixels(1).astype(np.int32)).save(folder / "mask.tif")
    return folder / "mask.tif"


def _read_mask(path: Path) -> Any:
    return relabeled(read_mask(path), VALUES, str(path))


def _scores() -> Any:
    scores = np.random.default_rng(0).random((6, 8, 5)).astype(np.float32)
    return scores / scores.sum(axis=2, keepdims=True)


def _make_npy(folder: Path) -> Path:
    np.save(folder / "scores.npy", _scores())
    return folder / "scores.npy"


def _make_npz(folder: Path) -> Path:
    out = io.BytesIO()
    np.savez_compressed(out, scores=_scores())
    (folder / "scores.npz").write_bytes(out.getvalue())
    return folder / "scores.npz"


def _read_scores(path: Path) -> Any:
    return read_scores(path, 5, "probabilities")


def _make_detections(folder: Path) -> Path:
    (folder / "categories.names").write_text("\n".join(LABELS[1:]))
    rows = [
        {"image_id": "a.jpg", "category_id": k, "bbox": [1, 2.5, 3, 4], "score": 0.5}
        for k in (1, 2, 3)
    ]
    (folder / "detections.json").write_text(json.dumps(rows))
    return folder / "detections.json"


def _read_detections(path: Path) -> Any:
    found = CocoDetections(path, path.with_name("categories.names"), LABELS, threshold=0.1)("a")
    return found.boxes, found.scores, found.labels


def _make_categories(folder: Path) -> Path:
    _make_detections(folder)
    about = {
        "categories": [{"id": k, "name": name} for k, name in enumerate(LABELS[1:], 1)],
        "images": [{"id": 7, "file_name": "a.jpg"}],
    }
    (folder / "categories.json").write_text(json.dumps(about))
    return folder / "categories.json"


def _read_categories(path: Path) -> Any:
    found = CocoDetections(path.with_name("detections.json"), path, LABELS)("a")
    return found.boxes, found.scores, found.labels


def _make_names(folder: Path) -> Path:
    (folder / "labels.names").write_text("\n".join(["Hintergrund", "Straße", *LABELS]) + "\n")
    return folder / "labels.names"


def _make_class_map(folder: Path) -> Path:
    (folder / "map.yaml").write_text("disc: disc\nbox: square\nsky: null\n")
    return folder / "map.yaml"


def _read_class_map(path: Path) -> Any:
    chosen = read_class_map(path)
    return match_classes([*chosen], LABELS, chosen=chosen)


def _make_energy(folder: Path) -> Path:
    about = {"folder": "prepared", "score": 0.5, "images": 12}
    Energy(alpha=1.25, band=2).save(folder / "energy.yaml", about)
    return folder / "energy.yaml"


def _hand_written_energy(folder: Path) -> Path:
    lines = [f"{name}: {value}" for name, value in Energy(alpha=1.25).as_dict().items()]
    text = "\n".join(lines).replace("inf", ".inf")
    (folder / "energy.yaml").write_text(text + "\n")
    return folder / "energy.yaml"


_RECORD: list[Any] = []


def _read_energy(path: Path) -> Any:
    energy = Energy.load(path)
    if not _RECORD:
        _RECORD.append(record(0, (32, 40)))
    to_instance(_RECORD[0], energy, potentials="u+p+hop1+hop2", features="paper")
    return energy.as_dict()


def _make_tracks(folder: Path) -> Path:
    left = np.zeros((4, 6), bool)
    left[:, :3] = True
    lines = [f"{frame} 0 0 3 4 0.8 1 4 6 {encode_mask(left)} 0.1" for frame in (9, 10, 10)]
    (folder / "0002.txt").write_text("\n".join(lines))
    return folder / "0002.txt"


def _read_tracks(path: Path) -> Any:
    trackrcnn._read.cache_clear()
    scores, boxes = trackrcnn.TrackRcnn(path.parent, 3)("0002/000010", 4, 6)
    return scores, boxes.boxes


def _make_instances(folder: Path) -> Path:
    (folder / "images" / "0002").mkdir(parents=True)
    (folder / "instances_txt").mkdir()
    Image.fromarray(np.zeros((4, 6, 3), np.uint8)).save(folder / "images/0002/000010.png")
    left = np.zeros((4, 6), bool)
    left[:, :3] = True
    lines = [f"10 {1000 + k} {k} 4 6 {encode_mask(left)}" for k in (1, 2)]
    path = folder / "instances_txt" / "0002.txt"
    path.write_text("\n".join(lines))
    return path


def _read_instances(path: Path) -> Any:
    mots._rows.cache_clear()
    data = mots.Mots(path.parents[1], "0002")
    return data.truth(data.samples()[0])


def _make_split(folder: Path) -> Path:
    (folder / "ImageSets" / "Segmentation").mkdir(parents=True)
    (folder / "JPEGImages").mkdir()
    path = folder / "ImageSets" / "Segmentation" / "train.txt"
    path.write_text("2007_000032\n2007_000039\nStraße\n")
    return path


def _read_split(path: Path) -> Any:
    return [sample.name for sample in Voc(path.parents[2], "train").samples()]


IMAGE_KINDS = [
    Kind("image .png", _make_image(".png"), read_image),
    Kind("image .jpg", _make_image(".jpg"), read_image),
    Kind("image .webp", _make_image(".webp"), read_image),
    Kind("image .bmp", _make_image(".bmp"), read_image),
    Kind("mask .png", _make_mask, _read_mask),
    Kind("mask .tif", _make_deep_mask, _read_mask),
    Kind("scores .npy", _make_npy, _read_scores),
    Kind("scores .npz", _make_npz, _read_scores, mutate=mutated_archive),
    Kind("detections .json", _make_detections, _read_detections, mutate=mutated_values),
    Kind("categories .json", _make_categories, _read_categories, mutate=mutated_values),
    Kind("TrackR-CNN results", _make_tracks, _read_tracks),
    Kind("VOC split", _make_split, _read_split),
    Kind("MOTS instances", _make_instances, _read_instances),
    Kind("names", _make_names, read_names),
    Kind("class map .yaml", _make_class_map, _read_class_map),
    Kind("energy.yaml", _make_energy, _read_energy, sealed=True),
    Kind("energy.yaml, by hand", _hand_written_energy, _read_energy),
]
