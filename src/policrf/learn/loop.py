"""The loop that every learner shares: rounds, validation, log, checkpoints, resume.

A run's folder holds config.json (what was asked for), log.jsonl (a line a validation),
checkpoint.safetensors (everything to go on from, 20 seconds old or less, with a checksum),
best.safetensors (lowest validation energy, on a part of the training data that is not trained on),
last.safetensors, and the same curves for TensorBoard. Without a folder nothing is written and the
best policy is returned.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from policrf.crf.instance import Instance
from policrf.crf.io.files import atomic_write
from policrf.crf.io.outputs import claimed
from policrf.errors import InvalidFile
from policrf.execution.executor import Executor
from policrf.execution.processes import Processes
from policrf.learn.experience.actors import actors_for
from policrf.learn.experience.engines import kept_engines
from policrf.learn.experience.pools import Pooled
from policrf.learn.learners.learner import Learner
from policrf.learn.options import Method
from policrf.learn.run_checkpoint import load_state, save_state
from policrf.learn.run_folder import (
    BEST,
    CHECKPOINT,
    CURVES,
    LAST,
    LOG,
    erase_run,
    refuse_run,
)
from policrf.learn.signals import patient_signals
from policrf.learn.validate import Figures, label_part, validate
from policrf.policy.policy import Policy

Report = Callable[[dict[str, Any]], None]
Driven = Learner | Pooled  # what the loop drives


@dataclass(frozen=True)
class Plan:
    """What the loop is told beside the learner."""

    options: Method
    held_out: Sequence[Instance]
    """Training data that is not trained on, to choose the best checkpoint by."""
    validation: Sequence[Instance] = ()
    """Further data for the curves only; nothing is chosen by it."""
    out: Path | None = None
    """The folder of the run."""
    report: Report | None = None
    """Called with every line of the log, and with a shorter one after every round."""
    executor: Executor | None = None
    """Whose actors play, and who labels what is validated on; None: this process."""
    finish: Callable[[Policy], Policy] = lambda policy: policy
    """Names a policy and says what it was trained on, before it is saved."""


class Clock:
    """Seconds of learning, validations and earlier runs of the same folder taken into account."""

    def __init__(self, before: float) -> None:
        self._start = time.perf_counter() - before

    def __call__(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._start

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What happens inside takes no time."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._start += time.perf_counter() - began


def run_loop(
    learner: Driven, plan: Plan, *, resume: bool = False, overwrite: bool = False
) -> Policy:
    """Learn until the plan ends or a signal comes; returns the best policy.

    Parameters
    ----------
    learner
        What learns.
    plan
        What it learns from, and for how long.
    resume
        Go on from the checkpoint in the run's folder.
    overwrite
        Erase a run that the folder holds; without it, and without `resume`, that is an error.
    """
    torch.set_num_threads(1)  # a gradient step is too small for more
    with nullcontext() if plan.out is None else claimed(plan.out):
        if plan.out is not None and not resume:
            erase_run(plan.out) if overwrite else refuse_run(plan.out)
        run = _Run(learner, plan)
        try:
            return _run(run, learner, resume)
        finally:
            run.close()


def _run(run: _Run, learner: Driven, resume: bool) -> Policy:
    # Nothing is torn out of a thread pool, a file or a queue: signals wait from the beginning on.
    with (
        patient_signals(terminating=run.out is not None) as heard,
        actors_for(run.plan.executor, run.plan.options.threads) as pool,
    ):
        if resume:
            run.resume()
        else:
            with run.clock.paused():
                learner.begin(pool)
            run.validate()
            run.save()
        while not run.finished() and not heard:
            learner.round(pool)
            run.after_round()
        # A run that goes on validates when it is due: it ends as if it had not been stopped.
        if not (heard and run.out is not None):
            run.validate()
        run.save()
    return run.best_policy


class _Run:
    def __init__(self, learner: Driven, plan: Plan) -> None:
        self.learner, self.plan, self.out = learner, plan, plan.out
        self.schedule = plan.options.schedule
        self.engines = {name: kept_engines(data) for name, data in self._data().items()}
        self.opened = ExitStack()
        self.workers = {}
        if plan.executor is not None and not isinstance(plan.executor, Processes):
            for name, data in self._data().items():
                workers = plan.executor.open(label_part, data)
                self.workers[name] = self.opened.enter_context(workers)
        self.clock = Clock(0.0)
        self.saved = self.validated = 0.0
        self.validated_round = -1
        self.since = (0.0, 0, 0, 0)
        self.best_value = float("inf")
        self.best_policy = plan.finish(learner.policy())
        self.board: Any = None
        if self.out is not None:
            self.board = _tensorboard(self.out)

    def _data(self) -> dict[str, Sequence[Instance]]:
        """What is validated on, by the prefix of its figures in the log."""
        further = {"val_": self.plan.validation} if self.plan.validation else {}
        held_out = {"": self.plan.held_out} if len(self.plan.held_out) else {}
        return held_out | further

    def finished(self) -> bool:
        limit = self.plan.options.seconds
        return self.learner.rounds >= self.plan.options.rounds or (
            limit is not None and self.clock() >= limit
        )

    def after_round(self) -> None:
        every = self.schedule.validate_rounds
        due = self.clock() - self.validated >= self.schedule.validate_seconds
        if (self.learner.rounds % every == 0) if every else due:
            self.validate()
        elif self.plan.report is not None:
            self.plan.report(self._counters())
        if self.out is not None and self._save_is_due():
            self.save()

    def _save_is_due(self) -> bool:
        return self.clock() - self.saved >= self.schedule.checkpoint_seconds

    def _counters(self) -> dict[str, Any]:
        learner, now = self.learner, self.clock()
        line: dict[str, Any] = {
            "round": learner.rounds,
            "seconds": round(now, 2),
            "episodes": learner.episodes,
            "transitions": learner.transitions,
            "updates": learner.updates,
        }
        span = now - self.since[0]
        if span > 0:
            for k, name in enumerate(("episodes", "transitions", "updates"), 1):
                line[f"{name}_per_second"] = round((line[name] - self.since[k]) / span, 1)
        return line | {name: round(value, 6) for name, value in learner.recent.items()}

    def validate(self) -> None:
        if self.validated_round == self.learner.rounds:
            return
        line = self._counters()
        with self.clock.paused():
            policy = self.learner.policy()
            figures = {name: self._figures(policy, name) for name in self._data()}
            for prefix, found in figures.items():
                line |= {f"{prefix}{name}": value for name, value in found.as_dict().items()}
            value = _value(line, self.schedule.select)
            if value < self.best_value:
                self.best_value = value
                self._keep_best(policy, line)
            self._log(line)
        self.validated, self.validated_round = self.clock(), self.learner.rounds
        self.since = (self.clock(), line["episodes"], line["transitions"], line["updates"])

    def _figures(self, policy: Policy, name: str) -> Figures:
        refine = self.schedule.select == "refined"
        return validate(
            policy, self._data()[name], refine=refine, engines=self.engines[name],
            workers=self.workers.get(name),
        )  # fmt: skip

    def _keep_best(self, policy: Policy, line: dict[str, Any]) -> None:
        reached = {**policy.training, "reached": line}
        self.best_policy = self.plan.finish(replace(policy, training=reached))
        if self.out is not None:
            self.best_policy.save(self.out / BEST)

    def _log(self, line: dict[str, Any]) -> None:
        if self.out is not None:
            _append(self.out / LOG, json.dumps(line))
        for name, number in line.items():
            if self.board is not None and isinstance(number, int | float):
                with suppress(OSError):  # the same is in the log, and it is that which matters
                    self.board.add_scalar(name, number, self.learner.rounds)
        if self.plan.report is not None:
            self.plan.report(line)

    def save(self) -> None:
        if self.out is None:
            return
        with self.clock.paused():
            state = {
                "learner": self.learner.state(),
                "seconds": self.clock(),
                "validated_round": self.validated_round,
            }
            save_state(self.out / CHECKPOINT, state)
            self.plan.finish(self.learner.policy()).save(self.out / LAST)
        self.saved = self.clock()

    def resume(self) -> None:
        from policrf.policy.checkpoint import load_policy

        assert self.out is not None
        path = self.out / CHECKPOINT
        if not path.is_file():
            raise InvalidFile(
                f"{path}: there is no checkpoint to go on from (the first is written as soon as "
                "the data is read); train again without resume"
            )
        state = load_state(path)
        self.learner.restore(state["learner"])
        self.clock = Clock(state["seconds"])
        self.validated_round = state["validated_round"]
        self.saved = self.validated = self.clock()
        learner = self.learner
        self.since = (self.clock(), learner.episodes, learner.transitions, learner.updates)
        _forget_after(self.out / LOG, learner.rounds)
        if (self.out / BEST).is_file():
            # It may be younger than the checkpoint: its value is the one that it tells itself.
            self.best_policy = load_policy(self.out / BEST)
            reached = self.best_policy.training.get("reached", {})
            self.best_value = _value(reached, self.schedule.select)

    def close(self) -> None:
        self.opened.close()
        if self.board is not None:
            with suppress(OSError):
                self.board.close()


def _value(line: dict[str, Any], select: str) -> float:
    """What a line of the log says of a policy, the less the better; inf where it says nothing."""
    if select == "last":
        return -float(line.get("round", 0))
    value = line.get(select)
    if select == "iou" and value is not None and not math.isnan(value):
        return -float(value)
    if select == "iou":  # without truth there is none
        value = line.get("energy")
    return math.inf if value is None else float(value)


def _append(path: Path, line: str) -> None:
    try:
        with path.open("a") as file:
            file.write(line + "\n")
    except OSError as error:
        raise InvalidFile(
            f"{path}: cannot be written ({error.strerror or error}); the checkpoint is kept, and "
            "--resume goes on from there"
        ) from None


def _forget_after(path: Path, round: int) -> None:
    """Drop what a log says of rounds that are played again, and a line that was cut short."""
    if not path.is_file():
        return
    kept = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            if json.loads(line)["round"] <= round:
                kept.append(line + "\n")
        except (ValueError, KeyError, TypeError):
            continue
    with atomic_write(path) as file:
        file.write("".join(kept).encode())


def _tensorboard(out: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    with suppress(OSError):
        return SummaryWriter(str(out / CURVES))
    return None
