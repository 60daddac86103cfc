"""Connected components of what dead-end elimination left, solved one after the other.

The energy is a sum over components once the other nodes are fixed, so each component is solved on
its own (`exact_subproblem`), all other nodes held at the best labeling so far, and the improvements
add up. So do the gaps that are left open, and the margins of what is claimed (`solvers.claims`).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from policrf.crf.arrays import Arrays
from policrf.crf.model import CRF
from policrf.solvers.proofs.exact_part import Part
from policrf.solvers.proofs.exact_subproblem import Subproblem, whole
from policrf.solvers.run import Run
from policrf.types import BoolArray, IntArray


def free_components(a: Arrays, alive: BoolArray) -> list[IntArray]:
    """The nodes with a choice, by connected component, small components first."""
    n_nodes, n_cliques = len(a.unary), len(a.clique_kind)
    free = alive.sum(axis=1) > 1
    clique = np.repeat(np.arange(n_cliques), np.diff(a.clique_ptr))
    counted = np.where(a.clique_label[clique] >= 0, a.clique_label[clique], 0)
    # A member that cannot take a counting clique's label is not bound to the others by it.
    bound = free[a.clique_nodes] & ((a.clique_label[clique] < 0) | alive[a.clique_nodes, counted])
    both = free[a.edges].all(axis=1)
    row = np.concatenate([a.edges[both, 0], a.clique_nodes[bound]])
    column = np.concatenate([a.edges[both, 1], n_nodes + clique[bound]])
    size = n_nodes + n_cliques
    graph = coo_array((np.ones(len(row), np.int8), (row, column)), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    nodes = np.flatnonzero(free)
    owner = component[nodes]
    order = np.argsort(owner, kind="stable")
    parts = np.split(nodes[order], np.flatnonzero(np.diff(owner[order])) + 1) if len(nodes) else []
    return sorted(parts, key=lambda part: (int(alive[part].sum()), int(part[0])))


class Parts:
    """The components of a model whose labels are `alive` [N, L], and what their solves add up to.

    `lost` is what the reduction to `alive` may have raised the minimum by.
    """

    def __init__(self, run: Run, crf: CRF, alive: BoolArray, lost: float) -> None:
        self.run, self.crf, self.alive = run, crf, alive
        self.open_gap, self.margin = 0.0, lost

    def solve(self, labels: IntArray, components: list[IntArray], backend: str, gap: float) -> bool:
        """Solve every component, offering what is found; False if there is no allowed labeling."""
        run, crf, labels = self.run, self.crf, labels.copy()
        known = np.isfinite(crf.energy(labels))
        if not known and components:
            # Parts can be solved one by one only around an allowed labeling of the others.
            components = [np.sort(np.concatenate(components))]
        model = whole(crf.arrays, self.alive)
        for position, nodes in enumerate(components):
            if run.expired():
                return True
            part = Part(run, Subproblem(model, labels, nodes), labels, gap=gap)
            if position == len(components) - 1:
                # The difference of two energies keeps the rounding of both.
                energy = crf.energy(labels)
                rounding = 4 * run.terms.rounding(energy) if known else 0.0
                part.report(energy, self.open_gap, self.margin + rounding)
            part.solve(backend)
            if part.infeasible and not known:
                return False
            labels[nodes] = part.labels[: len(nodes)]
            self.open_gap, self.margin = self.open_gap + part.gap, self.margin + part.margin
        run.offer(labels)
        energy = crf.energy(labels)
        if np.isinf(energy):
            # Without components this was the one labeling that is left; else nothing is proven.
            return bool(components)
        run.bound(energy - self.open_gap, self.margin)
        return True
