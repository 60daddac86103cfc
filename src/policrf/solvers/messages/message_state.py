"""Messages in progress: the arrays, and sweeps over them in slices that let the clock be seen."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from policrf.compiled import kernel
from policrf.crf.potentials import COUNTED, SUPPORT, TABLE
from policrf.solvers.feasibility.allowed_start import allowed_start
from policrf.solvers.messages.clique_messages import member_costs, send_from_clique
from policrf.solvers.messages.decoding import Decoding, decide_boxes, decode
from policrf.solvers.messages.graph.factor_graph import FactorGraph
from policrf.solvers.messages.graph.pair_terms import DENSE
from policrf.solvers.messages.message_passing import ALL, BACKWARD, UNDAMPED, Messages, sweep
from policrf.solvers.run import Run
from policrf.types import FloatArray, IntArray

ALLOWED_SHARE = 0.2  # of the time left, for an allowed labeling where decoding finds none
SLICE = 2_000_000  # elementary steps of a kernel call: some milliseconds


class MessageState:
    """All messages of a factor graph, 0 at first, and the beliefs of its nodes."""

    def __init__(
        self, run: Run, graph: FactorGraph, share: FloatArray, clique_share: FloatArray
    ) -> None:
        """`share` [A] of a node's belief goes along an arc, `clique_share` [M] to a clique."""
        width = graph.unary.shape[1]
        self.run = run
        self.tried = False  # to find an allowed labeling
        self.graph = graph
        self.messages = Messages(
            share=share,
            clique_share=clique_share,
            along=np.zeros((len(graph.arc_node), width)),
            from_cliques=np.zeros((len(graph.clique_nodes), width)),
            belief=graph.unary.copy(),
            totals=np.zeros(2),
        )
        self.node_slices = slices(node_work(graph))
        self.clique_slices = slices(clique_work(graph))

    @property
    def change(self) -> float:
        """The largest change of a message since `restart`."""
        return float(self.messages.totals[1])

    def restart(self) -> None:
        """Forget the constants and the change summed up so far."""
        self.messages.totals[:] = 0.0

    def sweep(self, direction: int, damping: float = UNDAMPED) -> bool:
        """Every node sends; False if the time ran out before the end."""
        along = self.messages.along
        sent = np.empty_like(along) if direction == ALL else along
        for first, stop in self.node_slices[:: -1 if direction == BACKWARD else 1]:
            if self.run.expired():
                return False
            sweep(self.graph, self.messages, sent, first, stop, direction, damping)
        self.messages = self.messages._replace(along=sent)
        return True

    def update_cliques(self, damping: float) -> bool:
        """Every clique sends to its members, from the beliefs of the last sweep."""
        for first, stop in self.clique_slices:
            if self.run.expired():
                return False
            update_cliques(self.graph, self.messages, first, stop, damping)
        return True

    def offer_decoded(self) -> None:
        """Offer labels decoded node by node, in both ways if something counts (see `decode`)."""
        g = self.graph
        decoding = Decoding(
            box_valid=np.zeros(len(g.clique_kind), np.bool_),
            wanted=np.zeros(len(g.clique_nodes), np.bool_),
            labels=np.zeros(len(g.unary), np.int64),
            labeled=np.zeros(len(g.clique_kind), np.int64),
            matches=np.zeros(len(g.clique_kind), np.int64),
            chosen=np.zeros(len(g.clique_kind), np.int64),
        )
        for first, stop in self.clique_slices:
            if self.run.expired():
                return
            decide_boxes(g, self.messages, decoding, first, stop)
        counts = ((g.clique_kind == SUPPORT) | (g.clique_kind == COUNTED)).any()
        for follow in (False, True) if counts else (False,):
            decoding.labeled[:] = decoding.matches[:] = 0
            for first, stop in self.node_slices:
                if self.run.expired():
                    return
                decode(g, self.messages, decoding, follow, first, stop)
            self.run.offer(real_labels(g, decoding.labels))

    def offer_allowed(self) -> None:
        """Offer a labeling that the beliefs like and nothing forbids, while there is none yet.

        Without a limit of time it is tried once: what helps is more time, not other beliefs.
        """
        again = self.run.seconds is not None or not self.tried
        if self.run.energy == np.inf and again and not self.run.expired():
            self.tried = True
            real = self.graph.origin >= 0
            n_labels = self.run.crf.n_labels
            costs = np.empty((self.run.crf.n_nodes, n_labels))
            costs[self.graph.origin[real]] = self.messages.belief[real, :n_labels]
            self.run.offer(allowed_start(self.run, self.cheapest(), costs, ALLOWED_SHARE))

    def cheapest(self) -> IntArray:
        """The argmin of every node's belief, as the CRF's labels."""
        belief = np.where(self.graph.allowed, self.messages.belief, np.inf)
        return real_labels(self.graph, belief.argmin(axis=1))


def real_labels(g: FactorGraph, labels: IntArray) -> IntArray:
    """The labels of the CRF's own nodes, in its order."""
    real = g.origin >= 0
    out = np.empty(int(real.sum()), np.int64)
    out[g.origin[real]] = labels[real]
    return out


def slices(work: FloatArray, limit: float = SLICE) -> list[tuple[int, int]]:
    """Cut items 0 … n − 1 into runs of about `limit` work each (one item at least)."""
    part = (np.cumsum(work) - work) // limit
    bounds = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(work)]
    return [(first, stop) for first, stop in pairwise(bounds) if first < stop]


def node_work(g: FactorGraph) -> FloatArray:
    """Elementary steps that the messages of each node take, about; [V]."""
    width = g.unary.shape[1]
    arc = np.where(g.arc_kind == DENSE, 2.0 * width * width, 8.0 * width)
    arcs = np.diff(np.append(0.0, np.cumsum(arc))[g.arc_ptr])
    return np.asarray(width + arcs + width * np.diff(g.member_ptr))


def clique_work(g: FactorGraph) -> FloatArray:
    """Elementary steps that the messages of each clique take, about; [C]."""
    size = np.diff(g.clique_ptr).astype(np.float64)
    counting = size * (5 * g.unary.shape[1] + 20 * np.log2(size + 1))
    return np.where(g.clique_kind == TABLE, 20 * size * table_sizes(g), counting)


def table_sizes(g: FactorGraph) -> FloatArray:
    """Entries of the table of each clique; 0 where it has none; [C]."""
    if not (g.clique_kind == TABLE).any():
        return np.zeros(len(g.clique_kind))
    members = g.sizes[g.clique_nodes].astype(np.float64)
    entries = np.multiply.reduceat(members, g.clique_ptr[:-1])  # no clique is empty
    return np.where(g.clique_kind == TABLE, entries, 0.0)


@kernel
def update_cliques(g: FactorGraph, m: Messages, first: int, stop: int, damping: float) -> None:
    """m_ci of cliques first … stop − 1, all from the same beliefs; totals[1] as in `sweep`."""
    width, from_cliques, totals = g.unary.shape[1], m.from_cliques, m.totals
    for c in range(first, stop):
        start = g.clique_ptr[c]
        size = g.clique_ptr[c + 1] - start
        h, out = np.empty((size, width)), np.empty((size, width))
        member_costs(g, c, m.clique_share, m.belief, from_cliques, h)
        send_from_clique(g, c, h, out)
        for i in range(size):
            for x in range(width):
                old = from_cliques[start + i, x]
                value = out[i, x] + damping * (old - out[i, x])
                totals[1] = max(totals[1], abs(value - old))
                from_cliques[start + i, x] = value
