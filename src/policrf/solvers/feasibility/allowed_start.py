"""Where a local search starts in a model that forbids: at a labeling that is allowed, if it can be.

Single relabels that count violations first are tried before the feasibility phase: they end near
the labels they start from, and most models need no more.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.changes import load_labels
from policrf.crf.state import new_state
from policrf.solvers.feasibility.feasible_labels import feasible_labels
from policrf.solvers.feasibility.hard_terms import forbids_jointly
from policrf.solvers.moves.icm import relabel_single_nodes
from policrf.solvers.run import Run
from policrf.types import FloatArray, IntArray

SHARE = 0.5  # of the time left: most of what the phase may take


def allowed_start(
    run: Run, labels: IntArray, costs: FloatArray | None = None, share: float = SHARE
) -> IntArray:
    """`labels` if nothing forbids them, else others of finite energy, or the nearest to it found.

    `costs` [N, L], where given, is what labels are preferred by; `share` is the part of the time
    left that the search for them may take.
    """
    if np.isfinite(run.crf.energy(labels)) or not forbids_jointly(run.crf.arrays):
        return labels
    if costs is None:
        labels = _settled(run, labels)
    if not run.expired() and not np.isfinite(run.crf.energy(labels)):
        until = run.elapsed() + share * run.remaining()
        found = feasible_labels(run, labels, costs=costs, until=until)
        if found is not None:
            labels = _settled(run, found)
    return labels


def _settled(run: Run, labels: IntArray) -> IntArray:
    """The local minimum of single relabels."""
    state = new_state(run.crf.arrays)
    load_labels(run.crf.arrays, state, labels)
    relabel_single_nodes(run, state, np.arange(run.crf.n_nodes))
    return state.labels
