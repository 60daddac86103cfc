"""One solver on one instance, or one of the references, held against the truth.

Two references come for free with prepared data: "net", the segmentation net's own pixels at full
resolution, and "oracle", the best labeling that the superpixels allow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.errors import UnsupportedPotential
from policrf.evaluation.results import Result
from policrf.evaluation.subjects import Subject, read_subject
from policrf.metrics import node_confusion, pixel_confusion, sparse_rows
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec
from policrf.types import IntArray, Solution

REFERENCES = ("net", "oracle")


def parse_row(text: str) -> SolverSpec:
    """A row of the grid: a solver or policy with options, or one of the references."""
    return SolverSpec(text, text) if text in REFERENCES else SolverSpec.parse(text)


@dataclass(frozen=True)
class Job:
    """What a worker process needs: the instances, and how they are solved."""

    instances: Sequence[Instance]
    seconds: float | None = None
    seed: int = 0
    pixels: bool = True
    """Whether the pixel stage follows the solver where it has a part."""


Task = tuple[SolverSpec, int]


def solve_one(job: Job, task: Task, cache: dict[str, Any]) -> Result:
    """One solver on one instance."""
    spec, position = task
    if cache.get("position") != position:
        subject = read_subject(job.instances, position, pixels=job.pixels)
        cache.update(position=position, subject=subject)
    subject = cache["subject"]
    if spec.name in REFERENCES:
        return _reference(spec, subject)
    return judged(job, spec, subject)


def judged(job: Job, spec: SolverSpec, subject: Subject) -> Result:
    """Solve an instance and hold the labeling against the truth."""
    instance = subject.instance
    n_nodes = instance.crf.n_nodes
    solver = spec.solver  # a policy's file is read here: no part of the solver's time
    start = time.thread_time()
    try:
        solution = solve(
            instance, solver, seconds=job.seconds, seed=job.seed, go_on=False, **spec.options
        )
    except UnsupportedPotential as error:
        return Result(spec.text, subject.name, n_nodes, failed=str(error))
    cpu_seconds, pixel_cpu_seconds = time.thread_time() - start, math.nan
    pixels = superpixels = None
    if instance.truth is not None:
        confusion, pixel_cpu_seconds = _pixel_confusion(subject, instance.truth, solution)
        pixels = sparse_rows(confusion).tolist()
        superpixels = sparse_rows(node_confusion(instance.truth, solution.labels)).tolist()
    return Result(
        solver=spec.text,
        name=subject.name,
        nodes=n_nodes,
        energy=solution.energy,
        terms=instance.crf.terms(solution.labels),
        lower_bound=solution.lower_bound,
        optimal=solution.optimal,
        seconds=solution.seconds,
        cpu_seconds=cpu_seconds,
        pixel_cpu_seconds=pixel_cpu_seconds,
        pixels=pixels,
        superpixels=superpixels,
    )


def _pixel_confusion(
    subject: Subject, truth: IntArray, solution: Solution
) -> tuple[IntArray, float]:
    """Pixels by (true label, label), `[L, L]`, and the CPU time of the pixel stage."""
    stage = subject.stage(solution.solver)
    if stage is None:
        return pixel_confusion(truth, solution.labels), math.nan
    from policrf.vision.pixels.stage import refined_labels

    maps = subject.image.maps
    start = time.thread_time()
    labels = refined_labels(maps, solution.labels, stage)
    spent = time.thread_time() - start
    return subject.image.confusion(labels), spent


def _reference(spec: SolverSpec, subject: Subject) -> Result:
    name, truth, n_nodes = subject.name, subject.instance.truth, subject.instance.crf.n_nodes
    if truth is None:
        return Result(spec.text, name, n_nodes, failed="there is no truth")
    if spec.name == "net":
        if subject.net_confusion is None:
            return Result(spec.text, name, n_nodes, failed="no net has labeled these pixels")
        pixels = sparse_rows(subject.net_confusion).tolist()
        return Result(spec.text, name, n_nodes, pixels=pixels)
    best = np.argmax(truth, axis=1)
    return Result(
        spec.text,
        name,
        n_nodes,
        pixels=sparse_rows(pixel_confusion(truth, best)).tolist(),
        superpixels=sparse_rows(node_confusion(truth, best)).tolist(),
    )
