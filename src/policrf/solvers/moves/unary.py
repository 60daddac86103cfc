"""The unary argmin: every node its own cheapest label. The baseline without other terms."""

from __future__ import annotations

import numpy as np

from policrf.solvers.run import Run


def unary(run: Run) -> None:
    """Give every node the label of its lowest unary energy, the first among equals."""
    run.offer(np.argmin(run.crf.unary, axis=1).astype(np.int64))
    if not run.crf.potentials:
        run.optimal = True
