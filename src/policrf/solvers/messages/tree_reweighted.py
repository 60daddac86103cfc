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

from typing import Any, Literal

import numpy as np

from policrf.solvers.claims import ROUGH
from policrf.solvers.messages.certified_bound import certified, chain_gifts, coarse_margin
from policrf.solvers.messages.clique_ascent import ascend
from policrf.solvers.messages.cycle_tables import with_cycle_tables
from policrf.solvers.messages.graph.explicit_tables import AS_TABLES, TABLE_LIMIT, explicit_tables
from policrf.solvers.messages.graph.factor_graph import FactorGraph, all_terms, build_factor_graph
from policrf.solvers.messages.message_passing import ALL, BACKWARD, FORWARD
from policrf.solvers.messages.message_state import MessageState
from policrf.solvers.messages.spanning_forests import appearance_probabilities
from policrf.solvers.moves.icm import local_minimum
from policrf.solvers.option_checks import (
    require_choice,
    require_share_below_one,
    require_whole_numbers,
)
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import FloatArray, IntArray

PATIENCE = 10  # looks at the bound in which it must rise by `tolerance`
CLOSE = 1e-8  # of the energy: a gap that rounding may be the reason of
REACH = 100  # times what the last looks gained: a gap of so much is still worth closing
LOOK_EVERY = 5  # parallel iterations between two bounds and labelings
Schedule = Literal["sequential", "parallel"]


@declares(tables=AS_TABLES, proves="a bound", goes_on=True)
def tree_reweighted(
    run: Run,
    *,
    schedule: Schedule = "sequential",
    iterations: int = 500,
    damping: float = 0.5,
    tolerance: float = 1e-7,
    tighten: bool = False,
    table_limit: int = TABLE_LIMIT,
) -> None:
    """Raise a lower bound by reweighted messages until it meets the energy or stops rising.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

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
    tighten
        Whether to go on, where the bound stops below the energy, with short cycles in place of
        edges: a tighter bound, and several times the work (`cycle_tables`).
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
    chains.offer_allowed()
    if tighten and not run.expired() and not run.proven():
        options = {"iterations": iterations, "tolerance": tolerance, "table_limit": table_limit}
        _tighten(run, options)


def _tighten(run: Run, options: dict[str, Any]) -> None:
    """The same again with short cycles as tables; its claims are about the same energy."""
    from policrf.solvers import solve

    tighter = with_cycle_tables(run.crf)
    if tighter is None or run.expired():
        return
    found = solve(
        tighter, "tree_reweighted", seconds=None if run.seconds is None else run.remaining(),
        seed=run.seed, initial=run.best, callback=lambda _: run.expired(), go_on=False, **options,
    )  # fmt: skip
    run.offer(found.labels)
    run.info["tightened"] = found.lower_bound
    if not np.isfinite(found.lower_bound) or not np.isfinite(run.energy):
        return
    # Entries of the new tables are rounded sums.
    rounding = run.terms.rounding(max(run.energy, found.energy))
    value = found.energy if found.optimal else found.lower_bound
    run.bound(value, value - found.lower_bound + rounding, ROUGH)


def _sequential(state: MessageState, iterations: int, tolerance: float) -> None:
    """TRW-S: forward, backward, cliques; labels are decoded along the forward order."""
    look = Look(state, state, tolerance)
    iteration = 0
    while iteration < iterations and not look.finished:
        if not state.sweep(FORWARD):
            break
        state.restart()
        if not state.sweep(BACKWARD):
            break
        iteration += 1
        state.offer_decoded()
        if iteration.bit_count() == 1:  # more seldom: it may take longer than an iteration
            state.offer_allowed()
        if not look.take():
            break
    state.run.offer(state.cheapest())
    look.end()
    state.run.info.update(iterations=iteration, converged=look.finished)


def _parallel(
    state: MessageState, chains: MessageState, iterations: int, damping: float, tolerance: float
) -> None:
    """Tree-reweighted belief propagation; `chains` holds the copy that bounds are taken from."""
    look = Look(state, chains, tolerance)
    iteration = 0
    while iteration < iterations and not look.finished:
        if not (state.sweep(ALL, damping) and state.update_cliques(damping)):
            break
        iteration += 1
        if iteration % LOOK_EVERY == 0 or iteration == iterations:
            state.run.offer(state.cheapest())
            state.offer_decoded()
            chains.messages.along[:] = state.messages.along
            chains.messages.from_cliques[:] = state.messages.from_cliques
            chains.restart()
            if not (chains.sweep(BACKWARD) and look.take()):
                break
    state.run.offer(state.cheapest())
    look.end()
    state.run.info.update(iterations=iteration, converged=look.finished)


class Look:
    """Bounds of `chains` after backward sweeps: what they prove, and whether more is to be had."""

    def __init__(self, state: MessageState, chains: MessageState, tolerance: float) -> None:
        self.run, self.graph = state.run, state.graph
        self.chains, self.tolerance = chains, tolerance
        self.bounds: list[float] = []
        self.finished = False
        self._gifts = chain_gifts(chains.graph, chains.messages)
        self._margin = coarse_margin(chains.graph, self.run.terms)
        self._polished: IntArray | None = None
        self._certified = 0  # looks at which a certified bound was taken last

    def take(self) -> bool:
        """A step of every clique after a backward sweep; False if the time ran out."""
        if self._is_close() or len(self.bounds) >= 2 * self._certified:
            self._certify()
            self._polish()
        for first, stop in self.chains.clique_slices:
            if self.run.expired():
                return False
            ascend(self.graph, self.chains.messages, first, stop)
        bound = float(self.chains.messages.totals[0])
        self.bounds.append(bound)
        self.run.bound(bound, self._margin, ROUGH)
        self.finished = self.run.proven() or self._has_stopped_rising()
        return True

    def end(self) -> None:
        """Polish the labels, and certify the bound of the last messages."""
        self._polish()
        if self.bounds and not self.run.expired() and not self.run.proven():
            self.chains.restart()
            if self.chains.sweep(FORWARD) and self.chains.sweep(BACKWARD):
                self._certify()

    def _certify(self) -> None:
        self._certified = max(len(self.bounds), 1)
        value, margin = certified(self.graph, self.chains.messages, self._gifts).tolist()
        self.run.bound(value, margin, ROUGH)

    def _polish(self) -> None:
        """Follow the best labels to a local minimum, once each."""
        best = self.run.best
        if best is not None and best is not self._polished and not self.run.proven():
            self.run.offer(local_minimum(self.run, best))
            self._polished = self.run.best

    def _is_close(self) -> bool:
        """Whether the last bound may be that of a minimum, and rounding has to be looked into."""
        if not self.bounds or self.run.energy == np.inf:
            return False
        unit = max(abs(self.run.energy), self.graph.scale)
        return self.run.energy - self.bounds[-1] <= CLOSE * unit

    def _has_stopped_rising(self) -> bool:
        """Whether the last looks gained nothing; a gap that they would soon close is waited for."""
        if len(self.bounds) <= PATIENCE:
            return False
        best = max(self.bounds)
        rise = best - max(self.bounds[:-PATIENCE])
        least = self.tolerance * max(abs(best), self.graph.scale)
        within_reach = self.run.energy - best <= REACH * rise
        return rise <= (0.0 if within_reach else least)


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
