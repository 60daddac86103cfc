"""The gain of a label in a clique that is asked half-way: what it promises the unlabeled members.

    gain_c(l) = Σ over the unlabeled members j of max(0, r_j − f_j(l))

r_j is the lowest unary of j among the labels that the clique has already; without any, j's mean.
The first member that takes a label pays its price; the others' gain tells what that is worth.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inlined, inner
from policrf.crf.arrays import COUNTS, PARTIAL, Arrays
from policrf.crf.potentials import COMPLETE
from policrf.crf.state import State
from policrf.solvers.refine.refine_neighbourhoods import LENGTH, Workspace, begin_list


@inner
def set_gains(a: Arrays, s: State, w: Workspace) -> None:
    """The gains of all cliques of `nodes`, none of which is labeled."""
    mark = begin_list(w)
    for at in range(w.cursor[LENGTH]):
        i = w.nodes[at]
        for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
            c = a.node_clique[k]
            if w.clique_mark[c] != mark and a.custom[c, PARTIAL] != COMPLETE:
                w.clique_mark[c] = mark
                clique_gains(a, s, w, c)


@inner
def clique_gains(a: Arrays, s: State, w: Workspace, c: int) -> None:
    """The gains of clique c; its unlabeled members are in `nodes`."""
    n_labels = a.unary.shape[1]
    for label in range(n_labels):
        w.gains[c, label] = 0.0
        w.present[label] = False
    find_present(a, s, w, c)
    for at in range(w.cursor[LENGTH]):
        j = w.nodes[at]
        if not is_member(a, j, c):
            continue
        reference, total, count = np.inf, 0.0, 0
        for label in range(n_labels):
            unary = a.unary[j, label]
            if w.present[label]:
                reference = min(reference, unary)
            if unary < np.inf:
                total += unary
                count += 1
        if s.labeled[c] == 0:
            reference = total / max(1, count)
        if reference < np.inf:
            for label in range(n_labels):
                if a.unary[j, label] < reference:
                    w.gains[c, label] += reference - a.unary[j, label]


@inner
def find_present(a: Arrays, s: State, w: Workspace, c: int) -> None:
    """The labels that clique c has already, into `present`."""
    first = a.custom[c, COUNTS]
    if first >= 0:
        for label in range(a.unary.shape[1]):
            w.present[label] = s.counts[first + label] > 0
        return
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        label = s.labels[a.clique_nodes[m]]
        if label >= 0:
            w.present[label] = True


@inlined
def is_member(a: Arrays, i: int, c: int) -> bool:
    """Whether node i is in clique c."""
    found = False
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        found |= a.node_clique[k] == c
    return found


@inlined
def promise(a: Arrays, w: Workspace, i: int, gain: float) -> None:
    """Take `gain` times what its labels promise the cliques of node i from `costs`."""
    for k in range(a.node_ptr[i], a.node_ptr[i + 1]):
        c = a.node_clique[k]
        if a.custom[c, PARTIAL] != COMPLETE:
            for label in range(len(w.costs)):
                w.costs[label] -= gain * w.gains[c, label]
