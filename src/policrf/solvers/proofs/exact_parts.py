"""Connected components of what dead-end elimination left, solved one after the other.

The energy is a sum over components once the other nodes are fixed, so each component is solved with
all other nodes held at the best labeling so far, and the improvements add up.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels
from policrf.crf.model import CRF
from policrf.crf.potentials import SUPPORT, TABLE
from policrf.crf.state import new_state
from policrf.solvers.proofs.brute_force import STEPS, start_odometer, visit
from policrf.solvers.proofs.exact_highs import solve_milp
from policrf.solvers.proofs.exact_model import build_model
from policrf.solvers.proofs.exact_network import build_network
from policrf.solvers.proofs.exact_toulbar2 import has_toulbar2, solve_network
from policrf.solvers.run import Run
from policrf.types import BoolArray, IntArray

TOULBAR2_SHARE = 0.6  # of the time that is left; HiGHS gets the rest where it does not finish
LABELS = (50, 6_000)  # below, HiGHS is done before a process starts; above, it has a bound sooner
ENUMERATED = 12.0  # a component with 2 to the power of this many labelings is enumerated


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


def solve_parts(
    run: Run, crf: CRF, alive: BoolArray, labels: IntArray, components: list[IntArray],
    backend: str, gap: float,
) -> bool:  # fmt: skip
    """Solve every component, offering what is found; False if there is no allowed labeling."""
    if np.isinf(crf.energy(labels)) and components:
        # Parts can be solved one by one only around an allowed labeling of the others.
        components = [np.sort(np.concatenate(components))]
    slack = 0.0  # what the components before this one may still be above their optimum
    for position, nodes in enumerate(components):
        if run.expired():
            return True
        choices = np.zeros_like(alive)
        choices[np.arange(len(labels)), labels] = True
        choices[nodes] = alive[nodes]
        if np.log2(alive[nodes].sum(axis=1)).sum() <= ENUMERATED:
            labels = _enumerate(crf, choices)
            bound = crf.energy(labels)
        else:
            last = position == len(components) - 1
            part = Part(run, crf, choices, labels, slack=slack if last else np.inf, gap=gap)
            part.solve(backend)
            labels, bound = part.labels, part.bound
        run.offer(labels)
        if np.isinf(bound):
            return bound < 0
        slack += max(0.0, crf.energy(labels) - bound)
    energy = crf.energy(labels)
    if np.isinf(energy):
        return False
    run.bound(energy - slack)
    return True


def _enumerate(crf: CRF, choices: BoolArray) -> IntArray:
    odometer, labels = start_odometer(choices)
    state = new_state(crf.arrays)
    load_labels(crf.arrays, state, labels)
    visit(crf.arrays, state, odometer, np.array([np.inf, 0.0]), labels, STEPS)
    return labels


class Part:
    """One component: the best labeling so far and a bound, both of the whole CRF.

    The bound is +inf if the component has no allowed labeling, −inf while nothing is known.
    """

    def __init__(
        self, run: Run, crf: CRF, choices: BoolArray, labels: IntArray, *, slack: float, gap: float
    ) -> None:
        self.run, self.crf, self.choices, self.gap = run, crf, choices, gap
        self.labels, self.energy = labels, crf.energy(labels)
        self.bound = -np.inf
        self._slack = slack

    def solve(self, backend: str) -> None:
        """With "auto", toulbar2 where it is stronger, and HiGHS for what time is left.

        Groups that have no form in toulbar2 are left to HiGHS.
        """
        if self._open_kinds().max(initial=0) > TABLE:
            backend = "highs"
        if backend == "auto":
            backend = "both" if self._suits_toulbar2() and has_toulbar2() else "highs"
        self.run.info["backend"] = "toulbar2, highs" if backend == "both" else backend
        finished = False
        if backend in ("both", "toulbar2"):
            share = 1.0 if backend == "toulbar2" else TOULBAR2_SHARE
            finished = self._solve_network(share * self.run.remaining())
        if backend in ("both", "highs") and not finished and not self.run.expired():
            self._solve_program()

    def _suits_toulbar2(self) -> bool:
        """Whether a quota or table is open, in a component that is neither small nor huge."""
        labels = self.choices.sum(axis=1)
        hard = np.isin(self._open_kinds(least=2), (SUPPORT, TABLE))
        return bool(hard.any() and LABELS[0] <= labels[labels > 1].sum() <= LABELS[1])

    def _open_kinds(self, least: int = 1) -> IntArray:
        """The kinds of the cliques with at least so many members that have a choice."""
        a = self.crf.arrays
        free = self.choices.sum(axis=1) > 1
        clique = np.repeat(np.arange(len(a.clique_kind)), np.diff(a.clique_ptr))
        open_members = np.bincount(clique[free[a.clique_nodes]], minlength=len(a.clique_kind))
        return np.asarray(a.clique_kind[open_members >= least])

    def _improve(self, labels: IntArray) -> None:
        energy = self.crf.energy(labels)
        if energy < self.energy:
            self.labels, self.energy = labels, energy
            self.run.offer(labels)

    def _raise(self, bound: float) -> None:
        self.bound = max(self.bound, bound)
        self.run.bound(bound - self._slack)

    def _solve_network(self, seconds: float) -> bool:
        network = build_network(self.crf.arrays, self.choices)
        result = solve_network(
            network, self.energy, seconds=seconds, seed=self.run.seed, expired=self.run.expired
        )
        if result.labels is not None:
            labels = self.labels.copy()
            labels[network.nodes] = result.labels
            self._improve(labels)
        self._raise(result.bound)
        return result.finished

    def _solve_program(self) -> None:
        model = build_model(self.crf.arrays, self.choices, self.labels)
        result = solve_milp(
            model.milp,
            upper=self.energy,
            seconds=self.run.remaining(),
            seed=self.run.seed,
            gap=self.gap,
            expired=self.run.expired,
            on_bound=self._raise,
            on_solution=lambda values: self._improve(model.labels(values)),
        )
        if result.values is not None:
            self._improve(model.labels(result.values))
        self._raise(result.bound)
