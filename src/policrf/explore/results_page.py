"""A page over results of `policrf evaluate`: instances, biggest differences first, a scatter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from policrf.errors import InvalidFile
from policrf.evaluation.results import Result, read_results
from policrf.explore.page import write_page
from policrf.metrics import class_iou


def results_file(path: Path) -> Path:
    """The results of an evaluation, given its folder or the file itself."""
    file = path / "results.jsonl" if path.is_dir() else path
    if not file.is_file():
        raise InvalidFile(f"{path}: holds no results.jsonl; give the --out of policrf evaluate")
    return file


def write_results_page(paths: Sequence[Path], out: str | Path) -> int:
    """Write the page of all results together; returns of how many instances it tells."""
    found: dict[tuple[str, str], Result] = {}
    for path in paths:
        for result in read_results(results_file(path)):
            if (kept := found.setdefault(result.key, result)) is not result:
                raise InvalidFile(
                    f"{path}: {kept.solver} on {kept.name} stands in another file too; "
                    "compare evaluations of other solvers, or of other data"
                )
    if not found:
        raise InvalidFile(f"{paths[0]}: there is no result yet")
    data = results_data(list(found.values()))
    title = f"{len(data['solvers'])} solvers on {len(data['instances'])} instances"
    write_page(out, "results", title, data)
    return len(data["instances"])


def results_data(results: Sequence[Result]) -> dict[str, Any]:
    """Solvers, instances, and a row of figures for each pair that there is."""
    solvers = list(dict.fromkeys(result.solver for result in results))
    nodes = {result.name: result.nodes for result in results}
    instances = sorted(nodes)
    place = {name: k for k, name in enumerate(instances)}
    rows = [
        [
            solvers.index(result.solver),
            place[result.name],
            _finite(result.energy),
            instance_iou(result),
            _finite(result.cpu_seconds),
            result.optimal,
            result.failed,
        ]
        for result in results
    ]
    return {
        "solvers": solvers,
        "instances": [{"name": name, "nodes": nodes[name]} for name in instances],
        "rows": rows,
    }


def instance_iou(result: Result) -> float | None:
    """Mean IoU over the classes of this one instance's truth and labels; None without truth."""
    if not result.pixels:
        return None
    counts = np.asarray(result.pixels, np.int64)
    size = int(counts[:, :2].max()) + 1
    confusion = np.zeros((size, size), np.int64)
    np.add.at(confusion, (counts[:, 0], counts[:, 1]), counts[:, 2])
    return _finite(float(np.nanmean(class_iou(confusion))))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
