"""The capacities of label costs and robust Potts in one move to α (see `expansion_terms`)."""

from __future__ import annotations

from policrf.compiled import inner
from policrf.crf.potentials import COUNTED
from policrf.solvers.cuts.expansion_terms import (
    ALL_ARC,
    CLOSED,
    COUNT,
    FIRST,
    KIND,
    LABEL_NODES,
    MEMBER,
    NODE,
    OWN_ARC,
    OWNER,
    PLACE,
    SIZE,
    Terms,
)
from policrf.solvers.cuts.maxflow import Network
from policrf.types import BoolArray, IntArray


@inner
def lay_out_terms(g: Network, t: Terms, labels: IntArray, is_open: BoolArray, alpha: int) -> None:
    """Fill the capacities of all terms in the move to α, and add to the excess of members.

    Members whose x_i is free are open. What no cut has to decide is added to their excess.
    """
    for c in range(len(t.cliques)):
        first, node = t.cliques[c, FIRST], t.cliques[c, NODE]
        last = node + t.cliques[c, LABEL_NODES]
        for z in range(node, last + 1):
            g.excess[z] = 0.0
        for k in range(g.ptr[node], g.ptr[last + 1]):
            g.residual[k] = 0.0
            g.residual[g.sister[k]] = 0.0
        t.seen[COUNT, alpha] = t.seen[CLOSED, alpha] = 0
        for m in range(first, first + t.cliques[c, SIZE]):
            label = labels[t.members[m, MEMBER]]
            t.seen[COUNT, label] = t.seen[CLOSED, label] = 0
        for m in range(first, first + t.cliques[c, SIZE]):
            i = t.members[m, MEMBER]
            t.seen[COUNT, labels[i]] += 1
            t.seen[CLOSED, labels[i]] += not is_open[i]
        if t.cliques[c, KIND] == COUNTED:
            _save_prices(g, t, c, labels, alpha)
            if t.seen[COUNT, alpha] == 0 and t.prices[c, alpha] > 0.0:
                _charge(g, t, c, -1, labels, is_open, t.prices[c, alpha], t.prices[c, alpha])
        else:
            _lay_out_dominant(g, t, c, labels, is_open, alpha)


@inner
def _save_prices(g: Network, t: Terms, c: int, labels: IntArray, alpha: int) -> None:
    """Hang every member on the node of its label, and save the labels that may disappear."""
    first, size = t.cliques[c, FIRST], t.cliques[c, SIZE]
    node, last = t.cliques[c, NODE], t.cliques[c, NODE] + t.cliques[c, LABEL_NODES]
    for m in range(first, first + size):
        t.seen[PLACE, labels[t.members[m, MEMBER]]] = -1
    place = g.ptr[node]
    for m in range(first, first + size):
        label = labels[t.members[m, MEMBER]]
        if t.seen[PLACE, label] < 0:
            t.seen[PLACE, label], t.seen[OWNER, label] = place, node
            place += t.seen[COUNT, label]
            node += 1
            g.ptr[node] = place
    for z in range(node, last):
        g.ptr[z + 1] = place
    for m in range(first, first + size):
        i, arc = t.members[m, MEMBER], t.members[m, OWN_ARC]
        label = labels[i]
        back, z = t.seen[PLACE, label], t.seen[OWNER, label]
        t.seen[PLACE, label] += 1
        g.head[arc], g.head[back] = z, i
        g.sister[arc], g.sister[back] = back, arc
        if label != alpha and t.seen[CLOSED, label] == 0:
            if t.seen[COUNT, label] == 1:
                g.excess[i] += t.prices[c, label]
            else:
                g.excess[z] = g.residual[back] = t.prices[c, label]


@inner
def _lay_out_dominant(
    g: Network, t: Terms, c: int, labels: IntArray, is_open: BoolArray, alpha: int
) -> None:
    first, size = t.cliques[c, FIRST], t.cliques[c, SIZE]
    allowed = t.prices[c, -1]
    others, stuck, dominant = size - t.seen[COUNT, alpha], 0, -1
    for m in range(first, first + size):
        i = t.members[m, MEMBER]
        if labels[i] != alpha:
            stuck += not is_open[i]
            if size - t.seen[COUNT, labels[i]] < allowed:
                dominant = labels[i]
    step = t.prices[c, alpha]
    if stuck < allowed and step > 0.0:
        node = t.cliques[c, NODE] + t.cliques[c, LABEL_NODES]
        if others > allowed:
            g.excess[node] = step * (allowed - stuck)
        for m in range(first, first + size):
            i, arc = t.members[m, MEMBER], t.members[m, ALL_ARC]
            if labels[i] != alpha and is_open[i]:
                if others > allowed:
                    g.residual[g.sister[arc]] = step
                else:  # α is dominant and stays it
                    g.excess[i] += step
    if dominant >= 0 and t.prices[c, dominant] > 0.0:
        step = t.prices[c, dominant]
        left = allowed - (size - t.seen[COUNT, dominant])
        _charge(g, t, c, dominant, labels, is_open, step * left, step)


@inner
def _charge(
    g: Network, t: Terms, c: int, label: int, labels: IntArray, is_open: BoolArray, most: float,
    step: float,
) -> None:  # fmt: skip
    """Charge `step` for every open member with `label` (−1: any) that moves, `most` in all."""
    first, size = t.cliques[c, FIRST], t.cliques[c, SIZE]
    node, column = t.cliques[c, NODE], OWN_ARC
    if label < 0:
        node, column = node + t.cliques[c, LABEL_NODES], ALL_ARC
    movers = 0
    for m in range(first, first + size):
        i = t.members[m, MEMBER]
        movers += is_open[i] and (label < 0 or labels[i] == label)
    shared = movers * step > most
    if shared:
        g.excess[node] = -most
    for m in range(first, first + size):
        i = t.members[m, MEMBER]
        if is_open[i] and (label < 0 or labels[i] == label):
            if shared:
                g.residual[t.members[m, column]] = step
            else:
                g.excess[i] -= step
