"""Prepared records as Parquet shards: with `columns` and `packed` the one place for pyarrow.

A folder holds recipe.json (how the data was made), shards/part-NNNNN.parquet (one image a row and
row group, so that any record is read alone, and its pixels only if asked for), index.json (the
names, written last: the folder is complete) and report.json (what was skipped and why). Everything
in it depends on the inputs alone, not on when it was made, nor on how often that was interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from policrf.crf.io.checksums import sealed, unsealed
from policrf.crf.io.files import atomic_write
from policrf.crf.io.json_text import read_sealed_json
from policrf.crf.io.text import parsing
from policrf.datasets.columns import (
    PIXEL_COLUMNS,
    RECORD_COLUMNS,
    digest_of,
    pixels_of,
    record_of,
    row_of,
    schema_of,
)
from policrf.datasets.index_checks import FIX, check_index
from policrf.datasets.kept_pixels import KeptPixels, RebuiltImage, rebuild
from policrf.errors import InvalidFile
from policrf.optional import need
from policrf.vision.nets.hypercolumns import Reduction
from policrf.vision.nets.reduction_files import read_reduction, reduction_digest
from policrf.vision.recipe import read_recipe
from policrf.vision.record import Record

SHARD_SIZE = 32


def shard_path(folder: Path, number: int) -> Path:
    """Where shard `number` of a prepared folder is."""
    return folder / "shards" / f"part-{number:05d}.parquet"


def write_shard(
    path: Path,
    records: Sequence[Record],
    skipped: Sequence[tuple[str, str]],
    pixels: Sequence[KeptPixels] | None = None,
) -> None:
    """One shard: the records, and in its metadata the names, sizes and what was skipped.

    Parameters
    ----------
    path
        The file; it is whole or not there.
    records
        One an image.
    skipped
        Names of images that could not be used, and why.
    pixels
        Of the same images; None keeps none.
    """
    arrow, parquet = need("pyarrow", "pyarrow"), need("pyarrow.parquet", "pyarrow")
    schema = schema_of(arrow, pixels=pixels is not None)
    rows = [
        row_of(arrow, schema, record, None if pixels is None else pixels[k])
        for k, record in enumerate(records)
    ]
    summary = {
        "names": [record.name for record in records],
        "nodes": [record.n_nodes for record in records],
        "digests": [_digests(row, pixels=pixels is not None) for row in rows],
        "skipped": [list(entry) for entry in skipped],
    }
    schema = schema.with_metadata({"policrf": json.dumps(sealed(summary))})
    try:
        with (
            atomic_write(path) as file,
            parquet.ParquetWriter(
                file, schema, compression="lz4", use_dictionary=False, write_statistics=False,
                write_page_checksum=True,
            ) as writer,
        ):  # fmt: skip
            for row in rows:
                writer.write_table(row.cast(schema), row_group_size=1)
    except InvalidFile as error:
        raise InvalidFile(
            f"{error}; what is finished is kept, and the same command goes on from there"
        ) from None


def read_summary(path: Path) -> dict[str, Any]:
    """What `write_shard` put in the metadata."""
    fix = "delete it and prepare again"
    with parsing(path, f"not a shard of prepared data; {fix}"):
        metadata = need("pyarrow.parquet", "pyarrow").read_schema(path).metadata
        loaded = json.loads(metadata[b"policrf"])
    if not isinstance(loaded, dict):
        raise InvalidFile(f"{path}: not a shard of prepared data; {fix}")
    summary = unsealed(loaded, path, fix)
    skipped = summary.pop("skipped", [])
    check_index(summary, path, fix)
    if not isinstance(skipped, list) or not all(_is_skip(entry) for entry in skipped):
        raise InvalidFile(f"{path}: 'skipped' is no list of names and reasons; {fix}")
    none = [None] * len(summary["names"])  # data of older versions has no checksums
    return {"digests": none} | summary | {"skipped": skipped}


def _is_skip(entry: Any) -> bool:
    return isinstance(entry, list) and [type(part) for part in entry] == [str, str]


def _digests(row: Any, *, pixels: bool) -> list[str]:
    """Checksums of an image's record and, where they are kept, of its pixels."""
    parts = [RECORD_COLUMNS, PIXEL_COLUMNS] if pixels else [RECORD_COLUMNS]
    return [digest_of(row, columns) for columns in parts]


