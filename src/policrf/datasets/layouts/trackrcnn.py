"""TrackR-CNN result files as unaries and boxes for MOTS.

One file SEQ.txt a sequence, one line a detection: frame, left, top, right, bottom, confidence,
class, height, width, mask (further columns, the re-identification vector, are not read). The
probability of a class at a pixel is the highest confidence of its masks there; what no mask claims
is background.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from policrf.crf.io.text import read_text
from policrf.datasets.layouts.rle import decode_mask
from policrf.errors import InvalidFile
from policrf.types import Float32Array
from policrf.vision.boxes import PLAIN, Detections

_Row = tuple[int, list[float], float, int, int, int, str]


@dataclass(frozen=True)
class TrackRcnn:
    """A folder of result files."""

    folder: Path
    n_labels: int
    threshold: float = 0.0

    def __call__(self, name: str, height: int, width: int) -> tuple[Float32Array, Detections]:
        """Scores `[H, W, L]` (probabilities) and boxes of the frame SEQ/FRAME."""
        sequence, _, frame = name.rpartition("/")
        path = Path(self.folder) / f"{sequence}.txt"
        scores = np.zeros((height, width, self.n_labels), np.float32)
        boxes, confidences, labels = [], [], []
        for at, box, confidence, label, rows, columns, counts in _read(path).get(int(frame), []):
            where = f"{path}, line {at}"
            if (rows, columns) != (height, width):
                raise InvalidFile(
                    f"{where}: a mask of {columns}×{rows} for an image of {width}×{height} pixels"
                )
            if not 0 < label < self.n_labels:
                raise InvalidFile(f"{where}: class {label}; classes are 1 … {self.n_labels - 1}")
            if confidence < self.threshold:
                continue
            mask = decode_mask(counts, rows, columns, where)
            scores[mask, label] = np.maximum(scores[mask, label], confidence)
            boxes.append(box)
            confidences.append(confidence)
            labels.append(label)
        scores[:, :, 0] = 1 - scores.max(axis=2)
        scores /= scores.sum(axis=2, keepdims=True)
        if not boxes:
            return scores, Detections.none()
        return scores, Detections(
            np.asarray(boxes, np.float32),
            np.asarray(confidences, np.float32),
            np.asarray(labels, np.int64),
            np.full(len(labels), PLAIN, np.int64),
        )


@cache
def _read(path: Path) -> dict[int, list[_Row]]:
    if not path.is_file():
        raise InvalidFile(f"{path}: there is no result file of this sequence")
    frames: dict[int, list[_Row]] = {}
    for at, line in enumerate(read_text(path).splitlines(), start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            box = [float(text) for text in fields[1:5]]
            kind, height, width = (int(float(text)) for text in fields[6:9])
            confidence = float(fields[5])
            if not np.isfinite(box).all() or not 0 <= confidence <= 1:
                raise ValueError("a confidence outside 0 … 1")
            row = (at, box, confidence, kind, height, width, fields[9])
            frames.setdefault(int(float(fields[0])), []).append(row)
        except (ValueError, IndexError, OverflowError) as error:
            raise InvalidFile(
                f"{path}, line {at}: not frame, box (4), confidence, class, height, width and mask "
                f"({error})"
            ) from None
    return frames
