"""How often each label occurs in cliques of any potential, and which members see it change.

Boxes have inputs of their own (`conditional.py`), and pairs are edges: what is counted here are all
other cliques. Members see counts in eighths of their clique, whether a label is there at all, and
the part that is unlabeled in eighths, so that a step seldom changes what they see.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from policrf.compiled import inlined, inner, leaf
from policrf.crf.arrays import Arrays
from policrf.crf.potentials import AGREE, SUPPORT
from policrf.mdp.gains import open_eighths
from policrf.policy.shared.static_net import SMALLEST_CLIQUE
from policrf.types import IntArray

LEVELS = 8


class Counted(NamedTuple):
    """Mutable; kinds of network that do not look at them have no rows."""

    row: IntArray  # [C]; where a clique is in `counts`; −1: it is not counted; or [0]
    counts: IntArray  # [rows, L]; members labeled with each label


def new_counted(arrays: Arrays, *, wanted: bool) -> Counted:
    """Room for the counts of the empty labeling."""
    n_labels = arrays.unary.shape[1]
    if not wanted:
        return Counted(np.zeros(0, np.int64), np.zeros((0, n_labels), np.int64))
    large = np.diff(arrays.clique_ptr) >= SMALLEST_CLIQUE
    plain = large & (arrays.clique_kind != AGREE) & (arrays.clique_kind != SUPPORT)
    row = np.where(plain, np.cumsum(plain) - 1, -1)
    return Counted(row.astype(np.int64), np.zeros((int(plain.sum()), n_labels), np.int64))


@leaf
def count_all(a: Arrays, counted: Counted, labels: IntArray) -> None:
    """The counts of a full or partial labeling [N]."""
    for c in range(len(counted.row)):
        row = counted.row[c]
        if row < 0:
            continue
        counted.counts[row] = 0
        for m in range(a.clique_ptr[c], a.clique_ptr[c + 1]):
            label = labels[a.clique_nodes[m]]
            if label >= 0:
                counted.counts[row, label] += 1


@inner
def counts_change(a: Arrays, counted: Counted, c: int, label: int, by: int, labeled: int) -> bool:
    """Count `by` = ±1 members with this label more; whether members of clique c see it.

    `labeled` members have a label now.
    """
    row = counted.row[c]
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    before = counted.counts[row, label]
    counted.counts[row, label] = before + by
    return bool(
        open_eighths(size, labeled) != open_eighths(size, labeled - by)
        or (before > 0) != (before + by > 0)
        or LEVELS * before // size != LEVELS * (before + by) // size
    )


@inlined
def label_share(a: Arrays, counted: Counted, c: int, label: int) -> float:
    """The part of clique c that has the label, in full eighths."""
    size = a.clique_ptr[c + 1] - a.clique_ptr[c]
    return float((LEVELS * counted.counts[counted.row[c], label] // size) / LEVELS)
