"""Runs toulbar2 in a process of its own: a network as JSON on stdin, the answer as JSON on stdout.

toulbar2 keeps global state, takes over timer signals and holds the GIL while it works; a process
can be stopped at any time. This file imports nothing of the package, so that the process starts
quickly.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def solve_network(task: dict[str, Any]) -> dict[str, Any]:
    """`values` (or None), `bound` in whole numbers, and whether the search was finished."""
    import pytoulbar2

    problem = pytoulbar2.CFN(task["top"], resolution=0, seed=task["seed"], vac=1)
    problem.Option.showSolutions = 0
    for k, size in enumerate(task["domains"]):
        problem.AddVariable(f"x{k}", range(size))
    for scope, costs in task["functions"]:
        problem.AddFunction(scope, costs)
    for terms, right in task["quotas"]:
        problem.AddGeneralizedLinearConstraint([tuple(term) for term in terms], ">=", right)
    limit = task["seconds"]
    answer = problem.Solve(timeLimit=limit)
    values = [int(v) for v in answer[0]] if answer is not None else None
    bound = int(problem.GetDDualBound())
    finished = bound >= (int(answer[1]) if answer is not None else task["top"])
    return {"values": values, "bound": bound, "finished": finished}


def main() -> None:
    """Keep stdout for the answer alone: toulbar2 prints to it."""
    out = os.dup(1)
    os.dup2(2, 1)
    task = json.load(sys.stdin)
    answer = json.dumps(solve_network(task))
    os.write(out, answer.encode())


if __name__ == "__main__":
    main()
