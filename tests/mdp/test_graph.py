"""Neighbour lists from the edges of an instance."""

from __future__ import annotations

import numpy as np

import policrf as pc
from policrf.mdp.graph import build_graph


def test_every_edge_goes_both_ways_with_its_own_weight() -> None:
    crf = pc.CRF(np.zeros((4, 2)))
    instance = pc.Instance(
        crf,
        features=np.zeros((4, 1)),
        edges=[[0, 2], [2, 1]],
        edge_weights=[[0.1, 0.2], [0.3, 0.4]],
    )
    graph = build_graph(instance)
    lists = [
        list(zip(graph.node[a:b].tolist(), np.round(graph.weight[a:b], 6).tolist(), strict=True))
        for a, b in zip(graph.ptr[:-1], graph.ptr[1:], strict=True)
    ]
    # Column 0 of a weight is what the edge's second node counts for in the sum of its first.
    assert [[(j, round(w, 3)) for j, w in row] for row in lists] == [
        [(2, 0.1)],
        [(2, 0.4)],
        [(0, 0.2), (1, 0.3)],
        [],
    ]


def test_a_graph_without_edges() -> None:
    instance = pc.Instance(pc.CRF(np.zeros((3, 2))), np.zeros((3, 1)), [], [])
    assert build_graph(instance).ptr.tolist() == [0, 0, 0, 0]
