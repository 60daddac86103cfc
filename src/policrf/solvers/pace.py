"""How much work a kernel call may do before the clock is looked at again."""

from __future__ import annotations

from policrf.crf.arrays import Arrays
from policrf.solvers.run import Run

SLICE = 0.001  # seconds between two looks at the clock
KEPT = 0.3  # share of the time left that a slice does not use: the next one may be slower
GROWTH = 4.0  # a slice is at most this many times as large as the one before


def first_visits(run: Run, otherwise: int) -> int:
    """Visits of nodes in a first slice: by what one takes, if that was measured."""
    if run.visit_seconds is None or run.seconds is None:
        return otherwise
    return max(1, int(min(SLICE, (1 - KEPT) * run.remaining()) / run.visit_seconds / 2))


class Pace:
    """The size of the next slice, from how long the last one took.

    Parameters
    ----------
    run
        Whose clock it is.
    first
        Size of the first slice, in the unit of the caller's work.
    """

    def __init__(self, run: Run, first: int) -> None:
        self._run = run
        self.size = max(1, first)
        self._began = self._run.elapsed()

    def begin(self) -> int:
        """A slice begins; returns its size."""
        self._began = self._run.elapsed()
        return self.size

    def end(self) -> None:
        """The slice is done."""
        spent = max(self._run.elapsed() - self._began, 1e-9)
        allowed = min(SLICE, (1 - KEPT) * self._run.remaining())
        self.size = max(1, int(self.size * min(GROWTH, allowed / spent)))


def model_size(a: Arrays) -> int:
    """Nodes, edges and members of cliques: what laying out a model takes its time by."""
    return len(a.unary) + len(a.edges) + len(a.clique_nodes)
