"""The graph a policy looks at, G(V, E, w) of "Policy Function", as lists of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from policrf.compiled import leaf
from policrf.types import Float32Array, IntArray

if TYPE_CHECKING:
    from policrf.crf.instance import Instance


class Graph(NamedTuple):
    """The neighbours of node i are entries ptr[i]:ptr[i + 1] of `node`; `weight` has w(i, j)."""

    ptr: IntArray  # [N + 1]
    node: IntArray  # [2 M]
    weight: Float32Array  # [2 M]; the weight of j in the sum of i


def build_graph(instance: Instance) -> Graph:
    """Both directions of every edge of the instance, grouped by the node that receives."""
    edges, weights = instance.edges.view(), instance.edge_weights.view()
    for array in (edges, weights):
        array.setflags(write=False)  # as in an instance that was not unpickled
    ptr = np.zeros(instance.crf.n_nodes + 1, np.int64)
    node = np.empty(2 * len(edges), np.int64)
    weight = np.empty(2 * len(edges), np.float32)
    group_neighbours(edges, weights, ptr, node, weight)
    return Graph(ptr, node, weight)


@leaf
def group_neighbours(
    edges: IntArray, weights: Float32Array, ptr: IntArray, node: IntArray, weight: Float32Array
) -> None:
    """Counting sort of the directed edges; a node's neighbours keep the order of `edges`."""
    for e in range(len(edges)):
        ptr[edges[e, 0] + 1] += 1
        ptr[edges[e, 1] + 1] += 1
    for i in range(1, len(ptr)):
        ptr[i] += ptr[i - 1]
    for e in range(len(edges) - 1, -1, -1):  # filled from the back: ptr[i + 1] is i's cursor
        for side in range(2):
            i = edges[e, side]
            ptr[i + 1] -= 1
            node[ptr[i + 1]] = edges[e, 1 - side]
            weight[ptr[i + 1]] = weights[e, side]
    for i in range(len(ptr) - 1):  # every cursor now stands at the node's own start
        ptr[i] = ptr[i + 1]
    ptr[len(ptr) - 1] = len(node)
