"""Fusion (Lempitsky et al., PAMI 2010): the parts of a proposal that lower the energy, by a cut.

Of all 2^k labelings between the current one and the proposal, roof duality finds one that is no
worse than both keep it to be: nodes it says nothing about keep their labels, then take the
proposal's if all of them together are better so.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.arrays import Arrays
from policrf.crf.model import CRF
from policrf.crf.potentials import Pairwise, Potts, Tables
from policrf.errors import UnsupportedPotential
from policrf.solvers.fusion.binary_energy import ORDER, between
from policrf.solvers.fusion.roof_duality import persistent_labels
from policrf.types import IntArray

TAKEN = (Potts, Pairwise, Tables)
LIMIT = f"tables of up to {ORDER} nodes"


def refuse_large_tables(crf: CRF, solver: str) -> None:
    """Say which table joins more nodes than a fusion move takes."""
    sizes = np.diff(crf.arrays.clique_ptr)
    if (sizes > ORDER).any():
        c = int(np.argmax(sizes > ORDER))
        raise UnsupportedPotential(
            f"{solver} cannot take Tables: table {c} joins {sizes[c]} nodes, more than {ORDER}; "
            "try lns, belief_propagation or refine"
        )


class Fuser:
    """Fuses labelings of one CRF, and counts what happens."""

    def __init__(self, crf: CRF) -> None:
        self.crf = crf
        self.moves = 0
        self.longest = 0.0
        """Seconds that a proposal took at most: none begins that might not end in time."""
        self.asked, self.decided = 0, 0
        """Nodes that proposals wanted to change, and those of them that roof duality decided."""

    def fuse(self, labels: IntArray, proposal: IntArray) -> bool:
        """Improve `labels` [N] in place by parts of the proposal; whether their energy fell."""
        moves = (labels != proposal) & _allowed(self.crf.arrays, proposal)
        if not moves.any():
            return False
        wanted = np.where(moves, proposal, labels)
        found = persistent_labels(between(self.crf.arrays, labels, wanted))[: len(labels)]
        self.asked += int(moves.sum())
        self.decided += int((moves & (found >= 0)).sum())
        before, best = self.crf.energy(labels), labels
        for chosen in (found == 1, found != 0):
            new = np.where(chosen & moves, wanted, labels)
            if self.crf.energy(new) < min(before, self.crf.energy(best)):
                best = new
        if best is labels:
            return False
        labels[:] = best
        self.moves += 1
        return True


def _allowed(a: Arrays, labels: IntArray) -> IntArray:
    return np.isfinite(a.unary[np.arange(len(labels)), labels])
