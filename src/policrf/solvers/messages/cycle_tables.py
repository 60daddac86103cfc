"""Short cycles as tables: the same energy in terms that reweighted messages bound more tightly.

Messages agree on nodes only, so that around a frustrated cycle every edge can be at its best by
itself. A cluster takes the edges of a cycle of three or four nodes into one table, whose minimum is
over joint labels (the clusters of Sontag et al., UAI 2008, with messages to nodes). An edge in two
clusters gives each a half: halves are exact in floating point. What is rounded is the sum of up to
four entries, less than what energies are off by in any case (`claims`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from policrf.crf.model import CRF
from policrf.crf.potentials import Pairwise, Potential, Potts, Tables
from policrf.types import FloatArray

Edge = tuple[int, int]
EDGE_CLUSTERS = 2  # clusters that an edge may be in
CLUSTER_ENTRIES = 1 << 12  # of one table
ALL_ENTRIES = 1 << 22  # of all tables
MOST_EDGES = 100_000
MOST_NEIGHBOURS = 64  # of a node that cycles are looked for through


def with_cycle_tables(crf: CRF) -> CRF | None:
    """The CRF with clusters in place of edges; None where there is no short cycle to take."""
    tables, others = _pair_tables(crf)
    if not tables or len(tables) > MOST_EDGES:
        return None
    cycles = _short_cycles(crf, list(tables))
    if not cycles:
        return None
    uses: dict[Edge, int] = {}
    for cycle in cycles:
        for edge in _edges_of(cycle):
            uses[edge] = uses.get(edge, 0) + 1
    left = [edge for edge in tables if edge not in uses]
    clusters = [_cluster_table(crf, cycle, tables, uses) for cycle in cycles]
    groups = [*others, Tables(cycles, clusters)]
    if left:
        groups.append(Tables(left, [tables[edge] for edge in left]))
    return crf.with_potentials(*groups)


def _pair_tables(crf: CRF) -> tuple[dict[Edge, FloatArray], list[Potential]]:
    """One table for every pair of nodes that terms join, axes in their order; all other groups."""
    cards, others = crf.cardinalities, []
    tables: dict[Edge, FloatArray] = {}

    def add(i: int, j: int, table: FloatArray) -> None:
        edge, own = ((i, j), table) if i < j else ((j, i), table.T)
        tables[edge] = tables[edge] + own if edge in tables else own

    for group in crf.potentials:
        if isinstance(group, Potts):
            differ = 1.0 - np.eye(crf.n_labels)
            for (i, j), weight in zip(group.edges.tolist(), group.weights.tolist(), strict=True):
                add(i, j, weight * differ[: cards[i], : cards[j]])
        elif isinstance(group, Pairwise):
            for (i, j), weight in zip(group.edges.tolist(), group.weights.tolist(), strict=True):
                add(i, j, weight * group.table)
        elif type(group) is Tables and len(group) and (group.cliques.sizes == 2).all():
            for t in range(len(group)):
                i, j = group.cliques[t].tolist()
                add(i, j, group.table(t))
        else:
            others.append(group)
    return tables, others


def _short_cycles(crf: CRF, edges: list[Edge]) -> list[tuple[int, ...]]:
    """Cycles of three or four nodes, no edge in more than `EDGE_CLUSTERS` of them."""
    near: dict[int, set[int]] = {}
    for i, j in edges:
        near.setdefault(i, set()).add(j)
        near.setdefault(j, set()).add(i)
    cards = crf.cardinalities.tolist()
    found: dict[frozenset[Edge], tuple[int, ...]] = {}
    used = dict.fromkeys(edges, 0)
    entries = 0
    for i, j in edges:
        for cycle in _cycles_through(i, j, near):
            if used[(i, j)] >= EDGE_CLUSTERS:
                break
            own = _edges_of(cycle)
            size = int(np.prod([cards[node] for node in cycle]))
            full = any(used[edge] >= EDGE_CLUSTERS for edge in own)
            if full or size > CLUSTER_ENTRIES or frozenset(own) in found:
                continue
            entries += size
            if entries > ALL_ENTRIES:
                return list(found.values())
            found[frozenset(own)] = cycle
            for edge in own:
                used[edge] += 1
    return list(found.values())


def _cycles_through(i: int, j: int, near: dict[int, set[int]]) -> Iterator[tuple[int, ...]]:
    """Triangles over the edge, then cycles of four."""
    for k in islice(sorted(near[i] & near[j]), MOST_NEIGHBOURS):
        yield (i, j, k)
    for k in islice(sorted(near[j] - {i}), MOST_NEIGHBOURS):
        for m in islice(sorted((near[i] & near[k]) - {j}), MOST_NEIGHBOURS):
            if k != i:
                yield (i, j, k, m)


def _edges_of(cycle: tuple[int, ...]) -> list[Edge]:
    ends = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    return [(min(pair), max(pair)) for pair in ends]


def _cluster_table(
    crf: CRF, cycle: tuple[int, ...], tables: dict[Edge, FloatArray], uses: dict[Edge, int]
) -> FloatArray:
    """The sum of the cycle's edges, or of their halves, over the labels of its nodes."""
    total = np.zeros(tuple(crf.cardinalities[list(cycle)].tolist()))
    for edge in _edges_of(cycle):
        first, second = cycle.index(edge[0]), cycle.index(edge[1])
        own = tables[edge] if uses[edge] == 1 else 0.5 * tables[edge]
        own = own if first < second else own.T
        shape = [1] * len(cycle)
        shape[first], shape[second] = total.shape[first], total.shape[second]
        total = total + own.reshape(shape)
    return total
