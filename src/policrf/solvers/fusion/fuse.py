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
from policrf.solvers.fusion.roof_duality import doubled, persistent_labels
from policrf.solvers.pace import model_size
from policrf.solvers.run import Run
from policrf.types import IntArray

TAKEN = (Potts, Pairwise, Tables)
BEGIN = 2e-7  # seconds a node, an edge or a clique's member that a move takes before its cut
SHARE = 0.5  # of the time, after which search goes on otherwise (`go_on`)
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
    """Fuses labelings of the CRF of a run in its time, and counts what happens."""

    def __init__(self, run: Run) -> None:
        self.run, self.crf = run, run.crf
        self.moves = 0
        self.asked, self.decided = 0, 0
        """Nodes that proposals wanted to change, and those of them that roof duality decided."""
        self._to_leave = 0.0 if run.seconds is None else (1 - SHARE) * run.seconds
        self._begins = BEGIN * model_size(run.crf.arrays)

    def has_time(self) -> bool:
        """Whether another move is to begin, and may come to its cut.

        To make a proposal takes no longer than the rest of what comes before that.
        """
        return self.run.remaining() > max(2 * self._begins, self._to_leave)

    def fuse(self, labels: IntArray, proposal: IntArray) -> bool:
        """Improve `labels` [N] in place by parts of the proposal; whether their energy fell."""
        moves = (labels != proposal) & _allowed(self.crf.arrays, proposal)
        if not moves.any():
            return False
        wanted = np.where(moves, proposal, labels)
        found = self._decided(labels, wanted)
        if found is None:
            return False
        self.asked += int(moves.sum())
        self.decided += int((moves & (found >= 0)).sum())
        best, lowest = labels, self.crf.energy(labels)
        for chosen in (found == 1, found != 0):
            new = np.where(chosen & moves, wanted, labels)
            if (energy := self.crf.energy(new)) < lowest:
                best, lowest = new, energy
        if best is labels:
            return False
        labels[:] = best
        self.moves += 1
        return True

    def _decided(self, labels: IntArray, wanted: IntArray) -> IntArray | None:
        """What roof duality says of the nodes `[N]`; None if time runs out."""
        run, began = self.run, self.run.elapsed()
        network = doubled(between(self.crf.arrays, labels, wanted))
        self._begins = max(self._begins, run.elapsed() - began)
        # Three energies are compared in the end.
        found = persistent_labels(network, lambda: run.remaining() < 3 * run.offer_seconds)
        return None if found is None else found[: len(labels)]


def _allowed(a: Arrays, labels: IntArray) -> IntArray:
    return np.isfinite(a.unary[np.arange(len(labels)), labels])
