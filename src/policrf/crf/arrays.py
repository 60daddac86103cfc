"""The CRF as flat arrays: what every compiled kernel takes.

All higher-order terms share one layout, whatever their kind: clique c holds the nodes
`clique_nodes[clique_ptr[c]:clique_ptr[c + 1]]`, and its kind says how the other columns are read.

| kind      | clique_label | clique_weight | clique_count | data[data_start[c]:][:data_size[c]]  |
|-----------|--------------|---------------|--------------|--------------------------------------|
| AGREE     | l_b          | w_b           |              |                                      |
| SUPPORT   | l            | λ_b           | quota        |                                      |
| TABLE     | −1           | its factor    |              | the table, row-major                 |
| CUSTOM    | −1           |               |              | the clique's own parameters          |
| COUNTED   | −1           |               | K            | g_l(n), `[L, K]`                     |
| TOGETHER  | −1           |               |              | prices of pairs of labels, `[L, L]`  |
| DOMINANT  | −1           | γ             |              | Q, then γ_l `[L]`                    |
| CONNECTED | −1           | price         |              | which labels `[L]`, CSR of its graph |
| ORDERED   | −1           | cap           |              | prices of pairs of labels, `[L, L]`  |

Cliques may share their data. The kinds from CUSTOM on keep a value in the state (`crf.energy`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.crf.checks import frozen
from policrf.crf.potentials import TERM_NAMES, CliquePotential, Potential, Potts
from policrf.types import FloatArray, IntArray

# Columns of Arrays.custom. One array, since compiled calls pass every array by value.
ADDRESS = 0  # C function pointer (CUSTOM)
PARTIAL = 1  # how it is asked about a part: COMPLETE, SUBSET or MARKED
MARKED_ADDRESS = 2  # C function pointer for a part (CUSTOM, MARKED)
COUNTS = 3  # where its L label counts begin in `State.counts`; −1: it is no function of them
NUMBER = 4  # the clique's number in its own group, for messages
TERM = 5  # the term of the energy that it belongs to, in `TERM_NAMES`
SUMMARY = 6  # where its summary begins in `State.summaries`; −1: it has none (CUSTOM)
SUMMARY_SIZE = 7  # how many numbers that are
UPDATE_ADDRESS = 8  # C function pointer of what changes the summary


class Arrays(NamedTuple):
    """N nodes, L labels, E edges, C cliques with M entries in all. Read-only."""

    unary: FloatArray  # [N, L]; +inf where a label is forbidden
    cardinalities: IntArray  # [N]
    edges: IntArray  # [E, 2], Potts edges of all groups
    edge_weights: FloatArray  # [E]
    adj_ptr: IntArray  # [N + 1]; the edges of node i are entries adj_ptr[i]:adj_ptr[i + 1] of
    adj_node: IntArray  # [2 E]  the other end
    adj_weight: FloatArray  # [2 E]
    adj_edge: IntArray  # [2 E]  the edge's row in `edges`
    clique_ptr: IntArray  # [C + 1]
    clique_nodes: IntArray  # [M]
    clique_stride: IntArray  # [M]; row-major stride of the entry in its table (TABLE only)
    clique_kind: IntArray  # [C]
    clique_label: IntArray  # [C]
    clique_weight: FloatArray  # [C]
    clique_count: IntArray  # [C]
    custom: IntArray  # [C, 9] by ADDRESS, PARTIAL, … as above
    data_start: IntArray  # [C]
    data_size: IntArray  # [C]
    data: FloatArray
    node_ptr: IntArray  # [N + 1]; the cliques of node i are entries node_ptr[i]:node_ptr[i + 1] of
    node_clique: IntArray  # [M]  the clique
    node_entry: IntArray  # [M]  the node's entry in `clique_nodes`
    calls: IntArray  # [1]; calls of custom functions so far; the one array that kernels write


def flatten(unary: FloatArray, cardinalities: IntArray, potentials: Sequence[Potential]) -> Arrays:
    """Lay out all groups; same-kind groups are concatenated in the order given."""
    n_nodes = len(unary)
    potts = [p for p in potentials if isinstance(p, Potts)]
    edges = _one_after_the_other([p.edges for p in potts] or [np.zeros((0, 2), np.int64)])
    weights = _one_after_the_other([p.weights for p in potts] or [np.zeros(0)])
    adj_ptr, adj_order = _group_by(edges.T.reshape(-1), n_nodes)
    adj_node = edges[:, ::-1].T.reshape(-1)[adj_order]
    adj_edge = np.remainder(adj_order, max(len(edges), 1), out=adj_order)

    n_labels = unary.shape[1]
    cliques = [p for p in potentials if isinstance(p, CliquePotential)]
    column = _joined([_columns(p, n_labels) for p in cliques])
    clique_ptr = cliques[0].cliques.ptr if len(cliques) == 1 else _pointers(column.sizes)
    node_ptr, node_entry = _group_by(column.nodes, n_nodes)
    clique_of = np.repeat(np.arange(len(column.sizes)), column.sizes)
    arrays = Arrays(
        unary=unary,
        cardinalities=cardinalities,
        edges=edges,
        edge_weights=weights,
        adj_ptr=adj_ptr,
        adj_node=adj_node,
        adj_weight=weights[adj_edge],
        adj_edge=adj_edge,
        clique_ptr=clique_ptr,
        clique_nodes=column.nodes,
        clique_stride=column.strides,
        clique_kind=column.kinds,
        clique_label=column.labels,
        clique_weight=column.weights,
        clique_count=column.counts,
        custom=_custom(column, n_labels),
        data_start=column.data_starts,
        data_size=column.data_sizes,
        data=column.data,
        node_ptr=node_ptr,
        node_clique=clique_of[node_entry],
        node_entry=node_entry,
        calls=np.zeros(1, np.int64),
    )
    for name, array in arrays._asdict().items():
        if name != "calls":
            frozen(array)
    return arrays


def clique_table(arrays: Arrays, c: int) -> FloatArray:
    """The table of a TABLE clique, times its factor, one axis a member."""
    members = arrays.clique_nodes[arrays.clique_ptr[c] : arrays.clique_ptr[c + 1]]
    flat = arrays.data[arrays.data_start[c] :][: arrays.data_size[c]]
    table: FloatArray = arrays.clique_weight[c] * flat
    return table.reshape(tuple(arrays.cardinalities[members].tolist()))


class _Columns(NamedTuple):
    nodes: IntArray
    strides: IntArray
    sizes: IntArray
    kinds: IntArray
    labels: IntArray
    weights: FloatArray
    counts: IntArray
    addresses: IntArray
    partial: IntArray
    marked: IntArray
    counted: IntArray
    numbers: IntArray
    terms: IntArray
    summary_sizes: IntArray
    updates: IntArray
    data_starts: IntArray  # in the data of the clique's own group
    data_sizes: IntArray
    data: FloatArray
    callbacks: NDArray[np.object_]  # behind the addresses


def _joined(parts: list[_Columns]) -> _Columns:
    """The columns of all groups one after the other; typed and empty where there is no group."""
    if len(parts) == 1:
        return parts[0]
    first, placed = 0, [_defaults(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)]
    for part in parts:
        placed.append(part._replace(data_starts=part.data_starts + first))
        first += len(part.data)
    return _Columns._make(np.concatenate(column) for column in zip(*placed, strict=True))


def _one_after_the_other(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """All parts in one array; a single one itself, as arrays of groups are read-only."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _columns(group: CliquePotential, n_labels: int) -> _Columns:
    defaults = _defaults(group.cliques.nodes, group.cliques.sizes, group.kind)
    given = group.columns(n_labels)
    terms = np.full(len(group.cliques), TERM_NAMES.index(group.term))
    if "data_starts" not in given:
        given["data_starts"] = _pointers(given.get("data_sizes", defaults.data_sizes))[:-1]
    return defaults._replace(terms=terms, **given)


