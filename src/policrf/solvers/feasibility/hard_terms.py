"""The cliques that may forbid, and what every label of a node would like to cost.

A clique is hard if some joint labeling of it costs +inf. Tables of up to `TABLE_LIMIT` entries are
propagated; larger ones, and cliques of other kinds, are only looked at with all members labeled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from policrf.compiled import inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import CUSTOM, TABLE
from policrf.types import BoolArray, FloatArray, IntArray

TABLE_LIMIT = 2**16
SLICE = 2**20  # entries that a kernel call looks at: some milliseconds


class HardTerms(NamedTuple):
    """H hard cliques of N nodes, those that are propagated first. Read-only."""

    cliques: IntArray  # [H]; their numbers in `Arrays`
    propagated: int  # how many of them, from the first on, are propagated
    node_ptr: IntArray  # [N + 1]; the hard cliques of node i are node_hard[node_ptr[i]:…]
    node_hard: IntArray
    nodes: IntArray  # the nodes that are in one of those that are propagated


def hard_terms(a: Arrays) -> HardTerms | None:
    """The hard cliques; None where nothing but unaries forbids."""
    hard = a.clique_kind == CUSTOM
    infinite = np.flatnonzero(np.isinf(a.data))
    if len(infinite):
        first = np.searchsorted(infinite, a.data_start)
        hard |= first < np.searchsorted(infinite, a.data_start + a.data_size)
    if not hard.any():
        return None
    found = np.flatnonzero(hard)
    small = (a.clique_kind[found] == TABLE) & (a.data_size[found] <= TABLE_LIMIT)
    cliques = np.concatenate([found[small], found[~small]])
    members = [a.clique_nodes[a.clique_ptr[c] : a.clique_ptr[c + 1]] for c in cliques]
    owner = np.concatenate(members)
    index = np.repeat(np.arange(len(cliques)), [len(nodes) for nodes in members])
    ptr = np.zeros(len(a.unary) + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=len(a.unary)), out=ptr[1:])
    return HardTerms(
        cliques=cliques,
        propagated=int(small.sum()),
        node_ptr=ptr,
        node_hard=index[np.argsort(owner, kind="stable")],
        nodes=np.unique(owner[index < small.sum()]),
    )


def forbids_jointly(a: Arrays) -> bool:
    """Whether some clique may forbid; quick where none does."""
    return bool(np.isinf(a.data).any() or (a.clique_kind == CUSTOM).any())


def allowed_labels(a: Arrays) -> BoolArray:
    """Labels that the unaries allow, `[N, L]`."""
    return np.isfinite(a.unary)


def optimistic_costs(a: Arrays, expired: Callable[[], bool]) -> FloatArray:
    """Unary of every label plus the least that each table of its node asks for it, `[N, L]`.

    Tables that there is no time for are left out.
    """
    costs, least = a.unary.copy(), np.empty(a.unary.shape[1])
    small = (a.clique_kind == TABLE) & (a.data_size <= TABLE_LIMIT)
    cliques = np.flatnonzero(small)
    part = np.cumsum(a.data_size[cliques]) // SLICE
    for some in np.split(cliques, np.flatnonzero(np.diff(part)) + 1):
        if expired():
            break
        add_least(a, some, costs, least)
    return costs


@leaf
def add_least(a: Arrays, cliques: IntArray, costs: FloatArray, least: FloatArray) -> None:
    """Add each clique's lowest entry for every label of every member, less its lowest of all."""
    for c in cliques:
        add_least_of(a, c, costs, least)


@inner
def add_least_of(a: Arrays, c: int, costs: FloatArray, least: FloatArray) -> None:
    """The same for one clique."""
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        i, stride = a.clique_nodes[m], a.clique_stride[m]
        size = a.cardinalities[i]
        for label in range(size):
            least[label] = np.inf
        for at in range(a.data_size[c]):
            label = (at // stride) % size
            value = a.clique_weight[c] * a.data[a.data_start[c] + at]
            if value < least[label]:
                least[label] = value
        low = np.inf
        for label in range(size):
            low = min(low, least[label])
        if low < np.inf:
            for label in range(size):
                costs[i, label] += least[label] - low
