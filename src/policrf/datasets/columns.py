"""Records and kept pixels as columns of a Parquet table, one image a row."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from policrf.datasets.kept_pixels import KeptPixels
from policrf.metrics import dense_matrix, sparse_rows
from policrf.vision.record import ARRAYS, COUNTS, Record
from policrf.vision.record_checks import check_record

_INTEGERS = {
    "size", "pixels", "edges", "far_edges", "length", "box_labels", "box_support", "box_ptr",
    "box_nodes", "truth", "net_confusion",
}  # fmt: skip
# Columns of the two-dimensional arrays whose width is always the same.
_WIDTH = {
    "colour": 3, "position": 2, "edges": 2, "far_edges": 2, "boxes": 4,
}  # fmt: skip
_PLAIN = ("name", "height", "width", "has_truth")
RECORD_COLUMNS = [*_PLAIN, *ARRAYS]
PIXEL_COLUMNS = [f"map_{name}" for name in KeptPixels._fields]


def schema_of(arrow: Any, *, pixels: bool) -> Any:
    """The columns of a shard, with those of the pixels or without."""
    kinds = (arrow.string(), arrow.int32(), arrow.int32(), arrow.bool_())
    columns = list(zip(_PLAIN, kinds, strict=True))
    for name in ARRAYS:
        kind = arrow.int32() if name in _INTEGERS else arrow.float32()
        columns.append((name, arrow.list_(kind)))
    if pixels:
        content, places = arrow.binary(), arrow.list_(arrow.float64())
        kept = (content, content, arrow.list_(content), places, content)
        columns += zip(PIXEL_COLUMNS, kept, strict=True)
    return arrow.schema(columns)


def row_of(arrow: Any, schema: Any, record: Record, pixels: KeptPixels | None) -> Any:
    """A table of one image."""
    columns = [[record.name], [record.height], [record.width], [record.truth is not None]]
    for name in ARRAYS:
        kind = np.int32 if name in _INTEGERS else np.float32
        flat = np.ascontiguousarray(_stored(record, name), kind).reshape(-1)
        columns.append(arrow.ListArray.from_arrays([0, len(flat)], arrow.array(flat)))
    if pixels is not None:
        columns += [
            [pixels.image], [pixels.segments], [list(pixels.scores)],
            [pixels.places.reshape(-1).tolist()], [pixels.truth],
        ]  # fmt: skip
    return arrow.table(columns, schema=schema)


def _stored(record: Record, name: str) -> Any:
    """A field in the form on disk: counts as rows of their nonzero entries, none without truth."""
    values = getattr(record, name)
    if name not in COUNTS:
        return values
    return np.zeros((0, 3), np.int32) if values is None else sparse_rows(values)


def digest_of(table: Any, columns: Sequence[str]) -> str:
    """A checksum of some columns of a table of one image."""
    digest = hashlib.sha256()
    for name in columns:
        column = table.column(name)
        if name in ARRAYS:
            values = column.chunk(0).values.to_numpy()
            digest.update(f"{name} {values.dtype.str} {len(values)} ".encode())
            digest.update(values)
            continue
        found = column[0].as_py()
        for part in found if isinstance(found, list) else (found,):
            digest.update(f"{name} {type(part).__name__} ".encode())
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
    return digest.hexdigest()


def record_of(table: Any) -> Record:
    """The record of a table of one image; a ValueError for columns that do not fit together."""
    if table.num_rows != 1:
        raise ValueError(f"{table.num_rows} images in one row group")
    arrays: dict[str, Any] = {}
    for name in ARRAYS:
        arrays[name] = table.column(name).chunk(0).values.to_numpy()
    n_nodes, n_boxes = len(arrays["size"]), len(arrays["box_scores"])
    if n_nodes == 0:
        raise ValueError("there are no superpixels")
    n_labels = len(arrays["distribution"]) // n_nodes
    for name, width in _WIDTH.items():
        arrays[name] = arrays[name].reshape(-1, width)
    for name in ("distribution", "log_probability"):
        arrays[name] = arrays[name].reshape(n_nodes, n_labels)
    arrays["appearance"] = arrays["appearance"].reshape(n_nodes, -1)
    arrays["box_distribution"] = arrays["box_distribution"].reshape(n_boxes, n_labels)
    has_truth = table.column("has_truth")[0].as_py()
    for name, height in zip(COUNTS, (n_nodes, n_labels), strict=True):
        rows = arrays[name].reshape(-1, 3)
        if (rows < 0).any() or (rows[:, :2] >= (height, n_labels)).any():
            raise ValueError(f"{name} counts what is not there")
        arrays[name] = dense_matrix(arrays[name], (height, n_labels)) if has_truth else None
    plain = {name: table.column(name)[0].as_py() for name in ("name", "height", "width")}
    record = Record(**plain, **arrays)
    check_record(record)
    return record


def pixels_of(table: Any) -> KeptPixels:
    """The pixels of a table of one image; a KeyError where it has none."""
    image, segments, scores, places, truth = (
        table.column(name)[0].as_py() for name in PIXEL_COLUMNS
    )
    return KeptPixels(
        image=image,
        segments=segments,
        scores=tuple(scores),
        places=np.asarray(places, np.float64).reshape(-1, 8),
        truth=truth,
    )
