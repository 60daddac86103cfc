"""The solver × instance grid: on all cores, resumable, every labeling judged the same way.

Two rows come for free with prepared data: "net", the segmentation net's own pixels at full
resolution, and "oracle", the best labeling that the superpixels allow.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.datasets.workers import each
from policrf.errors import InvalidFile, InvalidOption, UnsupportedPotential
from policrf.evaluate.results import Result, read_results, rewrite, to_line
from policrf.evaluate.subjects import Subject, read_subject, subject_names
from policrf.metrics import node_confusion, pixel_confusion, sparse_rows
from policrf.policy.checkpoint import list_policies, load_policy
from policrf.policy.policy import Policy
from policrf.solvers import SOLVERS, solve

REFERENCES = ("net", "oracle")
PATIENCE = 2.0  # seconds of work in this process before others are started


@dataclass(frozen=True)
class SolverSpec:
    """A solver with its options, written NAME or NAME:option=value,option=value.

    NAME may be a policy, shipped or in a file; with the option search=20 it decides by tree search.
    """

    text: str
    name: str
    options: dict[str, Any]

    @staticmethod
    def parse(text: str) -> SolverSpec:
        """Check the name; options are JSON values, anything else is taken as text."""
        name, _, rest = text.partition(":")
        options: dict[str, Any] = {}
        if names_policy(name):
            stored_policy(name)
            name, options["policy"] = "policy", name
        elif name not in REFERENCES:
            SOLVERS.get(name)
        for part in rest.split(",") if rest else []:
            key, equals, value = part.partition("=")
            if not equals or not key.isidentifier():
                raise InvalidOption(f"solver {text!r}: write options as NAME:option=value")
            try:
                options[key] = json.loads(value)
            except json.JSONDecodeError:
                options[key] = value
        if name == "policy" and "search" in options:
            name, options["simulations"] = "tree_search", options.pop("search")
        return SolverSpec(text, name, options)


def names_policy(name: str) -> bool:
    """Whether a solver's name is that of a shipped policy, or a path, rather than a solver's."""
    if name in REFERENCES or name in SOLVERS.names():
        return False
    return name in list_policies() or Path(name).suffix != "" or len(Path(name).parts) > 1


@lru_cache(maxsize=16)
def stored_policy(name: str) -> Policy:
    """The policy, read once in a process: the time to read it is no part of a solver's."""
    return load_policy(name)


@dataclass(frozen=True)
class Job:
    """What a worker process needs: the instances, and how they are solved."""

    instances: Sequence[Instance]
    seconds: float | None = None
    seed: int = 0


Task = tuple[SolverSpec, int]


def evaluate(
    instances: Sequence[Instance],
    solvers: Sequence[str],
    *,
    out: Path | None = None,
    seconds: float | None = None,
    seed: int = 0,
    jobs: int = 1,
    advance: Callable[[str], None] = lambda text: None,
) -> list[Result]:
    """Solve every instance with every solver; one result for each pair, image after image.

    Parameters
    ----------
    instances: prepared data under an energy, or any others; see `load_instances`.
    solvers: names with options, policies, "oracle", or "net" for prepared data.
    out: a folder for results.jsonl; results of an earlier run there are kept.
    seconds: time limit of one solver on one instance.
    seed: of the solvers.
    jobs: processes. A script that asks for more than one needs `if __name__ == "__main__":`.
    advance: called with the solver for every result.
    """
    specs = [SolverSpec.parse(text) for text in dict.fromkeys(solvers)]
    job = Job(instances, seconds, seed)
    log = None if out is None else out / "results.jsonl"
    known = {result.key: result for result in (read_results(log) if log else [])}
    names = subject_names(instances)
    tasks = [(spec, k) for k in range(len(instances)) for spec in specs]
    missing = [task for task in tasks if (task[0].text, names[task[1]]) not in known]
    for spec, _ in tasks[: len(tasks) - len(missing)]:
        advance(spec.text)
    if log is not None:
        rewrite(log, known.values())
    with _Log(log) as append:
        for result in _run(job, missing, jobs):
            known[result.key] = result
            append(result)
            advance(result.solver)
    return [known[spec.text, names[k]] for spec, k in tasks]


class _Log:
    """Appends results to a file, or nowhere."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.file: IO[str] | None = None

    def __enter__(self) -> Callable[[Result], None]:
        if self.path is not None:
            self.file = open(self.path, "a", encoding="utf-8")
        return self.append

    def append(self, result: Result) -> None:
        if self.file is None:
            return
        try:
            self.file.write(to_line(result) + "\n")
            self.file.flush()
        except OSError as error:
            raise InvalidFile(
                f"{self.path}: cannot be written ({error.strerror or error}); what is finished is "
                "kept, and the same command goes on from there"
            ) from None

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            with suppress(OSError):
                self.file.close()


def _run(job: Job, tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    """Short jobs are done here: starting processes would take longer than the work."""
    start, cache, done = time.perf_counter(), {}, 0  # type: ignore[var-annotated]
    for task in tasks:
        if jobs > 1 and time.perf_counter() - start > PATIENCE and done < 0.7 * len(tasks):
            break
        yield solve_one(job, task, cache)
        done += 1
    yield from each(solve_one, job, tasks[done:], jobs)


def solve_one(job: Job, task: Task, cache: dict[str, Any]) -> Result:
    """One solver on one instance."""
    spec, position = task
    if cache.get("position") != position:
        cache.update(position=position, subject=read_subject(job.instances, position))
    subject: Subject = cache["subject"]
    if spec.name in REFERENCES:
        return _reference(spec, subject)
    return judged(subject.instance, spec, subject.name, job.seconds, job.seed)


def judged(
    instance: Instance, spec: SolverSpec, name: str, seconds: float | None, seed: int
) -> Result:
    """Solve an instance and hold the labeling against the truth."""
    n_nodes = instance.crf.n_nodes
    options = dict(spec.options)
    if isinstance(options.get("policy"), str):
        options["policy"] = stored_policy(options["policy"])
    start = time.thread_time()
    try:
        solution = solve(instance, spec.name, seconds=seconds, seed=seed, **options)
    except UnsupportedPotential as error:
        return Result(spec.text, name, n_nodes, failed=str(error))
    cpu_seconds = time.thread_time() - start
    pixels = superpixels = None
    if instance.truth is not None:
        pixels = sparse_rows(pixel_confusion(instance.truth, solution.labels)).tolist()
        superpixels = sparse_rows(node_confusion(instance.truth, solution.labels)).tolist()
    return Result(
        solver=spec.text,
        name=name,
        nodes=n_nodes,
        energy=solution.energy,
        terms=instance.crf.terms(solution.labels),
        lower_bound=solution.lower_bound,
        optimal=solution.optimal,
        seconds=solution.seconds,
        cpu_seconds=cpu_seconds,
        pixels=pixels,
        superpixels=superpixels,
    )


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
