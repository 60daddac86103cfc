"""toulbar2 as it comes: every term as a function of costs with seven digits, and its own search."""

from __future__ import annotations

import math
import signal
from typing import Any

import numpy as np

from policrf.crf.io.factors import TABLE_LIMIT, check_tables, factors_of
from policrf.crf.model import CRF

DIGITS = 7
ROUNDING = 10.0**-DIGITS  # of every term


def solve_plainly(crf: CRF, seconds: float, seed: int) -> dict[str, Any]:
    """Labels (None where it has none), a bound less what rounding may have added, the proof.

    Its time limit is in whole seconds of CPU time.
    """
    import pytoulbar2

    check_tables(crf, "the model", TABLE_LIMIT)
    factors = list(factors_of(crf))
    finite = [np.abs(f.table[np.isfinite(f.table)]).max(initial=0.0) for f in factors]
    top = math.ceil(float(sum(finite))) + 1.0
    problem = pytoulbar2.CFN(top, resolution=DIGITS, seed=seed + 1)
    for i, size in enumerate(crf.cardinalities.tolist()):
        problem.AddVariable(f"x{i}", range(size))
    forbidden = 2 * top  # others may be negative: their sum does not bring it below the top
    for scope, table in factors:
        costs = np.where(np.isinf(table), forbidden, table).ravel().tolist()
        problem.AddFunction(list(scope), costs)
    answer = problem.Solve(timeLimit=max(1, math.floor(seconds)))
    # It leaves its timer running, and while one runs the CPU clock of a process moves by ticks.
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    bound = float(problem.GetDDualBound())
    labels = None if answer is None else [int(label) for label in answer[0]]
    proven = answer is not None and bound >= float(answer[1]) - ROUNDING / 2
    return {"labels": labels, "bound": bound - ROUNDING * len(factors), "proven": proven}
