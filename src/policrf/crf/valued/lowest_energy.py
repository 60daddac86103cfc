"""The least that HOP1, HOP2 and tables can still come to, whatever their unlabeled members get.

HOP1  w · min(m, n − m), m of the n labeled members have the label
HOP2  λ where n − m > size − quota: too many have another one
TABLE the lowest entry that agrees with the labels so far

With all members labeled, each is the clique's energy.
"""

from __future__ import annotations

import numpy as np

from policrf.compiled import inner
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import AGREE, TABLE
from policrf.types import IntArray


@inner
def lowest_of_counts(a: Arrays, c: int, labeled: int, matches: int) -> float:
    """Of an AGREE or SUPPORT clique; `matches` of `labeled` members have its label.

    Nothing before the first one is labeled: the energy of no labels is 0.
    """
    if labeled == 0:
        return 0.0
    if a.clique_kind[c] == AGREE:
        return float(a.clique_weight[c] * min(matches, labeled - matches))
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    missed = labeled - matches > size - a.clique_count[c]
    return float(a.clique_weight[c]) if missed else 0.0


@inner
def lowest_of_members(a: Arrays, c: int, members: IntArray) -> float:
    """Of any of the three, from its members' labels, −1 where there is none."""
    if a.clique_kind[c] != TABLE:
        labeled, matches = 0, 0
        for label in members:
            labeled += label >= 0
            matches += label == a.clique_label[c]
        return lowest_of_counts(a, c, labeled, matches)
    first = a.clique_ptr[c]
    lowest = np.inf
    for at in range(a.data_size[c]):
        agrees = True
        for m in range(len(members)):
            card = a.cardinalities[a.clique_nodes[first + m]]
            label = (at // a.clique_stride[first + m]) % card
            agrees &= members[m] < 0 or members[m] == label
        if agrees:
            lowest = min(lowest, a.clique_weight[c] * a.data[a.data_start[c] + at])
    return float(lowest)
