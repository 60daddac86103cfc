"""The training instances as one graph, and the part of it that the score of one node depends on.

With K layers and μ^(0) = 0 the scores π_i depend on the labels and features of the nodes within K −
1 edges of i, and on no others (section "Policy Function"). A gradient step over B actions therefore
needs B neighbourhoods of some 20 nodes, not B graphs of N: its cost does not depend on N.

`Neighbourhoods` orders nodes by their distance from the centre, all samples together: layer k of
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
    node_counts: IntArray  # [K]; rows that layer k computes
    edge_counts: IntArray  # [K]; edges that layer k uses, 0 in the first


class Joined(NamedTuple):
    """The graphs of all instances as one."""

    ptr: IntArray  # [ΣN + 1]; the entries of a node
    node: IntArray  # [Σ2M]; its neighbours
    starts: IntArray  # [G + 1]; the first node of an instance


class Centres(NamedTuple):
    """B nodes whose neighbourhoods are wanted."""

    instances: IntArray  # [B]
    nodes: IntArray  # [B]; in the numbering of their instance
    labels: NDArray[np.int16]  # [B, ≥ N]; each sample's labels so far


class Marks(NamedTuple):
    """Scratch space as long as the corpus."""

    stamp: IntArray  # [ΣN]; the last mark of a node
    row: IntArray  # [ΣN]; where it is: (row within its distance) · K + distance


class Reached(NamedTuple):
    """What `gather` fills: a row of nodes and one of edges for each distance."""

    nodes: IntArray  # [K, R]
    labels: IntArray  # [K, R]
    node_count: IntArray  # [K]
    target: IntArray  # [K, 4 R]; row of the listening node, within its distance
    source: IntArray  # [K, 4 R]; as in Marks.row
    entry: IntArray  # [K, 4 R]; which entry of the graph
    edge_count: IntArray  # [K]


class Instances:
    """Instances of any kinds: node i of instance g is number starts[g] + i."""

    features: Float32Array = np.zeros((0, 0), np.float32)
    """b of all nodes, where they are joined."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        if not instances:
            raise InvalidInstance("there are no instances to learn from")
        self.instances = list(instances)
        sizes = np.array([instance.crf.n_nodes for instance in self.instances], np.int64)
        self.starts: IntArray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.largest = int(sizes.max())
        self.n_labels = max(instance.crf.n_labels for instance in self.instances)

    def __len__(self) -> int:
        return len(self.instances)


