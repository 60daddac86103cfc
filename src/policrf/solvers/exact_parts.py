"""Connected components of what dead-end elimination left, solved one after the other.

The energy is a sum over components once the other nodes are fixed, so each component is solved with
all other nodes held at the best labeling so far, and the improvements add up.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from policrf.crf.arrays import Arrays
from policrf.crf.checks import FloatArray, IntArray
from policrf.crf.energy import load_labels, new_state
from policrf.crf.model import CRF
from policrf.solvers.brute_force import STEPS, start_odometer, visit
from policrf.solvers.exact_highs import solve_milp
from policrf.solvers.exact_model import build_model
from policrf.solvers.run import Run

ENUMERATED = 12.0  # a component with 2 to the power of this many labelings is enumerated


def free_components(a: Arrays, alive: IntArray) -> list[IntArray]:
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
    run: Run, crf: CRF, alive: IntArray, labels: IntArray, components: list[IntArray], gap: float
) -> bool:
    """Solve every component, offering what is found; False if there is no allowed labeling."""
    if np.isinf(crf.energy(labels)) and components:
        # Parts can be solved one by one only around an allowed labeling of the others.
        components = [np.sort(np.concatenate(components))]
    slack = 0.0  # what the components before this one may still be above their optimum
    for position, nodes in enumerate(components):
        if run.expired():
            return True
        last = position == len(components) - 1
        choices = np.zeros_like(alive)
        choices[np.arange(len(labels)), labels] = True
        choices[nodes] = alive[nodes]
        if np.log2(alive[nodes].sum(axis=1)).sum() <= ENUMERATED:
            labels = _enumerate(crf, choices)
            bound = crf.energy(labels)
        else:
            labels, bound = _solve_part(run, crf, choices, labels, slack if last else np.inf, gap)
        run.offer(labels)
        if np.isinf(bound):
            return bound < 0
        slack += max(0.0, crf.energy(labels) - bound)
    energy = crf.energy(labels)
    if np.isinf(energy):
        return False
    run.bound(energy - slack)
    return True


def _enumerate(crf: CRF, choices: IntArray) -> IntArray:
    odometer, labels = start_odometer(choices)
    state = new_state(crf.arrays)
    load_labels(crf.arrays, state, labels)
    visit(crf.arrays, state, odometer, np.array([np.inf, 0.0]), labels, STEPS)
    return labels


def _solve_part(
    run: Run, crf: CRF, choices: IntArray, labels: IntArray, slack: float, gap: float
) -> tuple[IntArray, float]:
    """The best labeling and a bound: +inf if the part has no allowed labeling, −inf if unknown."""
    model = build_model(crf.arrays, choices, labels)
    best = labels

    def on_solution(values: FloatArray) -> None:
        nonlocal best
        found = model.labels(values)
        if crf.energy(found) < crf.energy(best):
            best = found
            run.offer(found)

    result = solve_milp(
        model.milp,
        seconds=run.remaining(),
        seed=run.seed,
        gap=gap,
        expired=run.expired,
        on_bound=lambda value: run.bound(value - slack),
        on_solution=on_solution,
    )
    if result.values is not None:
        on_solution(result.values)
    return best, result.bound
