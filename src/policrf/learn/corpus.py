"""The training instances as one graph, and the part of it that the score of one node depends on.

With K rounds and μ^(0) = 0 the scores π_i depend on the labels and features of the nodes within K −
1 edges of i, and on no others (section "Policy Function"). A gradient step over B actions therefore
needs B neighbourhoods of some 20 nodes, not B graphs of N: its cost does not depend on N.

`Neighbourhoods` orders nodes by their distance from the centre, all samples together: round k of
the network (from 0) computes the first `node_counts[k]` rows, and listens along the first
`edge_counts[k]` edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from policrf.compiled import leaf
from policrf.crf.instance import Instance
from policrf.errors import InvalidInstance
from policrf.mdp.graph import build_graph
from policrf.types import Float32Array, IntArray


class Neighbourhoods(NamedTuple):
    """M nodes of B samples; the centres are the rows 0 … B − 1."""

    nodes: IntArray  # [M]; numbers in the corpus
    labels: IntArray  # [M]; −1 where unlabeled
    targets: IntArray  # [E]; the row that receives along an edge
    sources: IntArray  # [E]; the row it receives from
    weights: Float32Array  # [E]; w(i, j)
    node_counts: IntArray  # [K]; rows that round k computes
    edge_counts: IntArray  # [K]; edges that round k uses, 0 in the first


class Corpus:
    """Instances of one kind, joined: node i of instance g is number starts[g] + i."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        if not instances:
            raise InvalidInstance("there are no instances to learn from")
        self.instances = list(instances)
        first = self.instances[0]
        for k, other in enumerate(self.instances):
            _check_same_kind(first, other, k)
        sizes = np.array([instance.crf.n_nodes for instance in self.instances], np.int64)
        self.starts: IntArray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_labels = first.crf.n_labels
        self.largest = int(sizes.max())
        graphs = [build_graph(instance) for instance in self.instances]
        entries = np.concatenate([[0], np.cumsum([len(graph.node) for graph in graphs])])
        self.ptr: IntArray = np.concatenate(
            [g.ptr[:-1] + start for g, start in zip(graphs, entries, strict=False)] + [entries[-1:]]
        ).astype(np.int64)
        self.node: IntArray = np.concatenate(
            [g.node + start for g, start in zip(graphs, self.starts, strict=False)]
        ).astype(np.int64)
        self.weight: Float32Array = np.concatenate([g.weight for g in graphs])
        self.features: Float32Array = np.concatenate([i.features for i in self.instances])
        self._stamp = np.zeros(len(self.features), np.int64)
        self._row = np.zeros(len(self.features), np.int64)
        self._clock = 1

    def __len__(self) -> int:
        return len(self.instances)

    def neighbourhoods(
        self, chosen: IntArray, nodes: IntArray, labels: NDArray[np.int16], rounds: int
    ) -> Neighbourhoods:
        """The (K − 1)-edge neighbourhoods of node `nodes[b]` of instance `chosen[b]`.

        `labels` [B, ≥ N] holds each sample's labels so far, in the numbering of its instance.
        """
        degree = max(1.0, len(self.node) / max(1, len(self._stamp)))
        room = int(len(nodes) * (2 + degree) ** max(1, rounds - 1)) + 64
        while True:
            out = _room_for(room, rounds)
            fresh = self._clock  # no mark of an earlier call, whatever its size, is used again
            self._clock += len(nodes)
            if gather(
                self.ptr, self.node, self.starts, chosen, nodes, labels,
                self._stamp, self._row, fresh, *out,
            ):  # fmt: skip
                break
            room *= 2
        return _joined(out, rounds, self.weight)


def _check_same_kind(first: Instance, other: Instance, k: int) -> None:
    for what, one, two in (
        ("labels", first.crf.n_labels, other.crf.n_labels),
        ("features", first.features.shape[1], other.features.shape[1]),
        ("label names", first.label_names, other.label_names),
        ("feature names", first.feature_names, other.feature_names),
    ):
        if one != two:
            raise InvalidInstance(
                f"instance {k} has other {what} than instance 0: {_short(two)}, not {_short(one)}; "
                "one policy learns from instances of one kind"
            )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) < 80 else text[:77] + "..."


