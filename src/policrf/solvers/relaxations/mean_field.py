"""Naive mean field, annealed: independent q_i(x_i) close to exp(−E(x) / T), while T falls.

    q_i(x_i) ∝ exp(−(expected energy of x_i under the other q_j) / T),   node after node, damped.

Pairwise terms, boxes and counts of labels have their expectation in closed form (`expectations`): a
count is Poisson binomial, so no table is needed. The other members of a clique are seen as they
were at the beginning of the sweep, neighbours along edges as they are now. As T → 0 the steps
become those of ICM, from a much better start. A quota that the others are far from meeting has no
slope: there naive mean field does not see HOP2, and its answers are as far off as ICM's.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.potentials import TABLE, RobustPotts
from policrf.errors import InvalidOption
from policrf.solvers.messages.graph.explicit_tables import AS_TABLES, TABLE_LIMIT, explicit_tables
from policrf.solvers.messages.graph.factor_graph import FactorGraph, build_factor_graph
from policrf.solvers.messages.graph.pair_terms import DENSE, LINEAR
from policrf.solvers.messages.message_state import real_labels, slices, table_sizes
from policrf.solvers.option_checks import (
    require_share_above_zero,
    require_share_below_one,
    require_whole_numbers,
)
from policrf.solvers.relaxations.expectations import count_labels, new_counts, relax
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import FloatArray

HOT = 4.0  # the first temperature, in units of the median margin between a node's two best labels
COLD = 1e-12  # the lowest temperature, in units of the largest single term


@declares(tables=(RobustPotts, *AS_TABLES), goes_on=True)
def mean_field(
    run: Run, *, iterations: int = 100, damping: float = 0.0, temperature: float | None = None,
    cooling: float = 0.93, tolerance: float = 1e-4, table_limit: int = TABLE_LIMIT,
) -> None:  # fmt: skip
    """Update the nodes' label probabilities while the temperature falls, until none changes.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Parameters
    ----------
    iterations
        Maximum number of sweeps.
    damping
        Share of the old probabilities in the new ones, 0 ≤ damping < 1.
    temperature
        Temperature of the first sweep, in units of energy; by default four times the median margin
        between the two lowest unaries of a node.
    cooling
        The temperature is multiplied by this after every sweep, 0 < cooling ≤ 1.
    tolerance
        Converged when no probability changes by more in a sweep.
    table_limit
        Largest number of entries of one clique's table; cliques without a closed form are
        tabulated once.
    """
    require_whole_numbers(iterations=iterations)
    require_share_below_one(damping=damping)
    require_share_above_zero(cooling=cooling)
    if temperature is not None and not temperature > 0:
        raise InvalidOption(f"temperature must be above 0, not {temperature}")
    explicit = None if run.expired() else explicit_tables(run, table_limit, dominant=False)
    if explicit is None:
        return
    g = build_factor_graph(run.crf, explicit)
    heat = HOT * typical_margin(g) if temperature is None else temperature
    q = boltzmann(g.unary, heat)
    counts = new_counts(g)
    clique_slices = slices(np.diff(g.clique_ptr) ** 1.5 * 20)
    node_slices = slices(_node_work(g))
    iteration, converged = 0, False
    while iteration < iterations and not converged:
        for first, stop in clique_slices:
            count_labels(g, q, counts, first, stop)
        change = 0.0
        for first, stop in node_slices:
            if run.expired():
                break
            change = max(change, relax(g, q, counts, heat, damping, first, stop))
        else:
            iteration += 1
            converged = change <= tolerance
            heat = max(heat * cooling, COLD * g.scale)
        run.offer(real_labels(g, np.where(g.allowed, q, -1.0).argmax(axis=1)))
        if run.expired():
            break
    run.info.update(iterations=iteration, converged=converged, temperature=heat)


def typical_margin(g: FactorGraph) -> float:
    """The median difference between a node's two lowest allowed unaries; never 0."""
    costs = np.where(g.allowed, g.unary, np.inf)
    choice = costs[np.count_nonzero(g.allowed, axis=1) > 1]
    if not len(choice):
        return g.scale
    lowest = np.partition(choice, 1, axis=1)
    return float(np.median(lowest[:, 1] - lowest[:, 0])) or g.scale


def boltzmann(costs: FloatArray, temperature: float) -> FloatArray:
    """exp(−costs / T), every row summing to 1."""
    weights = np.exp((costs.min(axis=1, keepdims=True) - costs) / temperature)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _node_work(g: FactorGraph) -> FloatArray:
    width = g.unary.shape[1]
    arc = np.where((g.arc_kind == DENSE) | (g.arc_kind == LINEAR), 2.0 * width * width, 2.0 * width)
    arcs = np.diff(np.append(0.0, np.cumsum(arc))[g.arc_ptr])
    size = np.diff(g.clique_ptr).astype(np.float64)
    clique = np.where(g.clique_kind == TABLE, size * table_sizes(g), 60 * np.sqrt(size))
    cliques = np.diff(np.append(0.0, np.cumsum(clique[g.member_clique]))[g.member_ptr])
    return np.asarray(10.0 * width + arcs + cliques)
