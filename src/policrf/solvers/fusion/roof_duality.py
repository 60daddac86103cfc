"""Roof duality (Hammer, Hansen & Simeone 1984): part of a minimum of any binary quadratic energy.

Every x_i gets a twin x̄_i that stands for 1 − x_i. A product with w ≤ 0 is a cut within both
copies, one with w > 0 a cut between them, half the weight each:

    w x_i x_j  =  w x_i + (−w) [x_i = 1, x_j = 0]          w ≤ 0
               =  w [x_i = 1, x̄_j = 0]                      w > 0

One minimum cut of the doubled network (`cuts.maxflow`) minimises the relaxation in which the twins
need not agree. Where they do, the label is *persistent*: from any labeling, giving these nodes
their labels does not raise the energy (Boros & Hammer 2002). Elsewhere nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from policrf.solvers.cuts.maxflow import FREE, Network, cut, new_network
from policrf.solvers.fusion.binary_energy import BinaryEnergy
from policrf.types import FloatArray, IntArray

ROUNDING = 2.0**-44  # of the capacity at a node: less is nothing


def persistent_labels(
    network: Network, expired: Callable[[], bool] = lambda: False
) -> IntArray | None:
    """0 or 1 where roof duality decides, −1 elsewhere, `[n]`; None if time runs out.

    Of several minimum cuts of the doubled network the one with the fewest x_i = 1 is taken: ties
    are left open, or 0.
    """
    while not cut(network):
        if expired():
            return None
    own, twin = (network.level != FREE).reshape(2, -1)
    return np.where(own == twin, -1, own).astype(np.int64)


def doubled(energy: BinaryEnergy) -> Network:
    """The network of nodes 0 … n − 1 and their twins n … 2n − 1."""
    count = len(energy.linear)
    first, second = energy.pairs.T
    pull = energy.weights < 0
    cost = energy.linear.copy()
    np.add.at(cost, first[pull], energy.weights[pull])
    half = np.abs(energy.weights) / 2
    # Tail has 1 and head 0: of both copies of a cut.
    tail = np.concatenate([first, np.where(pull, second + count, second)])
    head = np.concatenate([np.where(pull, second, second + count), first + count])
    network = _with_arcs(2 * count, tail, head, np.concatenate([half, half]))
    network.excess[:] = np.concatenate([-cost, cost]) / 2
    largest = np.abs(network.excess)
    np.maximum.at(largest, np.append(tail, head), np.tile(half, 4))
    network.tolerance[:] = ROUNDING * largest
    return network


def _with_arcs(n_nodes: int, tail: IntArray, head: IntArray, capacity: FloatArray) -> Network:
    """A network of these arcs and, without capacity, their opposites."""
    own, other = np.append(tail, head), np.append(head, tail)
    order = np.argsort(own, kind="stable")
    place = np.empty(len(own), np.int64)
    place[order] = np.arange(len(own))
    opposite = np.append(place[len(tail) :], place[: len(tail)])
    ptr = np.append(0, np.cumsum(np.bincount(own, minlength=n_nodes)))
    network = new_network(ptr, other[order], opposite[order])
    network.residual[:] = np.append(capacity, np.zeros(len(tail)))[order]
    return network