def _room_for(room: int, rounds: int) -> tuple[IntArray, ...]:
    """Space for `gather`: a row of nodes and one of edges for each distance."""
    return (
        np.empty((rounds, room), np.int64),
        np.empty((rounds, room), np.int64),
        np.zeros(rounds, np.int64),
        np.empty((rounds, 4 * room), np.int64),
        np.empty((rounds, 4 * room), np.int64),
        np.empty((rounds, 4 * room), np.int64),
        np.zeros(rounds, np.int64),
    )


def _joined(out: tuple[IntArray, ...], rounds: int, weight: Float32Array) -> Neighbourhoods:
    """Distances one after the other; edges grouped by the distance of the node that listens."""
    nodes, labels, node_count, target, source, entry, edge_count = out
    base = np.concatenate([[0], np.cumsum(node_count)])
    parts = [slice(0, int(count)) for count in node_count]
    listening = [slice(0, int(count)) for count in edge_count]
    # A source is stored as (row within its distance) · K + distance.
    sources = np.concatenate([source[d, listening[d]] for d in range(rounds)])
    totals = np.cumsum(edge_count)
    return Neighbourhoods(
        np.concatenate([nodes[d, parts[d]] for d in range(rounds)]),
        np.concatenate([labels[d, parts[d]] for d in range(rounds)]),
        np.concatenate([target[d, listening[d]] + base[d] for d in range(rounds)]),
        base[sources % rounds] + sources // rounds,
        weight[np.concatenate([entry[d, listening[d]] for d in range(rounds)])],
        base[1:][::-1].astype(np.int64),
        np.array([0, *(int(totals[rounds - 1 - k]) for k in range(1, rounds))], np.int64),
    )


@leaf
def gather(
    ptr: IntArray, neighbour: IntArray, starts: IntArray,
    chosen: IntArray, centres: IntArray, labels: NDArray[np.int16],
    stamp: IntArray, row: IntArray, clock: int,
    nodes: IntArray, node_labels: IntArray, node_count: IntArray,
    target: IntArray, source: IntArray, entry: IntArray, edge_count: IntArray,
) -> bool:  # fmt: skip
    """Breadth-first around every centre; False where the space does not suffice.

    `stamp` and `row` are as long as the corpus; marks clock, clock + 1, … are fresh.
    """
    rounds = len(node_count)
    node_count[:] = 0
    edge_count[:] = 0
    for b in range(len(centres)):
        mark = clock + b
        start = starts[chosen[b]]
        centre = start + centres[b]
        stamp[centre] = mark
        row[centre] = node_count[0] * rounds
        nodes[0, node_count[0]] = centre
        node_labels[0, node_count[0]] = labels[b, centres[b]]
        first = node_count[0]
        node_count[0] += 1
        for distance in range(rounds - 1):
            following = node_count[distance + 1]
            for t in range(first, node_count[distance]):
                i = nodes[distance, t]
                if edge_count[distance] + ptr[i + 1] - ptr[i] > target.shape[1]:
                    return False
                for e in range(ptr[i], ptr[i + 1]):
                    j = neighbour[e]
                    if stamp[j] != mark:
                        at = node_count[distance + 1]
                        if at == nodes.shape[1]:
                            return False
                        stamp[j] = mark
                        row[j] = at * rounds + distance + 1
                        nodes[distance + 1, at] = j
                        node_labels[distance + 1, at] = labels[b, j - start]
                        node_count[distance + 1] += 1
                    at = edge_count[distance]
                    target[distance, at] = t
                    source[distance, at] = row[j]
                    entry[distance, at] = e
                    edge_count[distance] += 1
            first = following
    return True
