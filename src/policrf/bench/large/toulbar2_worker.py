"""Runs toulbar2 in a process of its own: a network as JSON on stdin, labels as JSON on stdout.

It imports nothing of the package, so that the process starts quickly.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def solve_network(task: dict[str, Any]) -> list[int] | None:
    """The best labels that toulbar2 has found by its time limit."""
    import pytoulbar2

    top = 1 + sum(max(costs) for _, costs in task["functions"])
    search = {"vns": -4} if task["vns"] else {}
    problem = pytoulbar2.CFN(top, resolution=0, seed=task["seed"], **search)
    problem.Option.showSolutions = 0
    for k, size in enumerate(task["domains"]):
        problem.AddVariable(f"x{k}", range(size))
    for scope, costs in task["functions"]:
        problem.AddFunction(scope, costs)
    answer = problem.Solve(timeLimit=task["seconds"])
    return None if answer is None else [int(value) for value in answer[0]]


def main() -> None:
    """Keep stdout for the answer alone: toulbar2 prints to it."""
    out = os.dup(1)
    os.dup2(2, 1)
    answer = json.dumps(solve_network(json.load(sys.stdin)))
    os.write(out, answer.encode())


if __name__ == "__main__":
    main()
