"""Ctrl-C in a solver: the interrupt leaves with the best labels so far.

    try:
        solution = pc.solve(crf, "exact")
    except KeyboardInterrupt as stop:
        solution = stop.solution

A solver that calls another hands on what that one had found for the same CRF.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from policrf.interrupts import interrupt_in
from policrf.solvers.run import Run
from policrf.types import Solution


class Interrupted(KeyboardInterrupt):
    """A call of `solve` was interrupted; `solution` is the best so far."""

    def __init__(self, solution: Solution, run: Run) -> None:
        super().__init__("solve was interrupted")
        self.solution = solution
        self.run = run


@contextmanager
def passing_best(run: Run) -> Iterator[None]:
    """Around a solver: an interrupt becomes `Interrupted`."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        interrupt = interrupt_in(error)
        if interrupt is None:
            raise
        raise Interrupted(_best_of(run, interrupt), run) from None


def _best_of(run: Run, interrupt: KeyboardInterrupt) -> Solution:
    """What the run, or one that it had called, has found; energies are the model's, once more."""
    if run.best is not None:  # the interrupt may have come between a labeling and its energy
        run.energy = run.crf.energy(run.best)
    if isinstance(interrupt, Interrupted) and interrupt.run.crf is run.crf:
        run.inherit(interrupt.solution)
    return run.solution()
