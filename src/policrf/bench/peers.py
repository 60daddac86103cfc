"""Other people's solvers, for benchmarks only (the extra `peers`); never of the product."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable

import numpy as np

from policrf.crf.model import CRF
from policrf.types import IntArray

Timed = tuple[IntArray, float]


def gco(crf: CRF) -> Timed:
    """alpha-expansion of gco-wrapper on unaries and Potts. Floats only: integers give garbage."""
    from gco import cut_general_graph  # type: ignore[import-not-found, import-untyped, unused-ignore]

    arrays = crf.arrays
    pairwise = 1.0 - np.eye(crf.n_labels)
    edges = arrays.edges.astype(np.int32)
    start = time.perf_counter()
    labels = cut_general_graph(
        edges, arrays.edge_weights, crf.unary, pairwise, n_iter=-1, algorithm="expansion"
    )
    return np.asarray(labels, np.int64), time.perf_counter() - start


def pymaxflow(crf: CRF) -> Timed:
    """alpha-expansion with PyMaxflow's cuts, label by label until a cycle changes nothing."""
    import maxflow  # type: ignore[import-not-found, import-untyped, unused-ignore]

    arrays = crf.arrays
    first, second = arrays.edges[:, 0], arrays.edges[:, 1]
    weights = np.asarray(arrays.edge_weights)
    labels = np.argmin(crf.unary, axis=1).astype(np.int64)
    nodes = np.arange(crf.n_nodes)
    start = time.perf_counter()
    energy = crf.energy(labels)
    changed = True
    while changed:
        changed = False
        for alpha in range(crf.n_labels):
            graph = maxflow.GraphFloat(crf.n_nodes, len(first))
            graph.add_nodes(crf.n_nodes)
            keep = crf.unary[nodes, labels].copy()
            move = crf.unary[:, alpha].copy()
            yi, yj = labels[first], labels[second]
            # Pair energies (keep, keep), (keep, move), (move, keep); (move, move) is 0.
            both, right, left = (
                weights * (yi != yj),
                weights * (yi != alpha),
                weights * (yj != alpha),
            )
            np.add.at(keep, first, both - left)
            np.add.at(move, second, 0.0)
            np.add.at(keep, second, left)
            capacity = right + left - both
            low = np.minimum(keep, move)
            graph.add_grid_tedges(nodes, move - low, keep - low)
            graph.add_edges(first, second, capacity, np.zeros(len(first)))
            graph.maxflow()
            moved = labels.copy()
            moved[graph.get_grid_segments(nodes)] = alpha
            value = crf.energy(moved)
            if value < energy - 1e-9 * abs(energy):
                labels, energy, changed = moved, value, True
    return labels, time.perf_counter() - start


PEERS: dict[str, Callable[[CRF], Timed]] = {"gco-wrapper": gco, "PyMaxflow": pymaxflow}
_MODULES = {"gco-wrapper": "gco", "PyMaxflow": "maxflow"}


def available_peers() -> list[str]:
    """Those that are installed."""
    return [name for name, module in _MODULES.items() if importlib.util.find_spec(module)]
