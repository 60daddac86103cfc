"""CONNECTED cliques: price · Σ_l max(0, parts of label l − 1), on the graph inside the clique.

`data` holds, from `data_start`: which labels count `[L]`, pointers `[k + 1]` and neighbours, by
their places in the clique.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner, inner_kernel
from policrf.crf.arrays import Arrays
from policrf.crf.state import State
from policrf.types import IntArray


@inner_kernel
def connected_energy(a: Arrays, c: int, members: IntArray) -> float:
    """f_c of a CONNECTED clique from its members' labels, −1 (ground of every label) for none.

    O(edges inside) where all are labeled, else times the number of labels present.
    """
    size, n_labels = len(members), a.unary.shape[1]
    flags = a.data_start[c]
    ptr = flags + n_labels
    near = ptr + size + 1
    seen, stack = np.full(size, -1, np.int64), np.empty(size, np.int64)
    parts = np.zeros(n_labels, np.int64)
    complete = True
    for m in range(size):
        complete &= members[m] >= 0
    # With all labeled, one pass finds the parts of every label: they share no member.
    for wanted in range(1 if complete else n_labels):
        for start in range(size):
            label = members[start]
            ours = label >= 0 if complete else label == wanted
            if not ours or seen[start] == wanted or a.data[flags + label] == 0.0:
                continue
            parts[label] += 1
            seen[start] = wanted
            stack[0], height = start, 1
            while height:
                height -= 1
                at = stack[height]
                for k in range(int(a.data[ptr + at]), int(a.data[ptr + at + 1])):
                    to = int(a.data[near + k])
                    if seen[to] != wanted and (members[to] == label or members[to] < 0):
                        seen[to] = wanted
                        stack[height] = to
                        height += 1
    extra = 0
    for label in range(n_labels):
        extra += max(0, parts[label] - 1)
    return float(a.clique_weight[c] * extra)


@inner_kernel
def connected_change(a: Arrays, s: State, i: int, c: int, entry: int, label: int) -> float:
    """The change of f_c when node i at `entry` gets the label; all members are labeled.

    Only the neighbourhood of the node is looked at, as far as it takes to find its neighbours of
    one label connected without it: O(degree) mostly, O(edges inside) at worst.
    """
    own, flags = s.labels[i], a.data_start[c]
    if own == label:
        return 0.0
    extra = 0
    if a.data[flags + own] != 0.0:
        groups = groups_around(a, s, c, entry, own)
        extra += groups - 1 if groups else -int(is_elsewhere(a, s, c, entry, own))
    if a.data[flags + label] != 0.0:
        groups = groups_around(a, s, c, entry, label)
        extra -= groups - 1 if groups else -int(is_elsewhere(a, s, c, entry, label))
    return float(a.clique_weight[c] * extra)


@inner
def is_elsewhere(a: Arrays, s: State, c: int, entry: int, label: int) -> bool:
    """Whether a member other than that at `entry` has the label."""
    for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
        if m != entry and s.labels[a.clique_nodes[m]] == label:
            return True
    return False


@inner_kernel
def groups_around(a: Arrays, s: State, c: int, entry: int, label: int) -> int:
    """How many parts of the label touch the member at `entry`, were it not there."""
    first = a.clique_ptr[c]
    size, me = a.clique_ptr[c + 1] - first, entry - first
    ptr = a.data_start[c] + a.unary.shape[1]
    near = ptr + size + 1
    begin, end = int(a.data[ptr + me]), int(a.data[ptr + me + 1])
    wanted = 0
    for k in range(begin, end):
        wanted += s.labels[a.clique_nodes[first + int(a.data[near + k])]] == label
    if wanted <= 1:
        return wanted
    # 1: seen, 2: a neighbour that is still to be met.
    state, queue = np.zeros(size, np.uint8), np.empty(size, np.int64)
    for k in range(begin, end):
        to = int(a.data[near + k])
        if s.labels[a.clique_nodes[first + to]] == label:
            state[to] = 2
    state[me] = 1
    groups = 0
    for k in range(begin, end):
        start = int(a.data[near + k])
        if state[start] != 2:
            continue
        groups += 1
        state[start] = 1
        wanted -= 1
        queue[0], done, count = start, 0, 1
        while done < count and wanted > 0:
            at = queue[done]
            done += 1
            for e in range(int(a.data[ptr + at]), int(a.data[ptr + at + 1])):
                to = int(a.data[near + e])
                if state[to] != 1 and s.labels[a.clique_nodes[first + to]] == label:
                    wanted -= state[to] == 2
                    state[to] = 1
                    queue[count] = to
                    count += 1
        if wanted == 0:
            return groups
    return groups
