"""Scenes, files and tiny nets that the tests of this folder and its neighbours are built from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import policrf as pc
from policrf.cli import main
from policrf.vision.boxes import Detections
from policrf.vision.pipeline import Pipeline
from policrf.vision.recipe import Recipe

LABELS = ("background", "disc", "square", "star", "ring")


def scene(seed=0, size=(72, 96), preset="A"):
    return pc.render_scene(size, preset, seed=seed, n_labels=len(LABELS))


def detections(rendered):
    boxes, labels, confidences = rendered.detections
    return Detections.of(boxes, confidences, labels)


def recipe(**changes):
    settings = {
        "labels": LABELS,
        "net_classes": LABELS,
        "superpixels": 60,
        "score_kind": "probabilities",
        "components": 0,
    }
    return Recipe(**(settings | changes))


def record(seed=0, size=(72, 96), preset="A", **changes):
    rendered = scene(seed, size, preset)
    view = Pipeline(recipe(**changes)).view(
        rendered.image,
        name=f"scene{seed}",
        scores=rendered.scores,
        detections=detections(rendered),
        truth=rendered.truth,
    )
    return view.record


def write_scene_folder(root: Path, count: int, size=(48, 64)) -> dict[str, Path]:
    """images/, masks/, scores/, detections.json, categories.names and labels.names under root."""
    for name in ("images", "masks", "scores"):
        (root / name).mkdir(parents=True)
    rows = []
    for seed in range(count):
        rendered = scene(seed, size)
        name = f"scene{seed:03d}"
        Image.fromarray(rendered.image).save(root / "images" / f"{name}.png")
        mask = np.where(rendered.truth < 0, 255, rendered.truth).astype(np.uint8)
        Image.fromarray(mask).save(root / "masks" / f"{name}.png")
        np.save(root / "scores" / f"{name}.npy", rendered.scores)
        for box, label, confidence in zip(*rendered.detections, strict=True):
            x0, y0, x1, y1 = (float(side) for side in box)
            rows.append(
                {
                    "image_id": name,
                    "category_id": int(label),
                    "bbox": [x0, y0, x1 - x0, y1 - y0],
                    "score": float(confidence),
                }
            )
    (root / "detections.json").write_text(json.dumps(rows))
    (root / "categories.names").write_text("\n".join(LABELS[1:]))
    (root / "labels.names").write_text("\n".join(LABELS))
    return {"root": root / "images", "masks": root / "masks", "scores": root / "scores"}


def prepare_arguments(root: Path, out: Path) -> list[str]:
    return [
        "prepare", "folder", "--root", str(root / "images"), "--masks", str(root / "masks"),
        "--labels", str(root / "labels.names"), "--scores", str(root / "scores"),
        "--score-kind", "probabilities", "--detections", str(root / "detections.json"),
        "--categories", str(root / "categories.names"), "--superpixels", "40",
        "--components", "3", "--out", str(out), "--jobs", "1",
    ]  # fmt: skip


def call(arguments) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return stopped.value.code


def prepared_scenes(root: Path, count: int) -> Path:
    """A folder of scenes as `write_scene_folder` makes it, with prepared/ beside them."""
    write_scene_folder(root, count)
    assert call(prepare_arguments(root, root / "prepared")) == 0
    return root


def without_truth(arguments: list[str]) -> list[str]:
    """The arguments of prepare for the same images without their masks."""
    at = arguments.index("--masks")
    return ["prepare", "images", *arguments[2:at], *arguments[at + 2 :]]


# A writer for just enough of ONNX: two 1×1 convolutions, "inner" and "scores".


def _varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _message(number, payload):
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _integer(number, value):
    return _varint(number << 3) + _varint(value)


def _tensor(name, values):
    values = np.asarray(values, np.float32)
    dims = b"".join(_integer(1, side) for side in values.shape)
    return dims + _integer(2, 1) + _message(8, name.encode()) + _message(9, values.tobytes())


def _value(name, shape):
    dims = b""
    for side in shape:
        entry = _message(2, side.encode()) if isinstance(side, str) else _integer(1, side)
        dims += _message(1, entry)
    kind = _integer(1, 1) + _message(2, dims)
    return _message(1, name.encode()) + _message(2, _message(1, kind))


def _node(operation, inputs, output):
    names = b"".join(_message(1, name.encode()) for name in inputs)
    return names + _message(2, output.encode()) + _message(4, operation.encode())


def write_onnx(
    path: Path, n_classes: int, n_inner: int = 4, seed: int = 0, side: int | None = None
) -> tuple[Path, dict]:
    """image [1, 3, H, W] -> inner [1, n_inner, H, W] -> scores [1, n_classes, H, W].

    H and W are any, or `side`.
    """
    height, width = ("height", "width") if side is None else (side, side)
    rng = np.random.default_rng(seed)
    weights = {
        "first": rng.normal(0, 0.01, (n_inner, 3, 1, 1)).astype(np.float32),
        "second": rng.normal(0, 1, (n_classes, n_inner, 1, 1)).astype(np.float32),
    }
    graph = _message(1, _node("Conv", ["image", "first"], "inner"))
    graph += _message(1, _node("Conv", ["inner", "second"], "scores"))
    graph += _message(2, b"tiny")
    graph += b"".join(_message(5, _tensor(name, values)) for name, values in weights.items())
    graph += _message(11, _value("image", (1, 3, height, width)))
    graph += _message(12, _value("scores", (1, n_classes, height, width)))
    opset = _message(8, _integer(2, 13))
    path.write_bytes(_integer(1, 8) + _message(7, graph) + opset)
    return path, weights


def write_onnx_detector(path: Path, rows) -> Path:
    """A detector that answers every image with the same rows [n, 6]."""
    graph = _message(1, _node("Identity", ["constant"], "rows"))
    graph += _message(2, b"detector")
    graph += _message(5, _tensor("constant", rows))
    graph += _message(11, _value("image", (1, 3, 32, 32)))
    graph += _message(12, _value("rows", np.asarray(rows).shape))
    path.write_bytes(_integer(1, 8) + _message(7, graph) + _message(8, _integer(2, 13)))
    return path


def write_darknet(folder: Path, *, groups: int = 1, filters: int = 7) -> Path:
    """The smallest YOLO detector: one 1×1 convolution, one anchor, two classes, inputs of 32²."""
    cfg = f"""[net]
width=32
height=32
channels=3

[convolutional]
filters={filters}
size=1
stride=1
groups={groups}
activation=linear

[yolo]
mask=0
anchors=10,10
classes=2
num=1
"""
    (folder / "tiny.cfg").write_text(cfg)
    rng = np.random.default_rng(0)
    header = np.array([0, 2, 5, 0, 0], "<i4").tobytes()
    numbers = rng.normal(size=7 + 7 * 3).astype("<f4").tobytes()
    (folder / "tiny.weights").write_bytes(header + numbers)
    (folder / "tiny.names").write_text("disc\nsquare\n")
    return folder / "tiny.cfg"
