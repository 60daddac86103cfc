"""Precomputed detections in COCO's results format (JSON)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policrf import limits
from policrf.crf.io.json_text import read_json
from policrf.errors import InvalidFile
from policrf.vision.boxes import Detections
from policrf.vision.classes import read_names
from policrf.vision.nets.detectors import ClassRoles


class CocoDetections:
    """Detections in COCO's results format: a list of image_id, category_id, bbox and score.

    `categories` gives category_id -> class name: a COCO annotation file (whose images also map ids
    to file names), or a names file, whose first line is category 1.
    """

    def __init__(
        self,
        results: str | Path,
        categories: str | Path,
        labels: Sequence[str],
        *,
        chosen: Mapping[str, str | None] | None = None,
        riders: bool = False,
        threshold: float = 0.0,
    ) -> None:
        self.path = str(results)
        rows = read_json(results)
        if not isinstance(rows, list):
            raise InvalidFile(f"{results}: COCO results are a list of detections")
        names, stems = _read_categories(categories)
        order = sorted(names)
        self._roles = ClassRoles.of([names[k] for k in order], labels, chosen=chosen, riders=riders)
        index = {category: k for k, category in enumerate(order)}
        self._rows: dict[str, list[tuple[list[float], float, int]]] = {}
        for at, row in enumerate(rows):
            stem, box, score, category = _parse_row(row, at, self.path)
            if category not in index:
                raise InvalidFile(
                    f"{results}: detection {at} has category {category}, which {categories} lacks"
                )
            if score >= threshold:
                entry = (box, score, index[category])
                self._rows.setdefault(stems.get(stem, stem), []).append(entry)

    def __call__(self, name: str) -> Detections:
        """The detections of one image, by its file name without suffix."""
        digits = "".join(letter for letter in name if letter.isdigit()).lstrip("0")
        rows = self._rows.get(name) or self._rows.get(digits) or []
        if not rows:
            return Detections.none()
        return self._roles.detections(
            np.asarray([row[0] for row in rows], np.float32),
            np.asarray([row[1] for row in rows], np.float32),
            np.asarray([row[2] for row in rows], np.int64),
            self.path,
        )


def _parse_row(row: Any, at: int, where: str) -> tuple[str, list[float], float, int]:
    try:
        x, y, width, height = (float(value) for value in row["bbox"])
        image, category, score = row["image_id"], row["category_id"], float(row["score"])
        if not isinstance(image, int | str) or not isinstance(category, int):
            raise TypeError("image_id is a number or text, category_id a number")
        box = [x, y, x + width, y + height]
        if not np.isfinite([*box, score]).all() or max(map(abs, box)) > limits.LARGEST_WEIGHT:
            raise ValueError("bbox and score must be finite")
        image = str(image)
        stem = image.lstrip("0") if image.isdigit() else Path(image).stem
        return stem, box, score, category
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InvalidFile(
            f"{where}: detection {at} needs image_id, category_id, bbox and score ({error!r:.200})"
        ) from None


def _read_categories(path: str | Path) -> tuple[dict[int, str], dict[str, str]]:
    if Path(path).suffix != ".json":
        return dict(enumerate(read_names(path), start=1)), {}
    loaded = read_json(path)
    try:
        names = {int(row["id"]): str(row["name"]) for row in loaded["categories"]}
        if not names:
            raise ValueError("no categories")
        stems = {
            str(row["id"]).lstrip("0"): Path(row["file_name"]).stem
            for row in loaded.get("images", [])
        }
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InvalidFile(f"{path}: not a COCO annotation file ({error!r:.200})") from None
    return names, stems
