"""Fusion moves: proposals of all kinds, each merged with the current labeling by roof duality.

Expansion moves for terms of any sign (Rother et al., CVPR 2007): a proposal is one label for all
nodes, as in alpha-expansion, or every node's best label beside its own, or labels drawn at random
near the current costs. No move raises the energy, whatever the terms are.
"""

from __future__ import annotations

import numpy as np

from policrf.solvers.fusion.fuse import LIMIT, TAKEN, Fuser, refuse_large_tables
from policrf.solvers.fusion.proposals import best_others, drawn_near
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.run import Run
from policrf.solvers.solved_start import solved_start
from policrf.solvers.traits import declares
from policrf.types import IntArray


@declares(takes=TAKEN, limit=LIMIT, proves="nothing", goes_on=True)
def fusion(run: Run, *, start: str = "icm", rounds: int = 20, draws: int = 4) -> None:
    """Merge proposals with the labeling, each by one cut, until a round of them changes nothing.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Parameters
    ----------
    start
        The solver to start with, unless labels are given, as in `solve`; it gets a fifth of the
        time, or 50 ms.
    rounds
        Maximum number of rounds over all proposals.
    draws
        Random proposals of a round.
    """
    require_whole_numbers(rounds=rounds)
    require_whole_numbers(at_least=0, draws=draws)
    refuse_large_tables(run.crf, run.solver)
    labels = solved_start(run, start)
    fuser = Fuser(run)
    for done in range(rounds):
        if run.proven() or not fuse_round(run, fuser, labels, draws):
            run.info["rounds"] = done
            break
    run.info |= {"moves": fuser.moves, "decided": fuser.decided / max(fuser.asked, 1)}


def fuse_round(run: Run, fuser: Fuser, labels: IntArray, draws: int) -> bool:
    """All proposals once; whether one of them lowered the energy."""
    improved = False
    for k in range(run.crf.n_labels + 1 + draws):
        if not fuser.has_time():
            break
        if k < run.crf.n_labels:
            proposal = np.full_like(labels, k)
        elif k == run.crf.n_labels:
            proposal = best_others(run.crf, labels)
        else:
            proposal = drawn_near(run.crf, labels, run.rng)
        if fuser.fuse(labels, proposal):
            improved = True
            run.offer(labels)
    return improved
