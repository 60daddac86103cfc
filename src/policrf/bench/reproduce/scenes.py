"""The preset quick's images: rendered scenes with scores, boxes and truth, written as a data set.

FOLDER/train/images, masks, scores, detections.json      and the same under test
FOLDER/labels.names, categories.names
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from policrf.crf.io.files import atomic_write, make_folder
from policrf.crf.io.json_text import write_json
from policrf.plots.png import encode_png
from policrf.scenes.render import RenderedScene, render_scene

LABELS = ("background", "disc", "square", "star", "ring")
SIZE = (48, 64)
FIRST = {"train": 0, "test": 100_000}  # seed of the first scene


def write_scenes(folder: Path, split: str, count: int) -> None:
    """Write the scenes of a split; the same files every time."""
    root = folder / split
    for name in ("images", "masks", "scores"):
        make_folder(root / name)
    boxes: list[dict[str, Any]] = []
    for k in range(count):
        scene = render_scene(SIZE, "B", seed=FIRST[split] + k, n_labels=len(LABELS))
        name = f"scene{k:03d}"
        mask = np.where(scene.truth < 0, 255, scene.truth).astype(np.uint8)
        _write(root / "images" / f"{name}.png", encode_png(scene.image))
        _write(root / "masks" / f"{name}.png", encode_png(mask))
        with atomic_write(root / "scores" / f"{name}.npy") as file:
            np.save(file, scene.scores)
        boxes += _boxes(name, scene)
    write_json(root / "detections.json", boxes)
    _write(folder / "categories.names", "\n".join(LABELS[1:]).encode())
    _write(folder / "labels.names", "\n".join(LABELS).encode())


def _boxes(name: str, scene: RenderedScene) -> list[dict[str, Any]]:
    """A scene's detections in COCO's results format."""
    rows = []
    for box, label, confidence in zip(*scene.detections, strict=True):
        left, top, right, bottom = (float(side) for side in box)
        rows.append({
            "image_id": name, "category_id": int(label), "score": float(confidence),
            "bbox": [left, top, right - left, bottom - top],
        })  # fmt: skip
    return rows


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)
