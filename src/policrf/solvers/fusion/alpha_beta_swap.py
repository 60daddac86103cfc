"""Alpha-beta swap (Boykov et al., PAMI 2001), for terms of any sign.

A move lets every node that has label α or β choose between the two, and all other nodes keep
theirs: the best of these labelings is one cut where the terms are submodular, and roof duality
finds part of it where they are not (`fuse`). It takes tables that no expansion move takes: they
need not obey the triangle inequality.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from policrf.solvers.fusion.fuse import LIMIT, TAKEN, Fuser, refuse_large_tables
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.run import Run
from policrf.solvers.solved_start import solved_start
from policrf.solvers.traits import declares
from policrf.types import IntArray


@declares(takes=TAKEN, limit=LIMIT, proves="nothing", goes_on=True)
def alpha_beta_swap(run: Run, *, start: str = "icm", sweeps: int = 20) -> None:
    """Let the nodes of two labels choose between them, pair after pair, until none improves.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Parameters
    ----------
    start
        The solver to start with, unless labels are given, as in `solve`; it gets a fifth of the
        time, or 50 ms.
    sweeps
        Maximum number of rounds over all pairs of labels.
    """
    require_whole_numbers(sweeps=sweeps)
    refuse_large_tables(run.crf, run.solver)
    labels = solved_start(run, start)
    fuser = Fuser(run)
    run.info["converged"] = False
    for _ in range(sweeps):
        if not fuser.has_time() or run.proven():
            break
        if not _sweep(run, fuser, labels):
            run.info["converged"] = fuser.has_time()
            break
    run.info["moves"] = fuser.moves


def _sweep(run: Run, fuser: Fuser, labels: IntArray) -> bool:
    """Every pair of labels that occur, or of one that does; whether a move improved `labels`."""
    improved = False
    for alpha, beta in combinations(range(run.crf.n_labels), 2):
        if not fuser.has_time():
            break
        swapped = np.where(labels == alpha, beta, np.where(labels == beta, alpha, labels))
        if fuser.fuse(labels, swapped):
            improved = True
            run.offer(labels)
    return improved
