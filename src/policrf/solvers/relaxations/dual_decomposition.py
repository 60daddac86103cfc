"""Dual decomposition: projected subgradient over trees and cliques (Komodakis et al. 2007).

The energy is split into forests that cover the pairwise terms and one part for every clique (HOP1
and HOP2 exactly, by sorting), each with its own copy of the labels and a share of the unaries. The
sum of the parts' minima is a lower bound; where copies of a node disagree, a subgradient step moves
unary cost between them and keeps its sum (the projection). The best bound is kept.
"""

from __future__ import annotations

import numpy as np

from policrf.crf.potentials import SUPPORT, TABLE
from policrf.solvers.claims import ROUGH, UNIT
from policrf.solvers.messages.certified_bound import forbids_labels
from policrf.solvers.messages.graph.explicit_tables import AS_TABLES, TABLE_LIMIT, explicit_tables
from policrf.solvers.messages.graph.factor_graph import FactorGraph, build_factor_graph
from policrf.solvers.messages.message_state import (
    clique_work,
    node_work,
    real_labels,
    slices,
)
from policrf.solvers.moves.icm import local_minimum
from policrf.solvers.option_checks import require_whole_numbers
from policrf.solvers.relaxations.subgradient import count_votes, solve_cliques, step
from policrf.solvers.relaxations.tree_slaves import cover_by_forests, gather, scatter
from policrf.solvers.run import Run
from policrf.solvers.traits import declares
from policrf.types import FloatArray, IntArray

PATIENCE = 10  # iterations without a better bound after which steps get shorter
SHORTEN = 0.7
SHORTEST = 1e-3  # of Polyak's step: where the search gives up
MEMORY = 0.9  # of the running mean of votes that labels are rounded from


@declares(tables=AS_TABLES, proves="a bound", goes_on=True)
def dual_decomposition(
    run: Run, *, iterations: int = 300, round_every: int = 5, polish: bool = True,
    table_limit: int = TABLE_LIMIT,
) -> None:  # fmt: skip
    """Raise a lower bound by subgradient steps over trees and cliques until their copies agree.

    With `seconds`, search goes on from its labels until they are over (`go_on`).

    Parameters
    ----------
    iterations
        Maximum number of subgradient steps.
    round_every
        Iterations between two labelings rounded from the copies' votes.
    polish
        Follow every rounded labeling by ICM to a local minimum.
    table_limit
        Largest number of entries of one clique's table; cliques without a closed form are
        tabulated once.
    """
    require_whole_numbers(iterations=iterations, round_every=round_every)
    explicit = None if run.expired() else explicit_tables(run, table_limit)
    if explicit is None:
        return
    parts = Parts(run, build_factor_graph(run.crf, explicit))
    length, best, stale = 1.0, -np.inf, 0
    iteration, agreed = 0, False
    while iteration < iterations and not agreed and length > SHORTEST:
        value = parts.minimise()
        if value is None:
            break
        iteration += 1
        if value > best:
            run.bound(*parts.claim(value), ROUGH)
        squared = parts.vote()
        agreed = squared == 0
        if agreed or iteration % round_every == 1 % round_every:
            parts.offer_rounded(polish)
        agreed = agreed or run.proven()
        stale = 0 if value > best else stale + 1
        best = max(best, value)
        if stale >= PATIENCE:
            length, stale = SHORTEN * length, 0
        if not agreed:
            target = run.energy if np.isfinite(run.energy) else value + parts.graph.scale
            parts.step(length * (target - value) / squared)
    run.info.update(iterations=iteration, converged=agreed)


