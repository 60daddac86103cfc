"""write_prepared: the folder of prepared records, on all cores, going on where it was stopped.

Images are worked on in order and written in shards of fixed size, each whole or not at all, so that
a run that was killed and started again ends with the same bytes as one that was not, with any
number of processes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np

from policrf.crf.io.files import make_folder
from policrf.crf.io.json_text import write_json, write_sealed_json
from policrf.crf.io.outputs import check_output_folder, claimed, remove_unfinished
from policrf.datasets.base import Sample
from policrf.datasets.plan import Made, Plan, Skip, Summary, make_columns, make_record
from policrf.datasets.store import (
    SHARD_SIZE,
    read_part,
    read_summary,
    shard_path,
    write_shard,
)
from policrf.errors import InvalidFile, InvalidOption
from policrf.execution.executor import Advance, Executor, each
from policrf.execution.processes import chosen
from policrf.vision.nets.hypercolumns import Reduction
from policrf.vision.nets.reduction_files import read_reduction, reduction_digest, write_reduction
from policrf.vision.recipe import Recipe, library_versions, read_recipe

FITTING_IMAGES = 24  # evenly spaced over the data set, for the principal components


def write_prepared(
    plan: Plan, out: str | Path, *, jobs: int = 1, executor: Executor | None = None,
    advance: Advance = lambda name: None,
) -> Summary:  # fmt: skip
    """Write a prepared folder.

    Parameters
    ----------
    plan
        The images, and how each becomes a record.
    out
        The folder.
    jobs
        Processes.
    executor
        Who does the work instead of processes; only this process writes.
    advance
        Called with the name of every image that is done.
    """
    samples = plan.samples()
    plan = replace(plan, inputs=replace(plan.inputs, recipe=_described(plan, samples)))
    check_output_folder(out)
    plan.pipeline().load()
    with claimed(out) as folder:
        return _write_all(plan, folder, samples, chosen(executor, jobs), advance)


def _write_all(
    plan: Plan, folder: Path, samples: list[Sample], executor: Executor, advance: Advance
) -> Summary:
    _start(folder, plan.inputs.recipe)
    plan = replace(plan, reduction=_reduction(plan, folder, samples, executor))
    numbers = range(-(-len(samples) // SHARD_SIZE))
    missing = [k for k in numbers if not shard_path(folder, k).exists()]
    total = len(samples)
    todo = [sample for number in missing for sample in _part(samples, number)]
    for sample in samples[: total - len(todo)]:
        advance(sample.name)
    with closing(each(make_record, plan, todo, executor)) as results:
        for number in missing:
            made, skips = [], []
            for sample in _part(samples, number):
                result = next(results)
                advance(sample.name)
                if isinstance(result, Made):
                    made.append(result)
                elif plan.options.strict:
                    raise InvalidFile(f"{result.name}: {result.reason} (--strict stops here)")
                else:
                    skips.append(result)
            _write(shard_path(folder, number), made, skips, plan.inputs.recipe)
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


def _write(path: Path, made: Sequence[Made], skips: Sequence[Skip], recipe: Recipe) -> None:
    kept = [one.pixels for one in made if one.pixels is not None]
    write_shard(
        path,
        [one.record for one in made],
        [astuple(skip) for skip in skips],
        kept if recipe.keep_pixels else None,
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
        there = read_part(folder, file.name)
        difference = recipe.difference(read_recipe(there, folder))
        if difference is None and there["versions"] != content["versions"]:
            difference = "it was made with other versions of the libraries"
        if difference is not None:
            raise InvalidOption(
                f"{folder} holds data of another recipe: {difference}; choose another --out, or "
                "delete the folder"
            )
        remove_unfinished(make_folder(folder / "shards"))
        return
    make_folder(folder / "shards")
    write_sealed_json(file, content)


def _reduction(
    plan: Plan, folder: Path, samples: list[Sample], executor: Executor
) -> Reduction | None:
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
        spaced = np.unique(np.linspace(0, len(samples) - 1, count).round().astype(int))
        parts = list(each(make_columns, plan, [samples[k] for k in spaced], executor))
        columns = [part for part in parts if not isinstance(part, Skip)]
        if not columns:
            reasons = [part.reason for part in parts if isinstance(part, Skip)]
            raise InvalidFile(f"none of the images could be used: {reasons[0]}")
        found = Reduction.fit(np.concatenate(columns), size)
    write_reduction(folder, found)
    return found


def _finish(folder: Path, n_shards: int) -> tuple[list[int], list[Skip]]:
    """Write the report and, last, the index; the numbers of superpixels, and what was skipped."""
    names, nodes, places, digests, skips = ([] for _ in range(5))
    for number in range(n_shards):
        summary = read_summary(shard_path(folder, number))
        places += [[number, row] for row in range(len(summary["names"]))]
        names += summary["names"]
        nodes += summary["nodes"]
        digests += summary["digests"]
        skips += [Skip(name, reason) for name, reason in summary["skipped"]]
    report = {
        "prepared": len(names),
        "skipped": [{"name": skip.name, "reason": skip.reason} for skip in skips],
    }
    write_json(folder / "report.json", report)
    index = {
        "names": names, "nodes": nodes, "places": places, "digests": digests,
        "reduction": reduction_digest(read_reduction(folder)),
    }  # fmt: skip
    write_sealed_json(folder / "index.json", index)
    return nodes, skips
