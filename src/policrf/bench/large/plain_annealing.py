"""Plain simulated annealing, a peer of the benchmark: forty lines that anybody would write.

Random nodes and labels, Metropolis' rule, a temperature that falls geometrically from 2 to 0.05 in
units of the energy's terms, over as many sweeps as the time allows. Pairs and triples are read from
lists of terms a node.
"""

from __future__ import annotations

import math
import time

import numpy as np

from policrf.compiled import leaf
from policrf.crf.arrays import Arrays
from policrf.crf.energy import table_energy
from policrf.crf.model import CRF
from policrf.random_numbers import Generator, below, new_generator, uniform
from policrf.types import IntArray

HOT, COLD = 2.0, 0.05  # temperatures; terms of the families are of size 1
SLICES = 200  # looks at the clock


def plain_annealing(crf: CRF, seconds: float, seed: int) -> IntArray:
    """The labels where the temperature has fallen in about `seconds`; O(degree) a proposal."""
    labels: IntArray = np.argmin(crf.unary, axis=1).astype(np.int64)
    generator, began = new_generator(seed), time.perf_counter()
    proposals = 20 * crf.n_nodes // 10  # at first, to see how long they take
    propose(crf.arrays, labels, generator, HOT, proposals)
    share = (time.perf_counter() - began) / seconds
    while share < 1:
        propose(crf.arrays, labels, generator, HOT * (COLD / HOT) ** share, proposals)
        now = (time.perf_counter() - began) / seconds
        proposals = max(100, int(proposals / max(now - share, 1e-9) / SLICES))
        share = now
    propose(crf.arrays, labels, generator, 1e-9, 5 * crf.n_nodes)
    return labels


@leaf
def propose(
    a: Arrays, labels: IntArray, generator: Generator, temperature: float, count: int
) -> None:
    """Offer `count` random nodes a random label."""
    for _ in range(count):
        i = below(generator, len(labels))
        old, new = labels[i], below(generator, a.cardinalities[i])
        change = a.unary[i, new] - a.unary[i, old]
        for e in range(a.adj_ptr[i], a.adj_ptr[i + 1]):
            y = labels[a.adj_node[e]]
            change += a.adj_weight[e] * (int(y != new) - int(y != old))
        for e in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[e]
            change -= table_energy(a, c, labels)
            labels[i] = new
            change += table_energy(a, c, labels)
            labels[i] = old
        if change <= 0 or uniform(generator) < math.exp(-change / temperature):
            labels[i] = new
