"""What runs leave on disk: prepared folders, results, the journal of a calibration."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
from pyarrow import parquet
from tests.robustness.kinds import Kind
from tests.robustness.mutations import Mutation, mutated, mutated_array, mutated_values
from tests.vision.builders import call, prepare_arguments, write_scene_folder

from policrf.bench.result_log import ResultLog
from policrf.cli import evaluate, train
from policrf.datasets.store import Prepared, _open_shard
from policrf.evaluation.results import Result, read_results, rewrite
from policrf.learn.options import DQN
from policrf.learn.options.flat_fields import flat
from policrf.learn.tuning.journal import Journal as Measurements
from policrf.vision.calibration.journal import Journal
from policrf.vision.energy.build import to_instance
from policrf.vision.energy.weights import Energy
from policrf.vision.record import ARRAYS

TUNED = {"goal": "energy", "budget": "10us", "seed": 0}
QUESTION, SHAPE = "what is asked", (2, 5)


@cache
def _prepared_folder() -> Path:
    """A prepared folder of three images, made once."""
    root = Path(tempfile.mkdtemp(prefix="policrf-fuzz-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    write_scene_folder(root, 3, (32, 40))
    with contextlib.redirect_stdout(io.StringIO()):
        assert call(prepare_arguments(root, root / "prepared")) == 0
    return root / "prepared"


def _make_prepared(file: str, *, sealed: bool = True) -> Any:
    def make(folder: Path) -> Path:
        shutil.copytree(_prepared_folder(), folder, dirs_exist_ok=True)
        if not sealed:
            for name in ("index.json", "recipe.json"):
                values = json.loads((folder / name).read_text())
                for key in ("sha256", "digests", "reduction"):
                    values.pop(key, None)
                (folder / name).write_text(json.dumps(values))
        return folder / file

    return make


def mutated_shard(content: bytes, rng: np.random.Generator) -> bytes:
    """A shard that Parquet's own checks pass, in which one column of one image is another."""
    if rng.random() < 0.3:
        return mutated(content, rng)
    file = parquet.ParquetFile(io.BytesIO(content))
    tables = [file.read_row_group(k) for k in range(file.num_row_groups)]
    chosen = int(rng.integers(len(tables)))
    column = int(rng.integers(tables[chosen].num_columns))
    field = tables[chosen].schema.field(column)
    value = tables[chosen].column(column)[0].as_py()
    with contextlib.suppress(arrow.ArrowException, ValueError, OverflowError, TypeError):
        new = arrow.array([_mutated_value(value, rng)], field.type)
        tables[chosen] = tables[chosen].set_column(column, field, new)
    out = io.BytesIO()
    with parquet.ParquetWriter(out, file.schema_arrow) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=1)
    return out.getvalue()


def _mutated_value(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, bytes):
        return mutated(value, rng)
    if isinstance(value, list) and value and not isinstance(value[0], bytes):
        return mutated_array(np.array(value), rng).reshape(-1).tolist()
    others = [None, "x", -1, 0, 2**31 - 1, True, [], [b""]]
    return others[int(rng.integers(len(others)))]


def _read_prepared(depth: int) -> Any:
    def read(path: Path) -> Any:
        _open_shard.cache_clear()
        store = Prepared(path.parents[depth])
        found: dict[str, Any] = {"recipe": store.recipe.as_dict(), "names": store.names}
        reduction = store.reduction()
        found["reduction"] = None if reduction is None else (reduction.mean, reduction.components)
        for k in range(len(store)):
            record = store.record(k)
            pixels = store.rebuilt(k, record)
            to_instance(record, Energy(), potentials="u+p+hop1+hop2", features="paper")
            found[f"record {k}"] = [getattr(record, name) for name in ("name", "height", *ARRAYS)]
            found[f"pixels {k}"] = [pixels.maps.segments, pixels.maps.distribution, pixels.truth]
        return found

    return read


def _make_results(folder: Path) -> Path:
    results = [
        Result(solver, f"Straße {k}", 5, 1.5 + k, {"unary": 1.0}, -1.0, False, 0.1, 0.1,
               pixels=[[0, 1, 5]])
        for solver in ("icm", "unary") for k in range(3)
    ]  # fmt: skip
    rewrite(folder / "results.jsonl", results)
    return folder / "results.jsonl"


