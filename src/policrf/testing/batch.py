"""States as the network takes them: graphs of any sizes side by side in one edge list, unpadded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.changes import load_labels
from policrf.crf.instance import Instance
from policrf.crf.state import State, new_state
from policrf.crf.valued.custom_call import raise_if_failed
from policrf.mdp.completion import Completion, complete
from policrf.mdp.graph import build_graph
from policrf.mdp.state import allowed_labels, default_labels
from policrf.policy.conditional import completion_of, label_inputs, margins, relative_costs
from policrf.policy.kinds import INPUTS
from policrf.policy.network import COSTS, Spec
from policrf.policy.shared.state_views import view_states
from policrf.policy.shared.static_inputs import static_inputs
from policrf.types import Float32Array, FloatArray, IntArray


@dataclass(frozen=True)
class Batch:
    """n nodes of G graphs; graph q holds nodes graph_ptr[q] … graph_ptr[q + 1] − 1."""

    graph_ptr: IntArray
    """`[G + 1]`."""
    features: Float32Array
    """b, `[n, F]`."""
    labels: IntArray
    """−1 where unlabeled, `[n]`."""
    source: IntArray
    target: IntArray
    """Directed edges `[m]`: the message of `source` goes to `target`."""
    edge_weights: Float32Array
    """w(target, source), `[m]`."""
    allowed: NDArray[np.bool_]
    """The actions, `[n, L]`."""
    margins: FloatArray
    """m_i(l) of the residual kind, `[n, L]` (`[n, 0]` for the paper kind); 0 at labeled nodes."""
    inputs: Float32Array
    """x_i(l) of the residual kind, `[n, L, D]` (`[n, 0, D]`); 0 at labeled nodes. Of the shared
    kind without its margin."""
    costs: FloatArray
    """c_i(l) of the shared kind, `[n, L]` (`[n, 0]` for others); 0 at labeled nodes."""
    static: Float32Array
    """h^0 of the shared kind, `[n, L, D']` (`[n, 0, 0]`)."""
    clique: IntArray
    member: IntArray
    """Cliques of three nodes and more, of the shared kind: each node beside its clique's number."""


def make_batch(
    spec: Spec, instance: Instance, labels: IntArray, *, default: IntArray | None = None
) -> Batch:
    """The state `labels` (−1 = unlabeled) of one instance, as a batch of one graph.

    `default` completes the labeling for the residual kind: the unary argmin if not given.
    """
    crf = instance.crf
    given = crf.checked_labels(labels, partial=True)
    graph = build_graph(instance)
    shown = crf.n_labels if spec.sees_costs else 0
    margin = np.zeros((crf.n_nodes, shown))
    inputs = np.zeros((crf.n_nodes, shown, len(INPUTS)), np.float32)
    cost = np.zeros((crf.n_nodes, 0))
    static = np.zeros((crf.n_nodes, 0, 0), np.float32)
    clique = member = np.zeros(0, np.int64)
    if shown:
        chosen = default_labels(crf) if default is None else crf.checked_labels(default)
        state, completion = new_state(crf.arrays), completion_of(spec, crf, chosen)
        load_labels(crf.arrays, state, given)
        complete(crf.arrays, completion, given)
        costs = np.zeros(crf.n_labels)
        if spec.any_labels:
            static = static_inputs(spec, instance, completion)
            clique, member = large_cliques(crf.arrays)
            cost, inputs = view_states(spec, instance, state, completion)
        else:
            look(crf.arrays, COSTS.index(spec.costs), state, completion, costs, margin, inputs)
        raise_if_failed()
    return Batch(
        graph_ptr=np.array([0, crf.n_nodes], np.int64),
        features=np.array(instance.features),
        labels=given,
        source=graph.node,
        target=np.repeat(np.arange(crf.n_nodes), np.diff(graph.ptr)),
        edge_weights=graph.weight,
        allowed=allowed_labels(crf) & (given < 0)[:, None],
        margins=margin,
        inputs=inputs,
        costs=cost,
        static=static,
        clique=clique,
        member=member,
    )


def large_cliques(a: Arrays) -> tuple[IntArray, IntArray]:
    """The members of cliques of three nodes and more, one after the other, with their clique."""
    sizes = np.diff(a.clique_ptr)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner[sizes[owner] > 2], a.clique_nodes[sizes[owner] > 2]


@leaf
def look(
    a: Arrays, mode: int, s: State, z: Completion, costs: FloatArray, margin: FloatArray,
    inputs: Float32Array,
) -> None:  # fmt: skip
    """Margins [N, L] and inputs [N, L, D] of the unlabeled nodes; `costs` [L] is scratch space."""
    for i in range(len(s.labels)):
        if s.labels[i] < 0:
            relative_costs(a, mode, s, z, i, costs)
            margins(costs, margin[i])
            label_inputs(a, s, z, i, margin[i], inputs[i])


def join(batches: Sequence[Batch]) -> Batch:
    """Several batches as one; the scores come out as from each alone."""
    sizes = np.array([len(batch.labels) for batch in batches], np.int64)
    starts = np.cumsum(sizes) - sizes

    def stack(name: str, shift: bool = False) -> Any:
        parts = [getattr(batch, name) for batch in batches]
        if shift:
            parts = [part + start for part, start in zip(parts, starts, strict=True)]
        return np.concatenate(parts)

    ends = [batch.graph_ptr[1:] + start for batch, start in zip(batches, starts, strict=True)]
    return Batch(
        graph_ptr=np.concatenate([np.zeros(1, np.int64), *ends]),
        features=stack("features"),
        labels=stack("labels"),
        source=stack("source", shift=True),
        target=stack("target", shift=True),
        edge_weights=stack("edge_weights"),
        allowed=stack("allowed"),
        margins=stack("margins"),
        inputs=stack("inputs"),
        costs=stack("costs"),
        static=stack("static"),
        clique=np.concatenate([batch.clique + 10**6 * k for k, batch in enumerate(batches)]),
        member=stack("member", shift=True),
    )
