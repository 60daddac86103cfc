"""First labelings by the names of `numbers.STARTS`, all within the run that asks for one.

`rule` and `first_pass` are a policy's own and not made here: policies stand above this folder.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.changes import load_labels
from policrf.crf.state import new_state
from policrf.errors import InvalidOption
from policrf.solvers.ask_halfway import begin_halfway
from policrf.solvers.edges_first import label_by_edges
from policrf.solvers.first_answer import label_in_one_pass
from policrf.solvers.moves.highest_confidence_first import label_surest_first
from policrf.solvers.moves.icm import relabel_single_nodes
from policrf.solvers.refine.refine_start import is_opaque, known_part
from policrf.solvers.run import Run
from policrf.types import IntArray


def first_labels(run: Run, start: str) -> IntArray:
    """The best labels `[N]` that are known after the start; what it finds is offered.

    If time is out before it ends, those are the starting labels (`initial=`, the unary argmin).
    """
    if not run.expired():
        if start == "auto" and not is_opaque(run.crf.arrays):
            start = "known_part"  # nothing is asked half-way: cuts come first
        match start:
            case "auto":
                begin_halfway(run)
            case "one_pass":
                label_in_one_pass(run)
            case "by_edges":
                label_by_edges(run)
            case "highest_confidence_first":
                state, order = label_surest_first(run, run.crf.arrays)
                if len(order):
                    run.offer(np.where(state.labels >= 0, state.labels, run.start_labels()))
            case "known_part":
                if (known := known_part(run)) is not None:
                    run.offer(known)
            case "unary":
                pass
            case _:
                raise InvalidOption(f"{start!r} is no start that can be made without a policy")
    return run.start_labels() if run.best is None else run.best.copy()


def relabel_first(run: Run, labels: IntArray) -> IntArray:
    """`labels` after single relabels (ICM), which are offered."""
    if run.expired():
        return labels
    state = new_state(run.crf.arrays)
    load_labels(run.crf.arrays, state, labels)
    relabel_single_nodes(run, state, np.arange(run.crf.n_nodes))
    run.offer(state.labels)
    return state.labels.copy()
