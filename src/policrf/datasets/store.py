"""Prepared records as Parquet shards: the one place that touches pyarrow.

A folder holds recipe.json (how the data was made), shards/part-NNNNN.parquet (one record a row and
row group, so that any record is read alone), index.json (the names, written last: the folder is
complete) and report.json (what was skipped and why). Everything in it depends on the inputs alone,
not on when it was made, nor on how often that was interrupted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from policrf.crf.io.files import atomic_write
from policrf.crf.io.json_text import read_json
from policrf.errors import InvalidFile
from policrf.metrics import dense_matrix, sparse_rows
from policrf.optional import need
from policrf.vision.nets.hypercolumns import Reduction
from policrf.vision.recipe import read_recipe
from policrf.vision.record import ARRAYS, COUNTS, Record

SHARD_SIZE = 32
_INTEGERS = {
    "size", "pixels", "edges", "far_edges", "length", "box_labels", "box_support", "box_ptr",
    "box_nodes", "truth", "net_confusion",
}  # fmt: skip
# Columns of the two-dimensional arrays whose width is always the same.
_WIDTH = {
    "colour": 3, "position": 2, "edges": 2, "far_edges": 2, "boxes": 4,
}  # fmt: skip


def shard_path(folder: Path, number: int) -> Path:
    """Where shard `number` of a prepared folder is."""
    return folder / "shards" / f"part-{number:05d}.parquet"


def write_shard(path: Path, records: Sequence[Record], skipped: Sequence[tuple[str, str]]) -> None:
    """One shard: the records, and in its metadata the names, sizes and what was skipped."""
    arrow, parquet = need("pyarrow", "pyarrow"), need("pyarrow.parquet", "pyarrow")
    summary = {
        "names": [record.name for record in records],
        "nodes": [record.n_nodes for record in records],
        "skipped": [list(entry) for entry in skipped],
    }
    schema = _schema(arrow).with_metadata({"policrf": json.dumps(summary)})
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with parquet.ParquetWriter(
            temporary, schema, compression="lz4", use_dictionary=False, write_statistics=False
        ) as writer:
            for record in records:
                writer.write_table(_row(arrow, schema, record), row_group_size=1)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InvalidFile(
            f"{path}: cannot be written ({error.strerror or error}); what is finished is kept, and "
            "the same command goes on from there"
        ) from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_summary(path: Path) -> dict[str, Any]:
    """What `write_shard` put in the metadata."""
    try:
        metadata = need("pyarrow.parquet", "pyarrow").read_schema(path).metadata
        summary: dict[str, Any] = json.loads(metadata[b"policrf"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InvalidFile(
            f"{path}: not a shard of prepared data ({error}); delete it and prepare again"
        ) from None
    return summary


class Prepared:
    """A folder of prepared records, read one at a time."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        index = read_part(self.folder, "index.json")
        about = read_part(self.folder, "recipe.json")
        self.recipe = read_recipe(about, self.folder)
        self.labels = self.recipe.labels
        self.names: list[str] = index["names"]
        self.n_nodes: list[int] = index["nodes"]
        self._places: list[tuple[int, int]] = [tuple(place) for place in index["places"]]

    def __len__(self) -> int:
        return len(self.names)

    def record(self, position: int) -> Record:
        """Read one record from disk."""
        shard, row = self._places[position]
        path = shard_path(self.folder, shard)
        try:
            table = _open_shard(path).read_row_group(row, use_threads=False)
        except (OSError, ValueError, IndexError) as error:
            raise InvalidFile(f"{path}: the shard cannot be read ({error})") from None
        return _record(table)

    def position(self, name: str) -> int:
        """Where the record of that name is."""
        try:
            return self.names.index(name)
        except ValueError:
            raise InvalidFile(f"{self.folder}: there is no prepared image {name!r}") from None

    def reduction(self) -> Reduction | None:
        """The principal components that were used, if any."""
        return read_reduction(self.folder)


def write_reduction(folder: Path, reduction: Reduction) -> None:
    """Keep the principal components beside the recipe."""
    for name, values in (("mean", reduction.mean), ("components", reduction.components)):
        with atomic_write(folder / f"hypercolumn_{name}.npy") as file:
            np.save(file, values)


def read_reduction(folder: Path) -> Reduction | None:
    """What `write_reduction` wrote; None where it did not."""
    mean, components = folder / "hypercolumn_mean.npy", folder / "hypercolumn_components.npy"
    if not (mean.exists() and components.exists()):
        return None
    try:
        return Reduction(np.load(mean), np.load(components))
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{folder}: the principal components are damaged ({error})") from None


def read_part(folder: Path, name: str) -> Any:
    """A JSON file of a prepared folder; a missing one says that the folder is not finished."""
    if not (folder / name).is_file():
        raise InvalidFile(
            f"{folder}: not a finished folder of prepared data ({name} is missing); "
            "run the policrf prepare that makes it (again)"
        )
    return read_json(folder / name)


@lru_cache(maxsize=32)
def _open_shard(path: Path) -> Any:
    return need("pyarrow.parquet", "pyarrow").ParquetFile(path, memory_map=True)


def _schema(arrow: Any) -> Any:
    columns = [("name", arrow.string()), ("height", arrow.int32()), ("width", arrow.int32()),
               ("has_truth", arrow.bool_())]  # fmt: skip
    for name in ARRAYS:
        kind = arrow.int32() if name in _INTEGERS else arrow.float32()
        columns.append((name, arrow.list_(kind)))
    return arrow.schema(columns)


def _row(arrow: Any, schema: Any, record: Record) -> Any:
    columns = [[record.name], [record.height], [record.width], [record.truth is not None]]
    for name in ARRAYS:
        kind = np.int32 if name in _INTEGERS else np.float32
        flat = np.ascontiguousarray(_stored(record, name), kind).reshape(-1)
        columns.append(arrow.ListArray.from_arrays([0, len(flat)], arrow.array(flat)))
    return arrow.table(columns, schema=schema)


def _stored(record: Record, name: str) -> Any:
    """A field in the form on disk: counts as rows of their nonzero entries, none without truth."""
    values = getattr(record, name)
    if name not in COUNTS:
        return values
    return np.zeros((0, 3), np.int32) if values is None else sparse_rows(values)


def _record(table: Any) -> Record:
    arrays: dict[str, Any] = {}
    for name in ARRAYS:
        arrays[name] = table.column(name).chunk(0).values.to_numpy()
    n_nodes, n_boxes = len(arrays["size"]), len(arrays["box_scores"])
    n_labels = len(arrays["distribution"]) // n_nodes
    for name, width in _WIDTH.items():
        arrays[name] = arrays[name].reshape(-1, width)
    for name in ("distribution", "log_probability"):
        arrays[name] = arrays[name].reshape(n_nodes, n_labels)
    arrays["appearance"] = arrays["appearance"].reshape(n_nodes, -1)
    arrays["box_distribution"] = arrays["box_distribution"].reshape(n_boxes, n_labels)
    has_truth = table.column("has_truth")[0].as_py()
    for name, height in zip(COUNTS, (n_nodes, n_labels), strict=True):
        arrays[name] = dense_matrix(arrays[name], (height, n_labels)) if has_truth else None
    plain = {name: table.column(name)[0].as_py() for name in ("name", "height", "width")}
    return Record(**plain, **arrays)
