"""Net files: ONNX, Darknet's two, and TensorFlow Lite where a real one is at hand."""

from __future__ import annotations

import faulthandler
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from tests.robustness.kinds import Kind
from tests.robustness.mutations import mutated, numbers
from tests.shared_data import DATA
from tests.vision.builders import LABELS, write_darknet, write_onnx, write_onnx_detector

from policrf.vision.nets import trial
from policrf.vision.nets.detectors import ClassRoles, Detector, detector_names
from policrf.vision.nets.segmentation_net import SegmentationNet

GREY = np.full((32, 32, 3), 128, np.uint8)
REAL = DATA / "nets" / "deeplabv3_mnv2_dm05_pascal_quant.tflite"
STRUCTURE = 100_000  # bytes at the end of a .tflite file that are no weights


def _forked(path: Path, role: trial.Role) -> int:
    """As `trial.run_apart`, without starting Python again for every damaged file."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            faulthandler.disable()  # pytest's would tell of every crash
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            trial.bound_process(trial.room_for(path))
            code = trial.attempt(path, role)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _tried(read: Any) -> Any:
    """The reader, with trials in forks, of which none is remembered."""

    def reads(path: Path) -> Any:
        before = trial.run_apart, trial._remember, trial._remembered
        trial._passed.clear()
        trial.run_apart, trial._remember = _forked, lambda digest: None
        trial._remembered = lambda digest: False
        try:
            return read(path)
        finally:
            trial.run_apart, trial._remember, trial._remembered = before

    return reads


def _read_net(path: Path) -> Any:
    classes = 21 if path.suffix == ".tflite" else len(LABELS)
    return [grid.values for grid in SegmentationNet(path, classes)(GREY).scores]


def _read_detector(path: Path) -> Any:
    cfg = path.with_suffix(".cfg") if path.suffix == ".weights" else path
    given = path.with_name("d.names") if path.suffix == ".onnx" else None
    names = detector_names(cfg, given)
    roles = ClassRoles.of(names, LABELS, chosen=None, riders=False)
    found = Detector(cfg, roles, threshold=0.1)(GREY)
    return found.boxes, found.scores, found.labels


def _make_onnx(folder: Path) -> Path:
    return write_onnx(folder / "net.onnx", len(LABELS))[0]


def _make_onnx_detector(folder: Path) -> Path:
    (folder / "d.names").write_text("\n".join(LABELS[1:]))
    rows = [[1.0, 2.0, 9.0, 9.0, 0.9, 1.0], [3.0, 2.0, 9.0, 19.0, 0.8, 0.0]]
    return write_onnx_detector(folder / "d.onnx", rows)


def _make_tflite(folder: Path) -> Path:
    return Path(shutil.copy(REAL, folder / "net.tflite"))


def _mutated_tflite(content: bytes, rng: np.random.Generator) -> bytes:
    """Mostly in tables and options: the weights are many, and any is as good as another."""
    if rng.random() < 0.15:
        return mutated(content, rng)
    head, tail = content[:-STRUCTURE], bytearray(content[-STRUCTURE:])
    for at in rng.integers(len(tail), size=int(rng.integers(1, 30))):
        tail[at] = int(rng.choice([0, 1, 2, 127, 128, 255, int(rng.integers(256))]))
    return head + bytes(tail)


def _mutated_cfg(content: bytes, rng: np.random.Generator) -> bytes:
    return numbers(content, rng) if rng.random() < 0.5 else mutated(content, rng)


NET_KINDS = [
    Kind("net .onnx", _make_onnx, _tried(_read_net)),
    Kind("detector .onnx", _make_onnx_detector, _tried(_read_detector)),
    Kind("detector .cfg", write_darknet, _tried(_read_detector), mutate=_mutated_cfg),
    Kind(
        "detector .weights",
        lambda folder: write_darknet(folder).with_suffix(".weights"),
        _tried(_read_detector),
    ),
    *(
        [Kind("net .tflite", _make_tflite, _tried(_read_net), mutate=_mutated_tflite)]
        if REAL.is_file()
        else []
    ),
]