class Prepared:
    """A folder of prepared records, read one at a time."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        index = read_part(self.folder, "index.json")
        about = read_part(self.folder, "recipe.json")
        self.recipe = read_recipe(about, self.folder)
        self.labels = self.recipe.labels
        self._reduction = index.pop("reduction", None)
        check_index(index, self.folder / "index.json", FIX, places=True)
        self.names: list[str] = index["names"]
        self.n_nodes: list[int] = index["nodes"]
        self._places: list[tuple[int, int]] = [tuple(place) for place in index["places"]]
        none = [None] * len(self.names)  # data of older versions has no checksums
        self._digests: list[list[str] | None] = index.get("digests", none)

    def __len__(self) -> int:
        return len(self.names)

    def record(self, position: int) -> Record:
        """Read one record from disk."""
        table = self._read(position, RECORD_COLUMNS)
        with parsing(self._path(position), f"the record {self.names[position]} is damaged"):
            record = record_of(table)
        wanted = (self.names[position], self.n_nodes[position], len(self.labels))
        if (record.name, record.n_nodes, record.n_labels) != wanted:
            raise InvalidFile(
                f"{self._path(position)}: {self.names[position]} is not where the index says; {FIX}"
            )
        return record

    def rebuilt(self, position: int, record: Record) -> RebuiltImage:
        """The pixel maps of one image, from what was kept of its pixels.

        Parameters
        ----------
        position
            Which image.
        record
            Its record.
        """
        if not self.recipe.keep_pixels:
            raise InvalidFile(
                f"{self.folder}: the pixels were not kept; prepare the images with --keep-pixels"
            )
        table = self._read(position, PIXEL_COLUMNS)
        sentence = f"the pixels of {record.name} are damaged; delete the shard and prepare again"
        with parsing(self._path(position), sentence):
            return rebuild(pixels_of(table), record, self.recipe)

    def _path(self, position: int) -> Path:
        return shard_path(self.folder, self._places[position][0])

    def _read(self, position: int, columns: list[str]) -> Any:
        """Some columns of an image, whose checksum holds."""
        path, row = self._path(position), self._places[position][1]
        digests, part = self._digests[position], int(columns is PIXEL_COLUMNS)
        with parsing(path, "the shard cannot be read; delete it and prepare again"):
            table = _open_shard(path).read_row_group(row, columns=columns, use_threads=False)
            found = digest_of(table, columns) if digests is not None else ""
        if digests is not None and found != (digests[part] if part < len(digests) else ""):
            raise InvalidFile(
                f"{path}: what it holds of {self.names[position]} is damaged (its checksum is "
                "wrong); delete the shard and prepare again"
            )
        return table

    def position(self, name: str) -> int:
        """Where the record of that name is."""
        try:
            return self.names.index(name)
        except ValueError:
            raise InvalidFile(f"{self.folder}: there is no prepared image {name!r}") from None

    def reduction(self) -> Reduction | None:
        """The principal components that were used, if any."""
        found = read_reduction(self.folder)
        if self._reduction is not None and self._reduction != reduction_digest(found):
            raise InvalidFile(f"{self.folder}: the principal components are damaged; {FIX}")
        return found


def read_part(folder: Path, name: str) -> dict[str, Any]:
    """A JSON file of a prepared folder; a missing one says that the folder is not finished."""
    if not (folder / name).is_file():
        raise InvalidFile(
            f"{folder}: not a finished folder of prepared data ({name} is missing); "
            "run the policrf prepare that makes it (again)"
        )
    return read_sealed_json(folder / name, FIX)


@lru_cache(maxsize=32)
def _open_shard(path: Path) -> Any:
    return need("pyarrow.parquet", "pyarrow").ParquetFile(
        path, memory_map=True, page_checksum_verification=True
    )
