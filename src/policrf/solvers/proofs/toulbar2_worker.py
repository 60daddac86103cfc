"""Runs toulbar2 in a process of its own: a network as JSON on stdin, the answer as JSON on stdout.

toulbar2 keeps global state, takes over timer signals and holds the GIL while it works; a process
can be stopped at any time. SIGVTALRM, its own timer's signal, makes it return with the best
labeling and bound so far. The process ends with its parent, however that ends. This file imports
nothing of the package, so that the process starts quickly.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

NO_LIMIT = 10**6  # seconds of processor time; a limit is what makes it listen to the signal
PR_SET_PDEATHSIG = 1  # of Linux's prctl


def solve_network(task: dict[str, Any]) -> dict[str, Any]:
    """`values` (or None), their `cost` and the `bound`, in whole numbers."""
    import pytoulbar2

    problem = pytoulbar2.CFN(task["top"], resolution=0, seed=task["seed"], vac=task.get("vac", 1))
    problem.Option.showSolutions = 0
    for k, size in enumerate(task["domains"]):
        problem.AddVariable(f"x{k}", range(size))
    for scope, costs in task["functions"]:
        problem.AddFunction(scope, costs)
    for terms, right in task["quotas"]:
        problem.AddGeneralizedLinearConstraint([tuple(term) for term in terms], ">=", right)
    answer = problem.Solve(timeLimit=NO_LIMIT)
    bound = int(problem.GetDDualBound())
    if answer is None:
        return {"values": None, "cost": task["top"], "bound": bound}
    return {"values": [int(v) for v in answer[0]], "cost": int(answer[1]), "bound": bound}


def end_with(parent: int, life: int) -> None:
    """Let this process be killed when process `parent` ends, which holds the other end of `life`.

    No thread could see to it: toulbar2 holds the GIL.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    elif hasattr(os, "fork"):
        watch_from_a_fork(life)


def watch_from_a_fork(life: int) -> None:
    """A small process waits for the end of the pipe `life`, then kills this one."""
    worker = os.getpid()
    if os.fork() == 0:
        os.read(life, 1)
        if os.getppid() == worker:  # else it has ended by itself
            os.kill(worker, signal.SIGKILL)
        os._exit(0)


def main() -> None:
    """Keep stdout for the answer alone: toulbar2 prints to it."""
    end_with(int(sys.argv[1]), int(sys.argv[2]))
    out = os.dup(1)
    os.dup2(2, 1)
    task = json.load(sys.stdin)
    answer = json.dumps(solve_network(task)).encode()
    while answer:
        answer = answer[os.write(out, answer) :]


if __name__ == "__main__":
    main()
