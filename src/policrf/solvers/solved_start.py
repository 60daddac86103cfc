"""Where a search starts that begins with another solver: the caller's labels, or that solver's."""

from __future__ import annotations

from policrf.solvers.feasibility.allowed_start import allowed_start
from policrf.solvers.run import Run
from policrf.types import IntArray

START_SHARE, START_TIME = 0.2, 0.05  # of the time for the other solver, and seconds at least


def solved_start(run: Run, start: str, *, go_on: bool = False) -> IntArray:
    """A copy of the caller's labels or of the other solver's, allowed if such are found.

    What the other solver finds and claims is the run's; `go_on` says what `solve` says of it.
    """
    from policrf.solvers import solve

    labels = run.start_labels()
    if run.initial is None and not run.expired():
        problem = run.instance if run.instance is not None else run.crf
        seconds = min(max(START_SHARE * run.remaining(), START_TIME), run.remaining())
        found = solve(problem, start, seconds=seconds, seed=run.seed, go_on=go_on)
        run.inherit(found)
        labels = found.labels.copy()
    if not run.expired():
        labels = allowed_start(run, labels)
    run.offer(labels)
    return labels
