"""The solver × instance grid: on all cores, resumable, every labeling judged the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from policrf.argument_types import typed
from policrf.crf.instance import Instance
from policrf.crf.io.outputs import claimed
from policrf.errors import InvalidFile, InvalidInstance
from policrf.evaluation.judging import Job, Task, parse_row, solve_one
from policrf.evaluation.results import Result, read_results, rewrite, to_line
from policrf.evaluation.subjects import label_names, subject_names
from policrf.evaluation.summary import ResultGrid
from policrf.execution.executor import Executor, each
from policrf.execution.processes import Processes, chosen
from policrf.random_numbers import checked_seed
from policrf.solvers.spec import SolverSpec

PATIENCE = 2.0  # seconds of work in this process before others are started


@typed()
def evaluate(
    instances: Sequence[Instance],
    solvers: Sequence[str],
    *,
    out: str | Path | None = None,
    seconds: float | None = None,
    seed: int = 0,
    pixels: bool = True,
    jobs: int = 1,
    executor: Executor | None = None,
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
    pixels
        Decide pixels near the boundaries again, as `Segmenter` does, and judge what comes out; for
        prepared images whose pixels were kept. Energies are those of the superpixels' labels.
    jobs
        Processes. A script that asks for more than one needs `if __name__ == "__main__":`.
    executor
        Who does the work instead of processes, such as a `RayCluster`.
    advance
        Called with the row of every result.

    >>> import policrf as pc
    >>> grid = evaluate([pc.make_scene(30, "A", seed=k) for k in range(3)], ["unary", "icm"])
    >>> grid.row("icm")["energy"] <= grid.row("unary")["energy"]
    True
    """
    if len(instances) == 0:
        raise InvalidInstance("there are no instances to evaluate on")
    if not isinstance(instances[0], Instance):
        raise InvalidInstance(
            f"instances holds a {type(instances[0]).__name__}; Instance.from_crf makes one of a CRF"
        )
    specs = [parse_row(text) for text in dict.fromkeys(solvers)]
    job = Job(instances, seconds, checked_seed(seed), pixels)
    who = chosen(executor, jobs)
    if out is None:
        return _evaluate(job, specs, None, who, advance)
    with claimed(out) as folder:
        return _evaluate(job, specs, folder / "results.jsonl", who, advance)


def _evaluate(
    job: Job,
    specs: Sequence[SolverSpec],
    log: Path | None,
    executor: Executor,
    advance: Callable[[str], None],
) -> ResultGrid:
    """Solve what is missing in the log."""
    instances = job.instances
    known = {result.key: result for result in (read_results(log) if log else [])}
    names = subject_names(instances)
    tasks = [(spec, k) for k in range(len(instances)) for spec in specs]
    missing = [task for task in tasks if (task[0].text, names[task[1]]) not in known]
    for spec, _ in tasks[: len(tasks) - len(missing)]:
        advance(spec.text)
    if log is not None:
        rewrite(log, known.values())
    with _Log(log) as append:
        for result in _run(job, missing, executor, len(specs)):
            known[result.key] = result
            append(result)
            advance(result.solver)
    results = [known[spec.text, names[k]] for spec, k in tasks]
    return ResultGrid(results, label_names(instances), job.seed)


class _Log:
    """Appends results to a file, or nowhere."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.file: IO[str] | None = None

    def __enter__(self) -> Callable[[Result], None]:
        if self.path is not None:
            self.file = open(self.path, "a", encoding="utf-8", errors="backslashreplace")
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


def _run(job: Job, tasks: Sequence[Task], executor: Executor, together: int) -> Iterator[Result]:
    """Short jobs are done here: starting processes would take longer than the work."""
    start, cache, done = time.perf_counter(), {}, 0  # type: ignore[var-annotated]
    here, several = isinstance(executor, Processes), executor.workers > 1
    for task in tasks if here else ():
        if several and time.perf_counter() - start > PATIENCE and done < 0.7 * len(tasks):
            break
        yield solve_one(job, task, cache)
        done += 1
    yield from each(solve_one, job, tasks[done:], executor, together=together)
