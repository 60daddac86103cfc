"""Tree-reweighted message passing: the paper's TBP, and TRW-S as its sequential form.

Both maximise, over the ways to split the energy among trees, the sum of the trees' minima: a lower
bound on the energy. "parallel" is tree-reweighted belief propagation (Wainwright et al. 2005): all
messages at once, damped, an edge's share ρ its probability of being in a spanning forest. It need
not converge; its bound is that of a TRW-S sweep over a copy of its messages, valid whatever these
are. "sequential" is TRW-S (Kolmogorov 2006): sweeps over monotonic chains, the bound never falls.

HOP1 is taken through its z_b. The cliques that are left (HOP2, tables of order three and more) take
part as trees of their own (`clique_ascent`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from policrf.solvers.messages.clique_ascent import ascend
from policrf.solvers.messages.graph.explicit_tables import AS_TABLES, TABLE_LIMIT, explicit_tables
from policrf.solvers.messages.graph.factor_graph import FactorGraph, all_terms, build_factor_graph
from policrf.solvers.messages.message_passing import ALL, BACKWARD, FORWARD
from policrf.solvers.messages.message_state import MessageState, bound_meets_energy
from policrf.solvers.messages.spanning_forests import appearance_probabilities
from policrf.solvers.option_checks import (
    require_choice,
    require_share_below_one,
    require_whole_numbers,
)
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import FloatArray

PATIENCE = 10  # looks at the bound in which it must rise by `tolerance`
LOOK_EVERY = 5  # parallel iterations between two bounds and labelings
Schedule = Literal["sequential", "parallel"]


@declares(tables=AS_TABLES, proves="a bound")
def tree_reweighted(
    run: Run,
    *,
    schedule: Schedule = "sequential",
    iterations: int = 500,
    damping: float = 0.5,
    tolerance: float = 1e-7,
    table_limit: int = TABLE_LIMIT,
) -> None:
    """Raise a lower bound by reweighted messages until it meets the energy or stops rising.

    Parameters
    ----------
    schedule
        "sequential" (TRW-S) or "parallel" (tree-reweighted belief propagation).
    iterations
        Maximum number of iterations.
    damping
        Share of the old message in the new one, 0 ≤ damping < 1; parallel only.
    tolerance
        Stop when ten looks at the bound raised it by less than this part of it.
    table_limit
        Largest number of entries of one clique's table; cliques without a closed form are
        tabulated once.
    """
    require_choice("schedule", schedule, Schedule)
    require_whole_numbers(iterations=iterations)
    require_share_below_one(damping=damping)
    explicit = None if run.expired() else explicit_tables(run, table_limit)
    if explicit is None:
        return
    graph = build_factor_graph(run.crf, explicit, split_agreement=True)
    chains = MessageState(run, graph, *chain_shares(graph))
    if schedule == "sequential":
        _sequential(chains, iterations, tolerance)
    else:
        trees = MessageState(run, graph, *tree_shares(graph))
        _parallel(trees, chains, iterations, damping, tolerance)


def _sequential(state: MessageState, iterations: int, tolerance: float) -> None:
    """TRW-S: forward, backward, cliques; labels are decoded along the forward order."""
    bounds: list[float] = []
    finished = False
    while len(bounds) < iterations and not finished:
        if not state.sweep(FORWARD):
            break
        state.restart()
        if not state.sweep(BACKWARD):
            break
        state.offer_decoded()
        bound = _bound(state)
        if bound is None:
            break
        bounds.append(bound)
        finished = _no_more_to_gain(state, bounds, tolerance)
    state.run.offer(state.cheapest())
    state.run.info.update(iterations=len(bounds), converged=finished)


def _parallel(
    state: MessageState, chains: MessageState, iterations: int, damping: float, tolerance: float
) -> None:
    """Tree-reweighted belief propagation; `chains` holds the copy that bounds are taken from."""
    bounds: list[float] = []
    iteration, finished = 0, False
    while iteration < iterations and not finished:
        if not (state.sweep(ALL, damping) and state.update_cliques(damping)):
            break
        iteration += 1
        if iteration % LOOK_EVERY == 0 or iteration == iterations:
            state.run.offer(state.cheapest())
            state.offer_decoded()
            chains.messages.along[:] = state.messages.along
            chains.messages.from_cliques[:] = state.messages.from_cliques
            chains.restart()
            bound = _bound(chains) if chains.sweep(BACKWARD) else None
            if bound is None:
                break
            bounds.append(bound)
            finished = _no_more_to_gain(state, bounds, tolerance)
    state.run.offer(state.cheapest())
    state.run.info.update(iterations=iteration, converged=finished)


def _bound(state: MessageState) -> float | None:
    """A step of every clique after a backward sweep; the bound both prove, None if time ran out."""
    for first, stop in state.clique_slices:
        if state.run.expired():
            return None
        ascend(state.graph, state.messages, first, stop)
    return float(state.messages.totals[0])


def _no_more_to_gain(state: MessageState, bounds: list[float], tolerance: float) -> bool:
    """Report the last bound; True if it meets the energy or has stopped rising."""
    run, scale = state.run, state.graph.scale
    run.bound(bounds[-1])
    if bound_meets_energy(run, scale):
        return True
    if len(bounds) <= PATIENCE:
        return False
    return max(bounds) - max(bounds[:-PATIENCE]) <= tolerance * max(abs(max(bounds)), scale)


def chain_shares(g: FactorGraph) -> tuple[FloatArray, FloatArray]:
    """1 / (monotonic chains through the node + its cliques), of every arc and clique entry."""
    n_nodes = len(g.unary)
    own = np.repeat(np.arange(n_nodes), np.diff(g.arc_ptr))
    later = np.bincount(own[g.arc_node > own], minlength=n_nodes)
    earlier = np.bincount(own[g.arc_node < own], minlength=n_nodes)
    parts = np.maximum(later, earlier) + np.diff(g.member_ptr)
    share = 1.0 / np.maximum(parts, 1)
    return share[own], share[g.clique_nodes]


def tree_shares(g: FactorGraph) -> tuple[FloatArray, FloatArray]:
    """ρ of every arc's term and of every clique entry's clique."""
    ptr, nodes, first = all_terms(g)
    rho = appearance_probabilities(ptr, nodes, len(g.unary))
    n_cliques = len(g.clique_kind)
    share = np.empty(len(g.arc_node))
    share[first] = share[g.arc_reverse[first]] = rho[n_cliques:]
    return share, np.repeat(rho[:n_cliques], np.diff(g.clique_ptr))
