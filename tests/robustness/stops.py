"""Commands that are stopped at random moments, go on, and are held against unbroken runs."""

from __future__ import annotations

import json
import random
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.robustness.builders import (
    commands,
    group_members,
    handles_signals,
    start,
    voc_command,
    wait_until,
)

import policrf as pc

SIGNALS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
RUNS = ("prepare", "evaluate", "calibrate", "dqn", "mcts", "imitate", "energy")
VOC = "prepare voc"  # with real images and nets, where they are
STOPS = 5  # of one run, before it is left alone
SHARE = 0.7  # of an unbroken run's time: when the last stops come


@dataclass
class Stopped:
    """What became of a command's stops by one signal."""

    command: str
    signal: str
    stops: int = 0
    """That reached a running command."""
    finished: int = 0
    """Signals that came when the work was done."""
    runs: int = 0
    """Finished in the end, and compared."""
    kept: int = 0
    """Stops after which there was something to go on from."""


class Stopping:
    """Runs commands on a folder of scenes, and remembers what unbroken ones end with.

    Parameters
    ----------
    scenes
        A folder as `prepared_scenes` makes it.
    """

    def __init__(self, scenes: Path) -> None:
        self.scenes = scenes
        self._unbroken: dict[str, tuple[float, Any]] = {}

    def arguments(self, name: str, out: Path) -> list[str]:
        """The command that writes below `out`."""
        return voc_command(out) if name == VOC else commands(self.scenes, out)[name]

    def unbroken(self, name: str) -> tuple[float, Any]:
        """The seconds that a command takes, and what it ends with."""
        if name not in self._unbroken:
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                finish(self.arguments(name, Path(folder)))
                seconds = time.monotonic() - began
                self._unbroken[name] = seconds, outcome(name, Path(folder))
        return self._unbroken[name]

    def check(self, found: Stopped, out: Path, seed: int, stops: int = STOPS) -> None:
        """Stop a run some times, let it finish, and compare what it ends with."""
        name, number = found.command, SIGNALS[found.signal]
        seconds, expected = self.unbroken(name)
        arguments = self.arguments(name, out)
        draw = random.Random(f"{name} {found.signal} {seed}")
        for _ in range(stops):
            before = _journal(out)
            ended = stop_at_random([*arguments, *resuming(name, out)], number, draw, seconds)
            assert _journal(out).startswith(before), "what was measured is lost"
            if ended:
                found.finished += 1
                break
            found.stops += 1
            found.kept += any(path.is_file() for path in out.rglob("*"))
        else:
            finish([*arguments, *resuming(name, out)])
        found.runs += 1
        ended = outcome(name, out)
        assert ended == (replayed(arguments, out) if name == "energy" else expected), name

    def stopped(self, name: str, signal_name: str, count: int) -> Stopped:
        """Runs of a command until it was stopped `count` times."""
        found, seed = Stopped(name, signal_name), 0
        while found.stops < count:
            with tempfile.TemporaryDirectory() as folder:
                self.check(found, Path(folder), seed, min(STOPS, count - found.stops))
            seed += 1
        return found


def resuming(name: str, out: Path) -> list[str]:
    """What is added to the command so that it goes on: only training has to be told."""
    return ["--resume"] if (out / name / "config.json").exists() else []


def finish(arguments: list[str]) -> None:
    """Run a command to its end."""
    process = start(arguments)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error


def stop_at_random(
    arguments: list[str], number: signal.Signals, draw: random.Random, seconds: float
) -> bool:
    """Start the command and stop it somewhere; whether it had ended before."""
    process = start(arguments)
    wait_until(lambda: handles_signals(process))
    time.sleep(draw.uniform(0, SHARE * seconds))
    process.send_signal(number)
    _, error = process.communicate(timeout=120)
    wait_until(lambda: not group_members(process.pid), 10)
    if process.returncode == 0:
        return True
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL, error
        return False
    assert process.returncode == 128 + number, error
    told = [line for line in error.splitlines() if line.startswith("policrf: stopped")]
    assert len(told) == 1, error
    assert "goes on" in told[0]
    assert "Traceback" not in error
    return False


def _journal(out: Path) -> bytes:
    """The whole lines of a tuning run's journal."""
    path = out / "energy" / "journal.jsonl"
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1]


def replayed(arguments: list[str], out: Path) -> Any:
    """What a tuning run that is not stopped makes of the same measurements: they are its clock."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "energy"
        copy.mkdir()
        for name in ("config.json", "journal.jsonl"):
            shutil.copy(out / "energy" / name, copy)
        given = list(arguments)
        given[given.index("--out") + 1] = str(copy)
        finish([*given, "--resume"])
        return outcome("energy", Path(folder))


def outcome(name: str, out: Path) -> Any:
    """The files of a finished run, without what depends on the clock."""
    hidden = [path for path in out.rglob(".*") if path.is_file()]
    assert not hidden, hidden
    if name in ("prepare", VOC):
        return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    if name == "calibrate":
        assert not list(out.glob("*.journal.jsonl"))
        return {p.name: p.read_bytes() for p in out.iterdir() if p.suffix in (".yaml", ".csv")}
    if name == "evaluate":
        lines = (out / "evaluated" / "results.jsonl").read_text().splitlines()
        keep = ("solver", "name", "nodes", "energy", "terms", "pixels", "superpixels")
        return [[json.loads(line)[key] for key in keep] for line in lines]
    if name == "energy":
        files = ("best.safetensors", "journal.jsonl", "config.json")
        return {file: (out / name / file).read_bytes() for file in files}
    lines = (out / name / "log.jsonl").read_text().splitlines()
    energies = [(line["round"], line["energy"]) for line in map(json.loads, lines)]
    weights = {
        (file, tensor): array.tobytes()
        for file in ("best", "last")
        for tensor, array in pc.load_policy(out / name / f"{file}.safetensors").weights.items()
    }
    return energies, weights