class Parts:
    """The forests and cliques, their shares of the unaries, and the labels each of them wants."""

    def __init__(self, run: Run, graph: FactorGraph) -> None:
        self.run = run
        self.graph = graph
        self.forests = cover_by_forests(graph)
        n_nodes, width = graph.unary.shape
        joined = self.forests.joined
        copies = joined.sum(axis=0) + np.diff(graph.member_ptr)
        joined[0, copies == 0] = True
        share = graph.unary / np.maximum(copies, 1)[:, None]
        self.tree_dual: FloatArray = np.where(joined[:, :, None], share, 0.0)
        self.clique_dual: FloatArray = share[graph.clique_nodes]
        self.tree_labels: IntArray = np.zeros(joined.shape, np.int64)
        self.clique_labels: IntArray = np.zeros(len(graph.clique_nodes), np.int64)
        self.votes: FloatArray = np.zeros((n_nodes, width))
        self.mean_votes: FloatArray = np.zeros((n_nodes, width))
        self.costs: FloatArray = np.empty((n_nodes, width))
        # Slices of positions in a forest's order, not of nodes: the mean work stands for each.
        self.node_slices = slices(np.full(n_nodes, node_work(graph).mean()))
        self.clique_slices = slices(clique_work(graph))

    def minimise(self) -> float | None:
        """Σ of the parts' minima: a bound; None if the time ran out."""
        total = 0.0
        for t in range(len(self.tree_dual)):
            self.costs[:] = self.tree_dual[t]
            for first, stop in self.node_slices[::-1]:
                if self.run.expired():
                    return None
                total += gather(self.graph, self.forests, t, self.costs, first, stop)
            for first, stop in self.node_slices:
                scatter(self.graph, self.forests, t, self.costs, self.tree_labels, first, stop)
        for first, stop in self.clique_slices:
            if self.run.expired():
                return None
            total += solve_cliques(self.graph, self.clique_dual, self.clique_labels, first, stop)
        return total

    def claim(self, value: float) -> tuple[float, float]:
        """The bound that follows from the parts' minima, and its margin.

        Steps are rounded, so that the copies' unaries no longer add up to the node's: what is
        missing is a part too.
        """
        g, real = self.graph, np.arange(self.graph.unary.shape[1]) < self.graph.sizes[:, None]
        copies = self.tree_dual.sum(axis=0)
        size = np.abs(self.tree_dual).sum(axis=0)
        np.add.at(copies, g.clique_nodes, self.clique_dual)
        np.add.at(size, g.clique_nodes, np.abs(self.clique_dual))
        missing = np.where(g.allowed & real, g.unary - copies, np.inf).min(axis=1).sum()
        moved = float(np.where(g.allowed & real, size, 0.0).max(axis=1).sum())
        # A minimiser of a part pays nothing forbidden, but the sums of cliques that count do.
        counts = (g.clique_kind != TABLE).any() and forbids_labels(g)
        total = moved + (1.0 if counts else 0.001) * g.forbidden + self.run.terms.absolute
        return value + float(missing), 16 * (self.run.terms.number + 64) * UNIT * total

    def vote(self) -> float:
        """Count the copies' labels; the squared length of the subgradient, 0 if all agree."""
        squared = count_votes(
            self.graph, self.forests, self.tree_labels, self.clique_labels, self.votes
        )
        self.mean_votes += (1 - MEMORY) * (self.votes - self.mean_votes)
        return float(squared)

    def step(self, size: float) -> None:
        """A step of length `size` along the subgradient."""
        step(
            self.graph, self.forests, self.tree_labels, self.clique_labels, self.votes, size,
            self.tree_dual, self.clique_dual,
        )  # fmt: skip

    def offer_rounded(self, polish: bool) -> None:
        """Offer the labels with most votes, recently and now, and what ICM makes of them.

        A third labeling gives boxes whose quota is met in their own copy the members they have
        there: the copies of the single members would outvote them.
        """
        g = self.graph
        latest = np.where(g.allowed, self.votes, -1.0).argmax(axis=1)
        usual = np.where(g.allowed, self.mean_votes, -1.0).argmax(axis=1)
        candidates = [latest, usual]
        if (g.clique_kind == SUPPORT).any():
            label = np.repeat(g.clique_label, np.diff(g.clique_ptr))
            support = np.repeat(g.clique_kind == SUPPORT, np.diff(g.clique_ptr))
            match = support & (self.clique_labels == label)
            counts = np.add.reduceat(match.astype(np.int64), g.clique_ptr[:-1])
            met = np.repeat(counts >= g.clique_count, np.diff(g.clique_ptr))
            wanted = usual.copy()
            wanted[g.clique_nodes[match & met]] = label[match & met]
            candidates.append(wanted)
        for candidate in candidates:
            labels = real_labels(g, candidate)
            self.run.offer(labels)
            if polish:
                self.run.offer(local_minimum(self.run, labels))
