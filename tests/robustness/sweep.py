"""Damage files of a kind many times and sort what happens: accepted, refused, or our fault."""

from __future__ import annotations

import contextlib
import io
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.robustness.image_files import IMAGE_KINDS
from tests.robustness.kinds import Kind, fingerprint, same
from tests.robustness.model_files import MODEL_KINDS
from tests.robustness.net_files import NET_KINDS
from tests.robustness.run_files import RUN_KINDS

from policrf.errors import PolicrfError

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (*MODEL_KINDS, *IMAGE_KINDS, *NET_KINDS, *RUN_KINDS)
}
SECONDS = 10  # of processor time; more is a hang
PATIENCE = 60  # seconds by the clock, on a machine that has other things to do
SAME, CHANGED, TYPED = "accepted, same result", "accepted, another result", "typed error"
UNTYPED, HANG = "untyped error", "hang"
OUTCOMES = (SAME, CHANGED, TYPED, UNTYPED, HANG)


class Hang(BaseException):
    """Not an Exception: no reader may take it for a damaged file."""


@dataclass
class Sweep:
    """What became of the files of one kind."""

    kind: str
    sealed: bool
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """The first of each: seed, what was raised and where."""
    slowest: float = 0.0
    megabytes: float = 0.0
    """How much the largest memory of the process grew."""

    @property
    def failed(self) -> bool:
        """Whether a promise was broken."""
        broken = self.counts[UNTYPED] + self.counts[HANG]
        return bool(broken or (self.sealed and self.counts[CHANGED]))


def sweep(kind: Kind, mutations: int, *, seed: int = 0) -> Sweep:
    """Damage the good file of a kind; each mutation has a seed of its own."""
    found = Sweep(kind.name, kind.sealed)
    with tempfile.TemporaryDirectory() as name:
        path = kind.make(Path(name))
        content = path.read_bytes()
        before = fingerprint(kind.read(path))
        start = _peak()
        for number in range(mutations):
            rng = np.random.default_rng([seed, number])
            damaged = kind.mutate(content, rng)
            path.write_bytes(damaged)
            outcome, fault = _outcome(kind, path, before, found)
            found.counts[outcome] += 1
            if fault and len(found.faults) < 20:
                found.faults.append(f"seed {seed}, number {number}: {fault}")
        found.megabytes = max(0.0, _peak() - start)
    return found


def _outcome(kind: Kind, path: Path, before: Any, found: Sweep) -> tuple[str, str]:
    begun = time.process_time()
    try:
        with _limited(), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            after = fingerprint(kind.read(path))
    except PolicrfError:
        outcome, fault = TYPED, ""
    except Hang:
        outcome, fault = HANG, "".join(traceback.format_exc(limit=-3))
    except Exception:
        outcome, fault = UNTYPED, "".join(traceback.format_exc(limit=-4))
    else:
        unchanged = same(kind, before, after)
        outcome, fault = (SAME, "") if unchanged else (CHANGED, "accepted" if kind.sealed else "")
    seconds = time.process_time() - begun
    found.slowest = max(found.slowest, seconds)
    return (HANG, f"{seconds:.1f} s") if seconds > SECONDS else (outcome, fault)


@contextlib.contextmanager
def _limited() -> Any:
    """Interrupt what takes more than `PATIENCE`."""

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _peak() -> float:
    """The largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
