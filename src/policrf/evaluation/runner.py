"""The solver × instance grid: on all cores, resumable, every labeling judged the same way.

Two rows come for free with prepared data: "net", the segmentation net's own pixels at full
resolution, and "oracle", the best labeling that the superpixels allow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from policrf.crf.instance import Instance
from policrf.crf.io.files import make_folder
from policrf.datasets.workers import each
from policrf.errors import InvalidFile, InvalidInstance, InvalidOption, UnsupportedPotential
from policrf.evaluation.results import Result, read_results, rewrite, to_line
from policrf.evaluation.subjects import Subject, label_names, read_subject, subject_names
from policrf.evaluation.summary import ResultGrid
from policrf.metrics import node_confusion, pixel_confusion, sparse_rows
from policrf.solvers import solve
from policrf.solvers.spec import SolverSpec

REFERENCES = ("net", "oracle")
PATIENCE = 2.0  # seconds of work in this process before others are started


def parse_row(text: str) -> SolverSpec:
    """A row of the grid: a solver or policy with options, or one of the references."""
    return SolverSpec(text, text) if text in REFERENCES else SolverSpec.parse(text)


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
    out: str | Path | None = None,
    seconds: float | None = None,
    seed: int = 0,
    jobs: int = 1,
    advance: Callable[[str], None] = lambda text: None,
) -> ResultGrid:
    """Solve every instance with every solver and hold the labelings against the truth.

    Parameters
    ----------
    instances
        Instances of one label set, as `load_instances` gives them.
    solvers
        Solvers and policies as in `solve`, one row each. Two more are references: "oracle",
        the best labeling by the truth, and, for prepared images, "net", the net's own pixels.
    out
        Folder for results.jsonl; what an earlier run left there is not solved again.
    seconds
        Time limit of one solver on one instance.
    seed
        Of the solvers, and of the bootstrap behind the intervals.
    jobs
        Processes. A script that asks for more than one needs `if __name__ == "__main__":`.
    advance
        Called with the row of every result.

    >>> import policrf as pc
    >>> grid = evaluate([pc.make_scene(30, "A", seed=k) for k in range(3)], ["unary", "icm"])
    >>> grid.row("icm")["energy"] <= grid.row("unary")["energy"]
    True
    """
    if isinstance(solvers, str):
        raise InvalidOption(f"solvers is {solvers!r}; give a list of them: [{solvers!r}]")
    if len(instances) == 0:
        raise InvalidInstance("there are no instances to evaluate on")
    if not isinstance(instances[0], Instance):
        raise InvalidInstance(
            f"instances holds a {type(instances[0]).__name__}; Instance.from_crf makes one of a CRF"
        )
    specs = [parse_row(text) for text in dict.fromkeys(solvers)]
    job = Job(instances, seconds, seed)
    log = None if out is None else make_folder(out) / "results.jsonl"
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
    results = [known[spec.text, names[k]] for spec, k in tasks]
    return ResultGrid(results, label_names(instances), seed)


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
    solver = spec.solver  # a policy's file is read here: no part of the solver's time
    start = time.thread_time()
    try:
        solution = solve(instance, solver, seconds=seconds, seed=seed, **spec.options)
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
