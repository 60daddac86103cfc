"""The loop that every learner shares: rounds, validation, log, checkpoints, resume.

A run's folder holds config.json (what was asked for), log.jsonl (a line a validation),
checkpoint.pt (everything to go on from, at most a minute old, written whole or not at all),
best.safetensors (lowest validation energy, on a part of the training data that is not trained on),
last.safetensors, and the same curves for TensorBoard. Without a folder nothing is written and the
best policy is returned.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from policrf.crf.instance import Instance
from policrf.crf.io.files import atomic_write
from policrf.errors import InvalidFile, InvalidOption
from policrf.learn.validate import Figures, validate
from policrf.policy.policy import Policy

CHECKPOINT, BEST, LAST, LOG = "checkpoint.pt", "best.safetensors", "last.safetensors", "log.jsonl"
SELECT = ("energy", "refined", "iou")
Report = Callable[[dict[str, Any]], None]


class Learner(Protocol):
    """What the loop drives."""

    rounds: int
    episodes: int
    transitions: int
    updates: int
    recent: dict[str, float]

    def begin(self, pool: ThreadPoolExecutor) -> None:
        """Fill the memory."""
        ...

    def round(self, pool: ThreadPoolExecutor) -> None:
        """One round of acting and learning."""
        ...

    def policy(self) -> Policy:
        """The policy as it stands."""
        ...

    def state(self) -> dict[str, Any]:
        """Everything to go on from."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from it."""
        ...


@dataclass(frozen=True)
class Schedule:
    """When to stop, to look and to save."""

    rounds: int = 1000
    """Rounds of learning."""
    seconds: float | None = None
    """Stop after this time even if rounds are left."""
    validate_seconds: float = 10.0
    """Time between two validations; validations take no part of `seconds`."""
    validate_rounds: int = 0
    """Validate after so many rounds instead: reproducible on machines of other speed."""
    checkpoint_seconds: float = 60.0
    select: str = "energy"
    """What makes a checkpoint the best: "energy", "refined" (after local search), or "iou"."""
    threads: int = 1
    """Threads of torch."""
    pool: int = 200_000
    """Nodes in memory at a time; instances with more are learned from in turns (`pools.py`)."""
    pool_rounds: int = 50
    """Rounds of a turn."""

    def __post_init__(self) -> None:
        if self.select not in SELECT:
            raise InvalidOption(f"select is {self.select!r}; it must be one of {', '.join(SELECT)}")
        if self.pool < 1 or self.pool_rounds < 1:
            raise InvalidOption("pool and pool_rounds must be at least 1")


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
    learner: Learner, held_out: Sequence[Instance], schedule: Schedule, *,
    actors: int = 1, out: Path | None = None, resume: bool = False, report: Report | None = None,
    finish: Callable[[Policy], Policy] = lambda policy: policy,
    validation: Sequence[Instance] = (),
) -> Policy:  # fmt: skip
    """Learn until the schedule ends or Ctrl-C; returns the best policy.

    Parameters
    ----------
    held_out: training data that is not trained on, to choose the best checkpoint by.
    validation: further data for the curves only; nothing is chosen by it.
    report: called with every line of the log, and with a shorter one after every round.
    finish: names a policy and says what it was trained on, before it is saved.
    """
    torch.set_num_threads(schedule.threads)
    run = _Run(learner, held_out, validation, schedule, out, report, finish)
    with ThreadPoolExecutor(max(1, actors)) as pool, _patient_interrupt() as interrupted:
        if resume:
            run.resume()
        else:
            with run.clock.paused():
                learner.begin(pool)
            run.validate()
        while not run.finished() and not interrupted:
            learner.round(pool)
            run.after_round()
        run.validate()
        run.save()
    run.close()
    return run.best_policy


@contextmanager
def _patient_interrupt() -> Iterator[list[int]]:
    """Ctrl-C ends the loop after the round (a second or two); a second one ends it at once."""
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def hear(number: int, frame: Any) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(number)

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


class _Run:
    def __init__(
        self, learner: Learner, held_out: Sequence[Instance], validation: Sequence[Instance],
        schedule: Schedule, out: Path | None, report: Report | None, finish: Callable[[Policy],
        Policy],
    ) -> None:  # fmt: skip
        self.learner, self.schedule, self.out, self.report = learner, schedule, out, report
        self.held_out, self.validation, self.finish = held_out, validation, finish
        self.clock = Clock(0.0)
        self.saved = self.validated = 0.0
        self.validated_round = -1
        self.since = (0.0, 0, 0, 0)
        self.best_value = float("inf")
        self.best_policy = finish(learner.policy())
        self.board: Any = None
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            self.board = _tensorboard(out)

    def finished(self) -> bool:
        limit = self.schedule.seconds
        return self.learner.rounds >= self.schedule.rounds or (
            limit is not None and self.clock() >= limit
        )

    def after_round(self) -> None:
        every = self.schedule.validate_rounds
        due = self.clock() - self.validated >= self.schedule.validate_seconds
        if (self.learner.rounds % every == 0) if every else due:
            self.validate()
        elif self.report is not None:
            self.report(self._counters())
        if self.out is not None and self.clock() - self.saved >= self.schedule.checkpoint_seconds:
            self.save()

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
            refine = self.schedule.select == "refined"
            figures = validate(policy, self.held_out, refine=refine)
            line |= figures.as_dict()
            if self.validation:
                further = validate(policy, self.validation, refine=refine)
                line |= {f"val_{name}": value for name, value in further.as_dict().items()}
            value = _value(figures, self.schedule.select)
            if value < self.best_value:
                self.best_value = value
                reached = {**policy.training, "reached": line}
                self.best_policy = self.finish(replace(policy, training=reached))
                if self.out is not None:
                    self.best_policy.save(self.out / BEST)
            if self.out is not None:
                with (self.out / LOG).open("a") as file:
                    file.write(json.dumps(line) + "\n")
                for name, number in line.items():
                    if self.board is not None and isinstance(number, int | float):
                        self.board.add_scalar(name, number, self.learner.rounds)
            if self.report is not None:
                self.report(line)
        self.validated, self.validated_round = self.clock(), self.learner.rounds
        self.since = (self.clock(), line["episodes"], line["transitions"], line["updates"])

    def save(self) -> None:
        if self.out is None:
            return
        with self.clock.paused():
            state = {
                "learner": self.learner.state(),
                "seconds": self.clock(),
                "best_value": self.best_value,
                "validated_round": self.validated_round,
            }
            with atomic_write(self.out / CHECKPOINT) as file:
                torch.save(state, file)
            self.finish(self.learner.policy()).save(self.out / LAST)
        self.saved = self.clock()

    def resume(self) -> None:
        from policrf.policy.checkpoint import load_policy

        assert self.out is not None
        path = self.out / CHECKPOINT
        if not path.is_file():
            raise InvalidFile(f"{path}: there is no checkpoint to go on from")
        state = torch.load(path, weights_only=False)
        self.learner.restore(state["learner"])
        self.clock = Clock(state["seconds"])
        self.best_value = state["best_value"]
        self.validated_round = state["validated_round"]
        self.saved = self.validated = self.clock()
        learner = self.learner
        self.since = (self.clock(), learner.episodes, learner.transitions, learner.updates)
        if (self.out / BEST).is_file():
            self.best_policy = load_policy(self.out / BEST)

    def close(self) -> None:
        if self.board is not None:
            self.board.close()


def _value(figures: Figures, select: str) -> float:
    return -figures.iou if select == "iou" else float(getattr(figures, select))


def _tensorboard(out: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(out / "tensorboard"))