def _read_results(path: Path) -> Any:
    return {result.key: vars(result) for result in read_results(path)}


def _make_journal(folder: Path) -> Path:
    journal = Journal(folder / "journal.jsonl", QUESTION)
    rng = np.random.default_rng(0)
    for image in range(4):
        journal.add(("alpha", image), rng.integers(0, 9, (SHAPE[0], 2, SHAPE[1])))
    journal.close()
    return folder / "journal.jsonl"


def _read_journal(path: Path) -> Any:
    journal = Journal(path, QUESTION)
    journal.close()
    found = {image: journal.get(("alpha", image), SHAPE) for image in range(4)}
    return {image: counts for image, counts in found.items() if counts is not None}


def _make_measurements(folder: Path) -> Path:
    journal = Measurements(folder, TUNED, resume=False)
    for trial in range(6):
        journal.recall(f"candidate {trial}", lambda trial=trial: [1.5 + trial, 0.25, 0.5])
    journal.recall("candidates of race 0", lambda: 12)
    return folder / "journal.jsonl"


def _read_measurements(path: Path) -> Any:
    return Measurements(path.parent, TUNED, resume=True).values


def _make_bench(folder: Path) -> Path:
    log = ResultLog(folder, {"seed": 3})
    for k in range(4):
        log.append({"row": "icm", "n": 50, "seed": k, "energy": float("inf") if k else 1.5})
    return folder / "results.jsonl"


def _read_bench(path: Path) -> Any:
    return {str(found["seed"]): found for found in ResultLog(path.parent, {"seed": 3}).results}


def _make_evaluation(folder: Path) -> Path:
    evaluate._begin(_evaluation(folder), [])
    return folder / "config.json"


def _evaluation(folder: Path) -> evaluate.Config:
    return evaluate.Config(data="synthetic:A:20", out=folder, seconds=0.5)


def _read_evaluation(path: Path) -> Any:
    evaluate._begin(_evaluation(path.parent), [])
    return "goes on"


def _training(folder: Path, **more: Any) -> train.Training[DQN]:
    return train.Training(data="synthetic:A:20", out=folder, method=DQN(), **more)


def _make_training(folder: Path) -> Path:
    train._record(_training(folder))
    (folder / "checkpoint.safetensors").touch()
    return folder / "config.json"


def _read_training(path: Path) -> Any:
    found = flat(train._resumed(_training(path.parent, resume=True)))
    return {name: value for name, value in found.items() if name != "out"}


def _prepared_kind(name: str, file: str, mutate: Mutation | None = None, *, sealed: bool) -> Kind:
    read = _read_prepared(1 if "/" in file else 0)
    more = {} if mutate is None else {"mutate": mutate}
    return Kind(name, _make_prepared(file, sealed=sealed), read, sealed=sealed, **more)


SHARD = "shards/part-00000.parquet"
RUN_KINDS = [
    _prepared_kind("prepared: index.json", "index.json", mutated_values, sealed=True),
    _prepared_kind("prepared: recipe.json", "recipe.json", mutated_values, sealed=True),
    _prepared_kind("prepared: shard", SHARD, sealed=True),
    _prepared_kind("prepared: components", "hypercolumn_mean.npy", sealed=True),
    _prepared_kind("prepared: index.json, no checksum", "index.json", mutated_values, sealed=False),
    _prepared_kind(
        "prepared: recipe.json, no checksum", "recipe.json", mutated_values, sealed=False
    ),
    _prepared_kind("prepared: shard, no checksum", SHARD, mutated_shard, sealed=False),
    Kind("results.jsonl", _make_results, _read_results, sealed=True, part=True),
    Kind("calibration journal", _make_journal, _read_journal, sealed=True, part=True),
    Kind("tuning journal", _make_measurements, _read_measurements, sealed=True, part=True),
    Kind("bench results.jsonl", _make_bench, _read_bench, sealed=True, part=True),
    Kind(
        "evaluate config.json",
        _make_evaluation,
        _read_evaluation,
        sealed=True,
        mutate=mutated_values,
    ),
    Kind("train config.json", _make_training, _read_training, sealed=True, mutate=mutated_values),
]
