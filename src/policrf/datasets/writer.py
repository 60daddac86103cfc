"""write_prepared: the folder of prepared records, on all cores, going on where it was stopped.

Images are worked on in order and written in shards of fixed size, each whole or not at all, so that
a run that was killed and started again ends with the same bytes as one that was not, with any
number of processes.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np

from policrf.crf.io.files import make_folder
from policrf.crf.io.json_text import read_json, write_json
from policrf.datasets.base import Sample
from policrf.datasets.plan import Plan, Skip, Summary, make_columns, make_record
from policrf.datasets.store import (
    SHARD_SIZE,
    read_reduction,
    read_summary,
    shard_path,
    write_reduction,
    write_shard,
)
from policrf.datasets.workers import Advance, each
from policrf.errors import InvalidFile, InvalidOption
from policrf.vision.nets.hypercolumns import Reduction
from policrf.vision.recipe import Recipe, library_versions, read_recipe
from policrf.vision.record import Record

FITTING_IMAGES = 24  # evenly spaced over the data set, for the principal components


def write_prepared(
    plan: Plan, out: str | Path, *, jobs: int = 1, advance: Advance = lambda name: None
) -> Summary:
    """Write a prepared folder.

    Parameters
    ----------
    plan
        The images, and how each becomes a record.
    out
        The folder.
    jobs
        Processes.
    advance
        Called with the name of every image that is done.
    """
    folder = Path(out)
    samples = plan.samples()
    plan = replace(plan, inputs=replace(plan.inputs, recipe=_described(plan, samples)))
    plan.pipeline().load()
    _start(folder, plan.inputs.recipe)
    plan = replace(plan, reduction=_reduction(plan, folder, samples, jobs))
    numbers = range(-(-len(samples) // SHARD_SIZE))
    missing = [k for k in numbers if not shard_path(folder, k).exists()]
    total = len(samples)
    todo = [sample for number in missing for sample in _part(samples, number)]
    for sample in samples[: total - len(todo)]:
        advance(sample.name)
    with closing(each(make_record, plan, todo, jobs)) as results:
        for number in missing:
            records, skips = [], []
            for sample in _part(samples, number):
                result = next(results)
                advance(sample.name)
                if isinstance(result, Record):
                    records.append(result)
                elif plan.options.strict:
                    raise InvalidFile(f"{result.name}: {result.reason} (--strict stops here)")
                else:
                    skips.append(result)
            write_shard(shard_path(folder, number), records, [astuple(skip) for skip in skips])
    nodes, skips = _finish(folder, len(numbers))
    if not nodes:
        first = f"; the first, {skips[0].name}: {skips[0].reason}" if skips else ""
        raise InvalidFile(f"{folder}: none of {total} images could be used{first}")
    return Summary(
        prepared=len(nodes),
        skipped=tuple(skips),
        reused=total - len(todo),
        superpixels=float(np.mean(nodes)),
    )


def _part(samples: list[Sample], number: int) -> list[Sample]:
    """The images of one shard."""
    return samples[number * SHARD_SIZE : (number + 1) * SHARD_SIZE]


def _described(plan: Plan, samples: list[Sample]) -> Recipe:
    recipe = plan.inputs.recipe
    names = "\n".join(sample.name for sample in samples)
    digest = hashlib.sha256(names.encode()).hexdigest()
    return replace(recipe, dataset=recipe.dataset | {"images": len(samples), "names": digest})


def _start(folder: Path, recipe: Recipe) -> None:
    """Make the folder, or check that an unfinished one has the same recipe and versions."""
    file = folder / "recipe.json"
    content = {"recipe": recipe.as_dict(), "versions": library_versions()}
    if file.exists():
        there = read_json(file)
        difference = recipe.difference(read_recipe(there, folder))
        if difference is None and there["versions"] != content["versions"]:
            difference = "it was made with other versions of the libraries"
        if difference is not None:
            raise InvalidOption(
                f"{folder} holds data of another recipe: {difference}; choose another --out, or "
                "delete the folder"
            )
        for leftover in (*folder.glob(".*"), *(folder / "shards").glob(".*")):
            leftover.unlink()  # what a killed run was writing
        return
    make_folder(folder / "shards")
    write_json(file, content)


def _reduction(plan: Plan, folder: Path, samples: list[Sample], jobs: int) -> Reduction | None:
    size, like = plan.inputs.recipe.components, plan.options.like
    if size == 0:
        return None
    found = read_reduction(folder)
    if found is None and like is not None:
        found = read_reduction(like)
        if found is None:
            raise InvalidFile(f"{like}: there are no principal components to take from here")
    elif found is None:
        count = min(FITTING_IMAGES, len(samples))
        chosen = np.unique(np.linspace(0, len(samples) - 1, count).round().astype(int))
        parts = list(each(make_columns, plan, [samples[k] for k in chosen], jobs))
        columns = [part for part in parts if not isinstance(part, Skip)]
        if not columns:
            reasons = [part.reason for part in parts if isinstance(part, Skip)]
            raise InvalidFile(f"none of the images could be used: {reasons[0]}")
        found = Reduction.fit(np.concatenate(columns), size)
    write_reduction(folder, found)
    return found


def _finish(folder: Path, n_shards: int) -> tuple[list[int], list[Skip]]:
    """Write the report and, last, the index; the numbers of superpixels, and what was skipped."""
    names, nodes, places, skips = [], [], [], []
    for number in range(n_shards):
        summary = read_summary(shard_path(folder, number))
        places += [[number, row] for row in range(len(summary["names"]))]
        names += summary["names"]
        nodes += summary["nodes"]
        skips += [Skip(name, reason) for name, reason in summary["skipped"]]
    report = {
        "prepared": len(names),
        "skipped": [{"name": skip.name, "reason": skip.reason} for skip in skips],
    }
    write_json(folder / "report.json", report)
    write_json(folder / "index.json", {"names": names, "nodes": nodes, "places": places})
    return nodes, skips