def _defaults(nodes: IntArray, sizes: IntArray, kind: int) -> _Columns:
    """Cliques of one kind of which nothing is known but their nodes."""
    zeros = np.zeros(len(sizes), np.int64)
    return _Columns(
        nodes=nodes,
        strides=np.ones(len(nodes), np.int64),
        sizes=sizes,
        kinds=np.full(len(sizes), kind, np.int64),
        labels=np.full(len(sizes), -1, np.int64),
        weights=np.zeros(len(sizes)),
        counts=zeros,
        addresses=zeros,
        partial=zeros,
        marked=zeros,
        counted=zeros,
        numbers=np.arange(len(sizes)),
        terms=zeros,
        summary_sizes=zeros,
        updates=zeros,
        data_starts=zeros,
        data_sizes=zeros,
        data=np.zeros(0),
        callbacks=np.zeros(0, object),
    )


def _custom(column: _Columns, n_labels: int) -> IntArray:
    """The columns of `Arrays.custom`; a function of counts has room for L of them in the state."""
    counted = column.counted > 0
    starts = (np.cumsum(counted) - counted) * n_labels
    at = np.where(counted, starts, -1)
    sizes = column.summary_sizes
    summaries = np.where(sizes > 0, np.cumsum(sizes) - sizes, -1)
    custom = np.empty((len(sizes), 9), np.int64)
    parts = (column.addresses, column.partial, column.marked, at, column.numbers, column.terms)
    for place, part in enumerate((*parts, summaries, sizes, column.updates)):
        custom[:, place] = part
    return _holding(custom, column.callbacks)


class _Holder:
    def __init__(self, array: IntArray, held: NDArray[np.object_]) -> None:
        self.array, self.held = array, held
        self.__array_interface__ = array.__array_interface__


def _holding(array: IntArray, held: NDArray[np.object_]) -> IntArray:
    """The same numbers in an array that keeps `held` alive, as do its views."""
    return np.asarray(_Holder(array, held)) if len(held) else array


def _pointers(sizes: IntArray) -> IntArray:
    ptr = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return ptr


def _group_by(owner: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Pointers and a stable order that puts the entries of owner 0 first, then of owner 1, …"""
    return _pointers(np.bincount(owner, minlength=count)), np.argsort(owner, kind="stable")