class Corpus(Instances):
    """Instances of one kind, joined into one graph."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        super().__init__(instances)
        first = self.instances[0]
        for k, other in enumerate(self.instances):
            _check_same_kind(first, other, k)
        starts = self.starts
        graphs = [build_graph(instance) for instance in self.instances]
        entries = np.concatenate([[0], np.cumsum([len(graph.node) for graph in graphs])])
        ptr = [g.ptr[:-1] + start for g, start in zip(graphs, entries, strict=False)]
        node = [g.node + start for g, start in zip(graphs, starts, strict=False)]
        self.graph = Joined(
            ptr=np.concatenate([*ptr, entries[-1:]]).astype(np.int64),
            node=np.concatenate(node).astype(np.int64),
            starts=starts,
        )
        self.weight: Float32Array = np.concatenate([g.weight for g in graphs])
        self.features = np.concatenate([i.features for i in self.instances])
        size = len(self.features)
        self._marks = Marks(np.zeros(size, np.int64), np.zeros(size, np.int64))
        self._clock = 1

    def neighbourhoods(
        self, chosen: IntArray, nodes: IntArray, labels: NDArray[np.int16], layers: int
    ) -> Neighbourhoods:
        """The (K − 1)-edge neighbourhoods of some nodes.

        Parameters
        ----------
        chosen
            Their instances `[B]`.
        nodes
            The nodes `[B]`, in the numbering of their instances.
        labels
            Each sample's labels so far `[B, ≥ N]`.
        layers
            K.
        """
        degree = max(1.0, len(self.graph.node) / max(1, len(self.features)))
        room = int(len(nodes) * (2 + degree) ** max(1, layers - 1)) + 64
        while True:
            out = _room_for(room, layers)
            fresh = self._clock  # no mark of an earlier call, whatever its size, is used again
            self._clock += len(nodes)
            if gather(self.graph, Centres(chosen, nodes, labels), self._marks, fresh, out):
                break
            room *= 2
        return _joined(out, layers, self.weight)


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


def _room_for(room: int, layers: int) -> Reached:
    """Space for `gather`."""
    edges = [np.empty((layers, 4 * room), np.int64) for _ in range(3)]
    return Reached(
        nodes=np.empty((layers, room), np.int64),
        labels=np.empty((layers, room), np.int64),
        node_count=np.zeros(layers, np.int64),
        target=edges[0],
        source=edges[1],
        entry=edges[2],
        edge_count=np.zeros(layers, np.int64),
    )


def _joined(out: Reached, layers: int, weight: Float32Array) -> Neighbourhoods:
    """Distances one after the other; edges grouped by the distance of the node that listens."""
    base = np.concatenate([[0], np.cumsum(out.node_count)])
    parts = [slice(0, int(count)) for count in out.node_count]
    listening = [slice(0, int(count)) for count in out.edge_count]
    distances = range(layers)
    sources = np.concatenate([out.source[d, listening[d]] for d in distances])
    totals = np.cumsum(out.edge_count)
    return Neighbourhoods(
        nodes=np.concatenate([out.nodes[d, parts[d]] for d in distances]),
        labels=np.concatenate([out.labels[d, parts[d]] for d in distances]),
        targets=np.concatenate([out.target[d, listening[d]] + base[d] for d in distances]),
        sources=base[sources % layers] + sources // layers,
        weights=weight[np.concatenate([out.entry[d, listening[d]] for d in distances])],
        node_counts=base[1:][::-1].astype(np.int64),
        edge_counts=np.array(
            [0, *(int(totals[layers - 1 - k]) for k in range(1, layers))], np.int64
        ),
    )


@leaf
def gather(g: Joined, centres: Centres, marks: Marks, clock: int, out: Reached) -> bool:
    """Breadth-first around every centre; False where the space does not suffice.

    The marks clock, clock + 1, … are fresh.
    """
    layers = len(out.node_count)
    stamp, row = marks
    out.node_count[:] = 0
    out.edge_count[:] = 0
    for b in range(len(centres.nodes)):
        mark = clock + b
        start = g.starts[centres.instances[b]]
        centre = start + centres.nodes[b]
        first = out.node_count[0]
        stamp[centre] = mark
        row[centre] = first * layers
        out.nodes[0, first] = centre
        out.labels[0, first] = centres.labels[b, centres.nodes[b]]
        out.node_count[0] += 1
        for distance in range(layers - 1):
            following = out.node_count[distance + 1]
            for t in range(first, out.node_count[distance]):
                i = out.nodes[distance, t]
                if out.edge_count[distance] + g.ptr[i + 1] - g.ptr[i] > out.target.shape[1]:
                    return False
                for e in range(g.ptr[i], g.ptr[i + 1]):
                    j = g.node[e]
                    if stamp[j] != mark:
                        at = out.node_count[distance + 1]
                        if at == out.nodes.shape[1]:
                            return False
                        stamp[j] = mark
                        row[j] = at * layers + distance + 1
                        out.nodes[distance + 1, at] = j
                        out.labels[distance + 1, at] = centres.labels[b, j - start]
                        out.node_count[distance + 1] += 1
                    at = out.edge_count[distance]
                    out.target[distance, at] = t
                    out.source[distance, at] = row[j]
                    out.entry[distance, at] = e
                    out.edge_count[distance] += 1
            first = following
    return True
