"""toulbar2 for many small networks: one process answers one question after another.

Starting a process takes longer than a small network takes to solve. The process reads a network as
a line of JSON and writes its labels as one. It only searches: what it says of bounds is not asked
for, since toulbar2 keeps some of its state from one network to the next. Proofs have a process of
their own (`proofs.toulbar2_worker`).
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from policrf.solvers import helper_processes
from policrf.solvers.neighbourhoods import toulbar2_server

LAST_WORDS = 0.35  # seconds to hand over what it has, once it is told to stop
POLL = (0.001, 0.02)  # seconds between two looks at the clock, at least and at most
STOP = getattr(signal, "SIGVTALRM", signal.SIGTERM)


class Toulbar2Service:
    """The process, started when it is first asked, and again if it ends.

    When no seconds are `remaining`, it is not waited for.
    """

    def __init__(self, remaining: Callable[[], float]) -> None:
        self._remaining = remaining
        self._process: subprocess.Popen[bytes] | None = None
        self._life = -1
        self._answers: queue.Queue[bytes] = queue.Queue()

    def __enter__(self) -> Toulbar2Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, task: dict[str, Any], seconds: float) -> tuple[list[int] | None, bool]:
        """The values of the best labeling below `task["top"]`, if any, and whether it is proven.

        Neither where the process did not answer.
        """
        process = self._started()
        line = json.dumps(task).encode() + b"\n"
        deadline, stopped = time.perf_counter() + seconds, False
        try:
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            self.end()
            return None, False
        while (answer := self._next_answer()) is None:
            late = time.perf_counter() > deadline
            if process.poll() is not None or self._remaining() == 0.0 or (stopped and late):
                break
            if late:
                stopped, deadline = True, time.perf_counter() + LAST_WORDS
                process.send_signal(STOP)
        if not answer:
            self.end()
            return None, False
        values: list[int] | None = json.loads(answer)
        return values, not stopped

    def _next_answer(self) -> bytes | None:
        try:
            return self._answers.get(timeout=max(POLL[0], min(POLL[1], self._remaining())))
        except queue.Empty:
            return None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.end()
            read_end, self._life = os.pipe()
            self._process = subprocess.Popen(
                [sys.executable, toulbar2_server.__file__, str(os.getpid()), str(read_end)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is ours to hear
                pass_fds=(read_end,) if os.name == "posix" else (),
            )
            helper_processes.begin(self._process.pid)
            os.close(read_end)
            self._answers = queue.Queue()
            reader = (self._process.stdout, self._answers)
            threading.Thread(target=_read, args=reader, daemon=True).start()
        return self._process

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        helper_processes.end(self._process.pid)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                _close(pipe)
        os.close(self._life)
        self._process = None


def _read(lines: IO[bytes], answers: queue.Queue[bytes]) -> None:
    """Hand over line after line; an empty one when the process has ended."""
    with suppress(ValueError):  # closed meanwhile
        for line in lines:
            answers.put(line)
    answers.put(b"")


def _close(pipe: IO[bytes]) -> None:
    with suppress(BrokenPipeError):
        pipe.close()
