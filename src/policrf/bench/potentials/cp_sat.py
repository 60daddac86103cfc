"""CP-SAT of OR-tools, for comparison only: in a process of its own, with one worker thread.

OR-tools cannot share a process with HiGHS. One run at the largest budget serves all budgets: its
solver does not plan ahead, so what it has found by a budget is what it would have returned then.
Time is CPU time, without that of
building the model.
"""

from __future__ import annotations

import json
import subprocess
import sys
from types import TracebackType
from typing import Any

import numpy as np

from policrf.bench.potentials import cp_sat_worker
from policrf.bench.potentials.cp_sat_models import MODELS
from policrf.bench.result_log import Result
from policrf.crf.model import CRF
from policrf.crf.potentials import Custom


class CpSat:
    """The process, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._crf: CRF | None = None
        self._answer: dict[str, Any] = {}

    def __enter__(self) -> CpSat:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def result(self, crf: CRF, family: str, seconds: list[float], place: int) -> Result:
        """What it had found by the budget `seconds[place]`; the last budget is the longest.

        Parameters
        ----------
        crf
            A CRF of the family.
        family
            Which model to build.
        seconds
            All budgets, in ascending order.
        place
            Which of them is asked for.
        """
        if family not in MODELS:
            return {"refused": f"there is no CP-SAT model of {family}"}
        if crf is not self._crf:
            self._crf, self._answer = crf, self._solve(describe(crf, family) | {"seconds": seconds})
        if "failed" in self._answer:
            return {"refused": self._answer["failed"]}
        return _at(crf, self._answer, seconds[place])

    def _solve(self, task: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            command = [sys.executable, "-m", cp_sat_worker.__name__]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.__exit__(None, None, None)
            return {"failed": "CP-SAT's process ended without an answer"}
        answer: dict[str, Any] = json.loads(line)
        return answer


def describe(crf: CRF, family: str) -> dict[str, Any]:
    """What the model is built from, as plain values."""
    (group,) = (group for group in crf.potentials if isinstance(group, Custom))
    ends = group.parameter_ptr[1:-1]
    return {
        "family": family,
        "unary": crf.unary.tolist(),
        "edges": crf.arrays.edges.tolist(),
        "edge_weights": crf.arrays.edge_weights.tolist(),
        "cliques": [clique.tolist() for clique in group],
        "parameters": [part.tolist() for part in np.split(group.parameters, ends)],
    }


def _at(crf: CRF, answer: dict[str, Any], seconds: float) -> Result:
    """The last labeling found by then; the unary argmin where there was none."""
    labels = np.argmin(crf.unary, axis=1)
    for found in answer["labelings"]:
        if found["cpu_seconds"] <= seconds:
            labels = np.asarray(found["labels"])
    ended = answer["cpu_seconds"] <= seconds and answer["optimal"]
    return {
        "energy": crf.energy(labels),
        "proven": ended,
        "calls": 0,
        "wall_seconds": min(seconds, answer["wall_seconds"]),
        "cpu_seconds": min(seconds, answer["cpu_seconds"]),
        "stopped": ended,
    }
