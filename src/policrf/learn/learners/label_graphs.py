"""The shared kind's graph network in torch, over whole graphs that have the same number of labels.

Rows are nodes, `[n, L, p]`; what a node hears of others comes by sparse matrices that are made once
an instance: along edges, through cliques, and from the whole graph (formulas: `policy.network`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from policrf.crf.instance import Instance
from policrf.learn.learners.forward import Parameters
from policrf.mdp.graph import build_graph
from policrf.policy.shared.static_net import averaged_cliques
from policrf.types import Float32Array, IntArray

# What is used of it here, products and their gradients, is held against the plain network.
warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")


class Sparse(NamedTuple):
    """A sparse matrix by rows."""

    ptr: IntArray  # [rows + 1]
    column: IntArray
    value: Float32Array
    width: int  # columns


class Hop(NamedTuple):
    """A sparse matrix and its transpose, for the way back: of one instance, or in torch."""

    forward: Any
    backward: Any


class Hops(NamedTuple):
    """What nodes hear: Σ_j w(i, j) h_j; means of cliques, then of a node's cliques; of the graph.

    The last two are Σ_i h_i / N and its way back to every node.
    """

    edges: Hop
    into_cliques: Hop
    from_cliques: Hop
    into_graph: Hop
    from_graph: Hop


def hops_of(instance: Instance) -> Hops:
    """The matrices of one instance."""
    a, graph, n_nodes = instance.crf.arrays, build_graph(instance), instance.crf.n_nodes
    edges = sparse.csr_array((graph.weight, graph.node, graph.ptr), (n_nodes, n_nodes))
    chosen, share = averaged_cliques(a)
    sizes = np.diff(a.clique_ptr)
    kept = np.repeat(chosen, sizes)
    owner = np.repeat(np.arange(int(chosen.sum())), sizes[chosen])
    one = np.ones(len(owner), np.float32)
    inside = sparse.csr_array((one, (owner, a.clique_nodes[kept])), (int(chosen.sum()), n_nodes))
    into_cliques = sparse.diags_array((1 / sizes[chosen]).astype(np.float32)) @ inside
    everybody = sparse.csr_array(np.ones((1, n_nodes), np.float32))
    return Hops(
        edges=_hop(edges),
        into_cliques=_hop(into_cliques),
        from_cliques=_hop(sparse.diags_array(share) @ inside.T),
        into_graph=_hop(everybody / np.float32(n_nodes)),
        from_graph=_hop(everybody.T),
    )


def _hop(matrix: Any) -> Hop:
    return Hop(_rows(matrix), _rows(matrix.T))


def _rows(matrix: Any) -> Sparse:
    rows = sparse.csr_array(matrix)
    rows.sum_duplicates()
    return Sparse(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int64),
        rows.data.astype(np.float32), rows.shape[1],
    )  # fmt: skip


def join_hops(parts: Sequence[Hops]) -> Hops:
    """The matrices of several instances side by side, as torch takes them."""
    return Hops(
        *(
            Hop(_joined([hop.forward for hop in hops]), _joined([hop.backward for hop in hops]))
            for hops in zip(*parts, strict=True)
        )
    )


def _joined(parts: Sequence[Sparse]) -> Tensor:
    """Block by block along the diagonal."""
    columns = np.cumsum([0, *(part.width for part in parts)])
    entries = np.cumsum([0, *(len(part.value) for part in parts)])
    ptr = [part.ptr[:-1] + start for part, start in zip(parts, entries[:-1], strict=True)]
    column = [part.column + start for part, start in zip(parts, columns[:-1], strict=True)]
    return torch.sparse_csr_tensor(
        torch.from_numpy(np.concatenate([*ptr, entries[-1:]])),
        torch.from_numpy(np.concatenate(column)),
        torch.from_numpy(np.concatenate([part.value for part in parts])),
        (sum(len(part.ptr) - 1 for part in parts), int(columns[-1])),
        check_invariants=False,
    )


class _Send(torch.autograd.Function):
    """matrix @ h, whose gradient is the transposed matrix @ the gradient."""

    @staticmethod
    def forward(context: Any, values: Tensor, hop: Hop) -> Tensor:
        context.hop = hop
        out: Tensor = hop.forward @ values
        return out

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Any:
        return context.hop.backward @ gradients[0], None


def send(hop: Hop, values: Tensor) -> Tensor:
    """The matrix times values `[m, L, p]`."""
    flat = values.reshape(len(values), -1)
    out: Tensor = _Send.apply(flat, hop)  # type: ignore[no-untyped-call]
    return out.reshape(-1, *values.shape[1:])


def embed_labels(theta: Parameters, inputs: Tensor, hops: Hops) -> Tensor:
    """h^(K) `[n, L, p]` from the static inputs `[n, L, D]`."""
    h = inputs
    for k in range(len(theta["mix_bias"])):
        matrix = theta["mix_inputs"] if k == 0 else theta["mix"][k - 1]
        parts = matrix.unbind(1)
        total = h @ parts[0].T
        total = total + send(hops.edges, h) @ parts[1].T
        if hops.into_cliques.forward.shape[0]:
            heard = send(hops.from_cliques, send(hops.into_cliques, h))
            total = total + heard @ parts[2].T
        total = total + send(hops.from_graph, send(hops.into_graph, h) @ parts[3].T)
        pooled = h.mean(dim=1) @ parts[4].T + h.amax(dim=1) @ parts[5].T
        h = torch.relu(total + pooled[:, None] + theta["mix_bias"][k])
    return h


def priors(theta: Parameters, inputs: Tensor, embedded: Tensor) -> Tensor:
    """r `[n, L]`."""
    return embedded @ theta["prior_out"] + inputs @ theta["prior_inputs"]
